// Reads JSON objects strictly: every key is known, every value of its kind, every complaint has its place.

import { escapePointer, isRecord } from './json.js';
import { nearest, quoteOutside } from './text.js';

/** Something wrong at a place of a document. */
export interface PlacedComplaint {
  /** JSON Pointer within the file. */
  readonly pointer: string;
  readonly message: string;
  readonly hint: string;
}

export type Complain = (complaint: PlacedComplaint) => void;

type Kind =
  | 'text'
  | 'words'
  | 'flag'
  | 'whole number'
  | 'whole numbers'
  | 'texts'
  | 'object'
  | 'list'
  | 'value';

/** A key's kind; a `!` in front makes it required. */
export type Shape = Readonly<Record<string, Kind | `!${Kind}`>>;

const EXPECTED: Readonly<Record<Kind, string>> = {
  text: 'text',
  words: 'text that is not empty',
  flag: 'true or false',
  'whole number': 'a whole number of 0 or more',
  'whole numbers': 'an array of whole numbers',
  texts: 'an array of text',
  object: 'an object',
  list: 'an array',
  value: 'a JSON value',
};

/** The object if it has the shape, without keys that are null; else complaints are made and it is undefined. */
export function readShape(
  value: unknown,
  pointer: string,
  shape: Shape,
  complain: Complain,
): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(value)) {
    complain({ pointer, message: 'must be an object', hint: `write { ${Object.keys(shape).join(', ')} }` });
    return undefined;
  }
  let fits = true;
  const wrong = (key: string, message: string, hint: string): void => {
    fits = false;
    complain({ pointer: `${pointer}/${escapePointer(key)}`, message, hint });
  };
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(shape, key)) continue;
    const close = nearest(key, Object.keys(shape));
    wrong(
      key,
      `unknown key "${quoteOutside(key, 60)}"`,
      close.length > 0 ? `did you mean "${close[0]}"?` : `known are ${Object.keys(shape).join(', ')}`,
    );
  }
  for (const [key, described] of Object.entries(shape)) {
    const required = described.startsWith('!');
    const kind = (required ? described.slice(1) : described) as Kind;
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given === undefined || (given === null && !required && kind !== 'value')) {
      if (required) wrong(key, `"${key}" is missing`, `add it: ${EXPECTED[kind]}`);
    } else if (!isKind(given, kind)) {
      wrong(key, `must be ${EXPECTED[kind]}`, `write ${EXPECTED[kind]}`);
    }
  }
  if (!fits) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([, given]) => given !== null));
}

function isKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'text':
      return typeof value === 'string';
    case 'words':
      return typeof value === 'string' && value.trim() !== '';
    case 'flag':
      return typeof value === 'boolean';
    case 'whole number':
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case 'whole numbers':
      return Array.isArray(value) && value.every((entry) => Number.isSafeInteger(entry));
    case 'texts':
      return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
    case 'object':
      return isRecord(value);
    case 'list':
      return Array.isArray(value);
    case 'value':
      return true;
  }
}
