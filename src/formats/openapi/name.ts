// Names of operations.

import { documentFault } from './document.js';

const MAX_NAME = 64;
// Hostile documents repeat a name to make the search for a free one slow.
const MAX_SAME = 1000;

/** The methods that can have an operation. */
export const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Returns a name in snake_case, of the operation's id or of its method and path. */
export function operationName(id: unknown, method: string, path: string): string {
  const text = typeof id === 'string' && /[A-Za-z0-9]/.test(id) ? id : `${method} ${path.replace(/[{}]/g, '')}`;
  const snake = text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase();
  return snake.slice(0, MAX_NAME).replace(/_+$/, '') || method;
}

/** Returns a name that is free: the given one, with the document's name before it, or with a number after it. */
export function qualifiedName(name: string, document: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const prefix = `${document.replace(/[^A-Za-z0-9_-]+/g, '_')}_${name}`.slice(0, MAX_NAME);
  return findFree(prefix, (free) => taken.has(free), MAX_NAME - 5);
}

/** Returns a name if it is free, else with the first number that makes it so after `most` characters. Throws `invalid_definition`. */
export function findFree(name: string, isTaken: (name: string) => boolean, most = name.length): string {
  if (!isTaken(name)) return name;
  const start = name.slice(0, most);
  for (let count = 2; count <= MAX_SAME; count++) if (!isTaken(`${start}_${count}`)) return `${start}_${count}`;
  throw documentFault(`has the same name as ${MAX_SAME} others`, 'rename it');
}
