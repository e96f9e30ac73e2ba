// The corpora of real files: beside the project, or where WIELD_CORPORA says.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CORPORA =
  process.env.WIELD_CORPORA ?? resolve(fileURLToPath(new URL('../../..', import.meta.url)), 'shared/corpora');

export const NO_CORPORA = 'no files of real projects; to run: WIELD_CORPORA=DIRECTORY npm test';

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/**
 * Parses a definition of a tool. Some public ones have types of other systems, such as `NUMBER` or `ENUM`, which schemas of
 * tools must not have.
 */
export function parseDefinition(line: string) {
  return JSON.parse(line, (key, value: unknown) => {
    if (key !== 'type' || typeof value !== 'string') return value;
    const type = value.toLowerCase();
    return TYPES.includes(type) ? type : 'string';
  });
}
