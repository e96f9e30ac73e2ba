// The faults of a form, in words, and which of them are shown while one types.

import type { Fault } from '../../core/schema.js';

/** A fault as the API reports it. */
export type FormFault = Pick<Fault, 'path' | 'expected' | 'got'>;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Returns what is wrong, for a person. */
export function describeFault({ expected, got }: FormFault): string {
  if (got === 'nothing') return 'is required';
  if (got.startsWith('undeclared ')) return 'is not a parameter of this tool';
  const words = expected.split(' or ').map((word) => (Object.hasOwn(TYPES, word) ? TYPES[word] : word));
  return `must be ${words.join(' or ')}, got ${got}`;
}

/** Whether something is absent or not filled in, which is no mistake before a person is done. */
export function isOpen({ got }: FormFault): boolean {
  return got === 'nothing' || got === 'text ""';
}
