// Describes what a keyword of a schema expects.

import { isRecord } from '../core/json.js';
import { listSome } from '../core/text.js';

const TEXTS: Readonly<Record<string, (limit: string) => string>> = {
  const: (limit) => `exactly ${limit}`,
  minimum: (limit) => `at least ${limit}`,
  maximum: (limit) => `at most ${limit}`,
  exclusiveMinimum: (limit) => `more than ${limit}`,
  exclusiveMaximum: (limit) => `less than ${limit}`,
  multipleOf: (limit) => `a multiple of ${limit}`,
  minLength: (limit) => `text of at least ${limit} characters`,
  maxLength: (limit) => `text of at most ${limit} characters`,
  minItems: (limit) => `at least ${limit} entries`,
  maxItems: (limit) => `at most ${limit} entries`,
  uniqueItems: () => 'entries that all differ',
};

/** Returns what a keyword with this value expects of a value. */
export function describeExpectation(keyword: string, limit: unknown): string {
  switch (keyword) {
    case 'type':
      return Array.isArray(limit) ? limit.join(' or ') : String(limit);
    case 'enum':
      return `one of ${Array.isArray(limit) ? listSome(limit, (choice) => JSON.stringify(choice)) : JSON.stringify(limit)}`;
    case 'pattern':
      return `text that matches ${String(limit)}`;
    case 'format':
      return `text in the format ${String(limit)}`;
    case 'anyOf':
    case 'oneOf':
      return describeUnion(limit, keyword);
  }
  const text = Object.hasOwn(TEXTS, keyword) ? TEXTS[keyword] : undefined;
  return text?.(JSON.stringify(limit)) ?? `what "${keyword}" in the schema says`;
}

function describeUnion(branches: unknown, keyword: string): string {
  const kinds = Array.isArray(branches)
    ? branches.map((branch) => (isRecord(branch) && typeof branch.type === 'string' ? branch.type : undefined))
    : [];
  const known = kinds.filter((kind) => kind !== undefined);
  if (known.length > 0 && known.length === kinds.length) return [...new Set(known)].join(' or ');
  return keyword === 'oneOf'
    ? 'exactly one of the alternatives in the schema'
    : 'one of the alternatives in the schema';
}
