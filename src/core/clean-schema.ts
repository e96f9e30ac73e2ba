// Removes invisible characters from the texts of a schema, which people do not see and models read (ERR-7).

import { isRecord, type Json, mapValues } from './json.js';
import type { JsonSchema } from './schema.js';
import { sanitize } from './text.js';

// Keywords whose values are data, not schemas.
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
const TEXTS: ReadonlySet<string> = new Set(['description', 'title', '$comment']);
// Keywords whose keys are names.
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas']);

/** Sanitizes descriptive texts, not values that input is compared with. Returns the schema itself if it is clean. */
export function cleanSchema(schema: JsonSchema): JsonSchema {
  const texts = JSON.stringify(schema);
  return sanitize(texts) === texts && !ESCAPED.test(texts) ? schema : (cleanTexts(schema) as JsonSchema);
}

// Control characters are escaped in JSON.
const ESCAPED = /\\u00[01]/;

function cleanTexts(node: Json): Json {
  if (Array.isArray(node)) return node.map(cleanTexts);
  if (!isRecord(node)) return node;
  return mapValues(node as Record<string, Json>, (value, key) => {
    if (DATA.has(key)) return value;
    if (NAMED.has(key) && isRecord(value)) return mapValues(value as Record<string, Json>, cleanTexts);
    return TEXTS.has(key) && typeof value === 'string' ? sanitize(value) : cleanTexts(value);
  });
}
