// Resources: data that clients read by URI, and the URIs of resources of upstream servers.

import type { JsonObject } from './json.js';
import type { Tool } from './tool.js';

/** A resource, or a template of many. It is read by calling its tool, so a read takes the path of a call (RSC-1). */
export interface Resource {
  /** The URI, or the URI template. */
  readonly uri: string;
  readonly isTemplate: boolean;
  /** As listed: name, title, description, mimeType, size, annotations, icons and _meta. */
  readonly fields: JsonObject;
  /** Named `resource:<uri>`. */
  readonly tool: Tool;
}

/** The name of the tool that reads a resource; selectors of rules match it. */
export function toResourceName(uri: string): string {
  return `resource:${uri}`;
}

/** Schemes of resources that a file cannot define: those of skills, documents, servers and their pages. */
export const OWN_SCHEMES = /^(?:skill|context|mcp|ui):/i;

/** Whether a URI is a template. */
export function isTemplate(uri: string): boolean {
  return uri.includes('{');
}

const APP_SCHEME = 'ui://';
const PUBLIC = /^(mcp|ui):\/\/([^/?#]+)\/(.+)$/s;

/** Whether a URI is that of a page of an MCP App. */
export function isPage(uri: string): boolean {
  return /^ui:\/\//i.test(uri);
}

/** Returns the URI of a server's resource for clients. MCP Apps keep their scheme, with the server as authority. */
export function toPublicUri(server: string, uri: string): string {
  const authority = encodeURIComponent(server);
  return isPage(uri) ? `${APP_SCHEME}${authority}/${uri.slice(APP_SCHEME.length)}` : `mcp://${authority}/${uri}`;
}

/** Reverses `toPublicUri`; undefined for other URIs. */
export function parsePublicUri(uri: string): { readonly server: string; readonly uri: string } | undefined {
  const [, scheme, authority = '', rest = ''] = PUBLIC.exec(uri) ?? [];
  if (scheme === undefined || (scheme === 'mcp' && !/^[A-Za-z][\w+.-]*:/.test(rest))) return undefined;
  try {
    return { server: decodeURIComponent(authority), uri: scheme === 'ui' ? APP_SCHEME + rest : rest };
  } catch {
    return undefined;
  }
}

/**
 * Returns other spellings that a server may take for the same URI: with percent-encoded characters decoded, without dot
 * segments, and as URLs are normalized.
 */
export function otherSpellings(uri: string): readonly string[] {
  const decoded = decodeAll(uri);
  const found = [decoded, ...[uri, decoded].map(parseUrl)].flatMap((text) =>
    text === undefined ? [] : [text, withoutDots(text)],
  );
  return [...new Set(found)].filter((text) => text !== uri);
}

/** Returns the names of the tool that reads a resource, by other spellings of its URI. */
export function toSpellings(uri: string): readonly string[] {
  return otherSpellings(uri).map(toResourceName);
}

function decodeAll(text: string): string {
  try {
    const decoded = decodeURIComponent(text);
    return decoded === text ? text : decodeAll(decoded);
  } catch {
    return text;
  }
}

function parseUrl(text: string): string | undefined {
  try {
    return new URL(text).href;
  } catch {
    return undefined;
  }
}

// Keeps the slashes after the scheme.
function withoutDots(uri: string): string {
  const [, head = '', path = ''] = /^([^/]*:\/*)?(.*)$/s.exec(uri) ?? [];
  const steps: string[] = [];
  for (const step of path.split('/')) {
    if (step === '..') steps.pop();
    else if (step !== '' && step !== '.') steps.push(step);
  }
  return head + steps.join('/');
}

/** Compiles a URI template (RFC 6570) to a test whether a URI can be an expansion of it. */
export function matchTemplate(template: string): (uri: string) => boolean {
  const parts = template.split(/(\{[^{}]*\})/);
  const source = parts.map((part) =>
    part.startsWith('{') ? toPattern(part) : part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
  );
  const pattern = new RegExp(`^${source.join('')}$`, 's');
  return (uri) => uri.length <= MAX_URI && pattern.test(uri);
}

const MAX_URI = 4096;

// Each expression is bounded, so that several of them do not backtrack far.
function toPattern(expression: string): string {
  switch (expression[1]) {
    case '+':
    case '#':
      return '.{0,2000}';
    case '?':
    case '&':
      return '(?:[?&][^#]{0,2000})?';
    case '/':
      return '(?:/[^?#]{0,2000})?';
    default:
      return '[^/?#]{0,500}';
  }
}
