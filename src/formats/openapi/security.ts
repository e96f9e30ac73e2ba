// Where an operation is sent, and how a caller identifies itself there.

import type { HttpScheme } from '../../core/http.js';
import { isRecord } from '../../core/json.js';
import type { Node, OpenDocument } from './document.js';

/** Returns the base URL; empty for one that is relative, or has a query or a placeholder: no path can follow it. */
export function toServer(servers: unknown, configured: string | undefined): string {
  if (configured !== undefined) return configured.replace(/\/+$/, '');
  const [first] = Array.isArray(servers) ? servers.filter(isRecord) : [];
  const variables = isRecord(first?.variables) ? first.variables : {};
  const text = typeof first?.url === 'string' ? first.url : '';
  const url = text.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = variables[name];
    return isRecord(variable) && variable.default !== undefined ? String(variable.default) : whole;
  });
  const base = url.replace(/#.*$/s, '');
  return /^https?:\/\/[^/?][^?{}<>]*$/i.test(base) && URL.canParse(base) ? base.replace(/\/+$/, '') : '';
}

/** Returns the schemes of an operation that can be used. */
export function toSecurity(
  security: unknown,
  { root, file, follow }: OpenDocument,
): readonly (readonly HttpScheme[])[] {
  const components = isRecord(root.components) ? root.components : {};
  const declared = isRecord(components.securitySchemes)
    ? components.securitySchemes
    : isRecord(root.securityDefinitions)
      ? root.securityDefinitions
      : {};
  return (Array.isArray(security) ? security : []).filter(isRecord).flatMap((requirement) => {
    const schemes = Object.keys(requirement).map((name) => {
      const node = declared[name];
      return isRecord(node) ? toScheme(name, follow({ node, file }).node) : undefined;
    });
    return schemes.every((scheme) => scheme !== undefined) ? [schemes as HttpScheme[]] : [];
  });
}

function toScheme(name: string, node: Node): HttpScheme | undefined {
  const { type, scheme, in: location } = node;
  const header = { in: 'header', parameter: 'Authorization' } as const;
  if (type === 'basic' || (type === 'http' && /^basic$/i.test(String(scheme))))
    return { name, kind: 'basic', ...header };
  if (type === 'http' || type === 'oauth2' || type === 'openIdConnect') return { name, kind: 'bearer', ...header };
  if (type !== 'apiKey' || typeof node.name !== 'string') return undefined;
  return location === 'header' || location === 'query' || location === 'cookie'
    ? { name, kind: 'key', in: location, parameter: node.name }
    : undefined;
}
