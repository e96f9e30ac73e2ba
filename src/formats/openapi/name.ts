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
  return findFree(
    (count) => (count === 1 ? prefix : `${prefix.slice(0, MAX_NAME - 5)}_${count}`),
    (free) => taken.has(free),
  );
}

/** Returns the first name that is free; `nameOf` is called with 1, 2 and so on. Throws `invalid_definition`. */
export function findFree(nameOf: (count: number) => string, isTaken: (name: string) => boolean): string {
  for (let count = 1; count <= MAX_SAME; count++) if (!isTaken(nameOf(count))) return nameOf(count);
  throw documentFault(`has the same name as ${MAX_SAME} others`, 'rename it');
}
