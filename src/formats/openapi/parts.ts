// Sends operations from a thread in parts: each is small, and a definition that many schemas share is sent once.

import { isRecord, type Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import type { Draft } from './operations.js';

/** Operations whose definitions are numbers, and the definitions that are new, as JSON. */
export type Part = string;

interface Content {
  readonly definitions: readonly Json[];
  readonly drafts: readonly Draft[];
}

// Parsed in about a millisecond.
const PART_LENGTH = 128 * 1024;

export function* pack(drafts: readonly Draft[]): Generator<Part> {
  const numbers = new Map<unknown, number>();
  let [definitions, packed, length] = [[] as unknown[], [] as Draft[], 0];
  const numberOf = (definition: unknown): number => {
    const known = numbers.get(definition);
    if (known !== undefined) return known;
    numbers.set(definition, numbers.size);
    definitions.push(definition);
    length += JSON.stringify(definition).length;
    return numbers.size - 1;
  };
  for (const draft of drafts) {
    const one = mapDefinitions(draft, numberOf);
    length += JSON.stringify(one).length;
    packed.push(one);
    if (length < PART_LENGTH) continue;
    yield JSON.stringify({ definitions, drafts: packed });
    [definitions, packed, length] = [[], [], 0];
  }
  if (packed.length > 0) yield JSON.stringify({ definitions, drafts: packed });
}

/** Collects parts in their order. */
export function unpack() {
  const definitions: Json[] = [];
  const drafts: Draft[] = [];
  let count = 0;
  return {
    add(part: Part): void {
      const content = JSON.parse(part) as Content;
      definitions.push(...content.definitions);
      drafts.push(...content.drafts.map((draft) => mapDefinitions(draft, (number) => definitions[number as number]!)));
      count++;
    },
    count: () => count,
    drafts: (): readonly Draft[] => drafts,
  };
}

function mapDefinitions(draft: Draft, map: (definition: Json) => Json): Draft {
  const { input, output } = draft;
  return { ...draft, input: mapIn(input, map), ...(output && { output: mapIn(output, map) }) };
}

function mapIn(schema: JsonSchema, map: (definition: Json) => Json): JsonSchema {
  const { $defs } = schema;
  if (!isRecord($defs)) return schema;
  const mapped = Object.entries($defs).map(([name, definition]) => [name, map(definition as Json)]);
  return { ...schema, $defs: Object.fromEntries(mapped) };
}
