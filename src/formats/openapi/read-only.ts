// Properties that only the server sets: they are not sent, and not required of a caller.

import { isRecord } from '../../core/json.js';
import type { Located, Node, OpenDocument } from './document.js';

const MAX_DEPTH = 4;

/** Whether a schema, what it refers to, or a part of it is read-only. */
export function isReadOnly(located: Located, document: OpenDocument, depth = 0): boolean {
  if (located.node.readOnly === true) return true;
  const { node, file } = document.follow(located);
  if (node.readOnly === true) return true;
  if (depth === MAX_DEPTH || !Array.isArray(node.allOf)) return false;
  return node.allOf.some((one) => isRecord(one) && isReadOnly({ node: one, file }, document, depth + 1));
}

/** Returns a schema without its read-only properties. */
export function withoutReadOnly({ node, file }: Located, document: OpenDocument): Node {
  const { properties, required } = node;
  if (!isRecord(properties)) return node;
  const entries = Object.entries(properties);
  const writable = entries.filter(([, one]) => !isRecord(one) || !isReadOnly({ node: one, file }, document));
  if (writable.length === entries.length) return node;
  const names = new Set(writable.map(([name]) => name));
  const isNeeded = (name: string): boolean => names.has(name) || !Object.hasOwn(properties, name);
  return {
    ...node,
    properties: Object.fromEntries(writable),
    ...(Array.isArray(required) ? { required: required.filter(isNeeded) } : {}),
  };
}
