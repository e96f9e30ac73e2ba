// The JSON Schemas of wield's files, for editors: schemas/*.json.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonSchema } from '../../src/core/schema.js';
import { SKILL_SCHEMA } from '../../src/formats/skill/schema.js';
import { DESCRIPTOR } from '../../src/formats/tools-json/parse.js';
import { LOCK } from '../../src/install/lock-file.js';
import { LINES } from '../../src/ui/recording/recording.js';
import { SERVERS_FILE_SCHEMA } from '../../src/upstream/entries/schema.js';
import { AUDIT_LINE } from './audit-line.js';
import { toConfigSchema } from './config-schema.js';
import { ROOT } from './documents.js';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

const define = (name: string, title: string, schema: JsonSchema): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: `https://unpkg.com/wield@${version}/schemas/${name}.json`,
  title,
  ...schema,
});

const descriptor = DESCRIPTOR.toSchema();

/** Schemas of files that people write or read, by the names of the schemas. */
export const FILE_SCHEMAS = {
  config: define('config', 'config.toml of wield', toConfigSchema()),
  tools: define('tools', 'tools.json of a skill', {
    // The second layout has the list of tools alone.
    anyOf: [descriptor, (descriptor.properties as Record<string, JsonSchema>).tools!],
  }),
  skill: define('skill', 'Frontmatter of a SKILL.md', SKILL_SCHEMA),
  mcp: define('mcp', 'mcp.json: MCP servers', SERVERS_FILE_SCHEMA),
  lock: define('lock', 'wield.lock', LOCK.toSchema()),
  recording: define('recording', 'A line of a recording', {
    anyOf: Object.values(LINES).map(({ toSchema }) => toSchema()),
  }),
} as const satisfies Record<string, JsonSchema>;

/** All schemas. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...FILE_SCHEMAS,
  'audit-line': define('audit-line', 'A line of the audit log of wield', AUDIT_LINE.toSchema()),
};
