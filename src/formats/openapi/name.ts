// Names of operations.

const MAX_NAME = 64;

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
  let free = prefix;
  for (let count = 2; taken.has(free); count++) free = `${prefix.slice(0, MAX_NAME - 5)}_${count}`;
  return free;
}
