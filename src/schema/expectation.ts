// Describes what a keyword of a schema expects.

import { describeFormat, describePattern } from '../core/constraints.js';
import { isRecord } from '../core/json.js';
import { count, listSome } from '../core/text.js';

const TEXTS: Readonly<Record<string, (limit: string) => string>> = {
  const: (limit) => `exactly ${limit}`,
  minimum: (limit) => `at least ${limit}`,
  maximum: (limit) => `at most ${limit}`,
  exclusiveMinimum: (limit) => `more than ${limit}`,
  exclusiveMaximum: (limit) => `less than ${limit}`,
  multipleOf: (limit) => `a multiple of ${limit}`,
  minLength: (limit) => `text of at least ${count(Number(limit), 'character')}`,
  maxLength: (limit) => `text of at most ${count(Number(limit), 'character')}`,
  minItems: (limit) => `a list of at least ${count(Number(limit), 'item')}`,
  maxItems: (limit) => `a list of at most ${count(Number(limit), 'item')}`,
  uniqueItems: () => 'entries that all differ',
};

/** Returns what a keyword with this value expects of a value; `format` is that of the same schema. */
export function describeExpectation(keyword: string, limit: unknown, format?: unknown): string {
  switch (keyword) {
    case 'type':
      return Array.isArray(limit) ? limit.join(' or ') : String(limit);
    case 'enum':
      return `one of ${Array.isArray(limit) ? listSome(limit, (choice) => JSON.stringify(choice)) : JSON.stringify(limit)}`;
    case 'pattern':
      return describePattern(String(limit), format);
    case 'format':
      return describeFormat(limit) ?? `text in the format ${String(limit)}`;
    case 'anyOf':
    case 'oneOf':
      return describeUnion(limit, keyword);
  }
  const text = Object.hasOwn(TEXTS, keyword) ? TEXTS[keyword] : undefined;
  return text?.(JSON.stringify(limit)) ?? `what "${keyword}" in the schema says`;
}

function describeUnion(branches: unknown, keyword: string): string {
  const kinds = Array.isArray(branches)
    ? branches.map((branch) =>
        isRecord(branch) && typeof branch.type === 'string'
          ? (describeFormat(branch.format) ?? branch.type)
          : undefined,
      )
    : [];
  const known = kinds.filter((kind) => kind !== undefined);
  if (known.length > 0 && known.length === kinds.length) return [...new Set(known)].join(' or ');
  return keyword === 'oneOf'
    ? 'exactly one of the alternatives in the schema'
    : 'one of the alternatives in the schema';
}
