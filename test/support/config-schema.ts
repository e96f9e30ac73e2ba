// The JSON Schema of a configuration file, for editors.

import { ALIASES, ARRAYS } from '../../src/config/key-path.js';
import { defaultOf, formatValue, keys } from '../../src/config/keys.js';
import { PROFILE_NAME_SCHEMA, sandboxRule, sandboxTable } from '../../src/config/sandbox.js';
import type { Json, JsonObject } from '../../src/core/json.js';
import type { JsonSchema } from '../../src/core/schema.js';
import { SERVER_NAME_SCHEMA, SERVER_SCHEMA } from '../../src/upstream/entries/schema.js';

// Keys whose entries have a reader of their own.
const SERVERS: Readonly<Record<string, JsonSchema>> = {
  'mcpServers.*': SERVER_SCHEMA,
  'mcp.servers': {
    ...SERVER_SCHEMA,
    required: ['name'],
    properties: { ...(SERVER_SCHEMA.properties as JsonObject), name: SERVER_NAME_SCHEMA },
  },
};

interface Table {
  readonly keys: Map<string, Table | JsonSchema>;
}

/** Returns the schema, with the descriptions and defaults of all keys. */
export function toConfigSchema(): JsonSchema {
  const root: Table = { keys: new Map() };
  for (const name of Object.keys(keys())) add(root, name.split('.'), toKeySchema(name));
  for (const [alias, name] of Object.entries(ALIASES)) add(root, alias.split('.'), toKeySchema(name));
  const { properties, ...rest } = toSchema(root) as { properties: Record<string, JsonObject> };
  const profiles = { ...properties.sandbox!, propertyNames: PROFILE_NAME_SCHEMA };
  // Also an array of its rules, by the rules of TOML, each with the profiles after it.
  const rules = {
    type: 'array',
    items: {
      ...sandboxRule.toSchema(),
      propertyNames: PROFILE_NAME_SCHEMA,
      additionalProperties: sandboxTable.toSchema(),
    },
  };
  return {
    ...rest,
    properties: {
      $schema: { type: 'string' },
      ...properties,
      sandbox: { anyOf: [profiles, rules] },
      mcpServers: { ...properties.mcpServers!, propertyNames: SERVER_NAME_SCHEMA },
    },
  };
}

function add(table: Table, [step, ...rest]: readonly string[], schema: JsonSchema): void {
  if (rest.length === 0) table.keys.set(step!, schema);
  else {
    const below = (table.keys.get(step!) as Table | undefined) ?? { keys: new Map() };
    table.keys.set(step!, below);
    add(below, rest, schema);
  }
}

function toKeySchema(name: string): JsonSchema {
  const { shape, description } = keys()[name]!;
  const text = description.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  const schema = SERVERS[name] ?? shape.toSchema();
  if (ARRAYS.includes(name)) {
    // `[middleware]` is read like `[[middleware]]`.
    return { description: text, anyOf: [{ type: 'array', items: schema }, schema] };
  }
  const value = defaultOf(name);
  return {
    description: text,
    ...schema,
    ...(value === undefined ? {} : { default: JSON.parse(formatValue(name, value)) as Json }),
  };
}

// The key `*` means any name.
function toSchema(node: Table | JsonSchema): JsonSchema {
  if (!('keys' in node) || !(node.keys instanceof Map)) return node as JsonSchema;
  const { '*': any = false, ...properties } = Object.fromEntries(
    [...(node.keys as Table['keys'])].map(([key, below]) => [key, toSchema(below)]),
  );
  return { type: 'object', properties, additionalProperties: any };
}
