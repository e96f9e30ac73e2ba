// The MCP reference servers: how to start each, its data, and calls of all its tools.

import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../../src/index.js';
import type { Workspace } from './workspace.js';

export interface ReferenceCall {
  readonly tool: string;
  readonly input: JsonObject;
}

export interface ReferenceServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  /** Resets its data to the initial state. */
  prepare(): void;
  /** At least one call of every tool, in a meaningful order. */
  readonly calls: readonly ReferenceCall[];
}

const programOf = (name: string): string =>
  fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url));

const nothing = (): void => {};

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export function referenceServers(workspace: Workspace): readonly ReferenceServer[] {
  return [everything(workspace), filesystem(workspace), memory(workspace), thinking()];
}

export const EVERYTHING = programOf('everything');

export const EVERYTHING_CALLS: readonly ReferenceCall[] = [
  { tool: 'echo', input: { message: 'hello' } },
  { tool: 'get-annotated-message', input: { messageType: 'error', includeImage: true } },
  { tool: 'get-annotated-message', input: { messageType: 'debug' } },
  { tool: 'get-env', input: {} },
  { tool: 'get-resource-links', input: { count: 2 } },
  { tool: 'get-resource-reference', input: { resourceType: 'Text', resourceId: 1 } },
  { tool: 'get-resource-reference', input: { resourceType: 'Blob', resourceId: 2 } },
  { tool: 'get-resource-reference', input: { resourceType: 'Text', resourceId: -1 } },
  { tool: 'get-structured-content', input: { location: 'Chicago' } },
  { tool: 'get-sum', input: { a: 2, b: 3 } },
  { tool: 'get-tiny-image', input: {} },
  {
    tool: 'gzip-file-as-resource',
    input: { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' },
  },
  {
    tool: 'gzip-file-as-resource',
    input: { name: 'b.gz', data: 'data:text/plain,hello', outputType: 'resourceLink' },
  },
  { tool: 'toggle-simulated-logging', input: {} },
  { tool: 'toggle-simulated-logging', input: {} },
  { tool: 'toggle-subscriber-updates', input: {} },
  { tool: 'toggle-subscriber-updates', input: {} },
  { tool: 'trigger-long-running-operation', input: { duration: 0.1, steps: 2 } },
  { tool: 'trigger-elicitation-request', input: {} },
  { tool: 'trigger-url-elicitation', input: { url: 'https://example.com/', elicitationId: 'one' } },
  { tool: 'simulate-research-query', input: { topic: 'tools' } },
];

function everything({ env }: Workspace): ReferenceServer {
  const { PATH = '', HOME = '' } = env;
  return {
    name: 'everything',
    command: process.execPath,
    args: [EVERYTHING, 'stdio'],
    env: { PATH, HOME },
    prepare: nothing,
    calls: EVERYTHING_CALLS,
  };
}

function filesystem({ home }: Workspace): ReferenceServer {
  const root = join(home, 'files');
  const at = (name: string): string => join(root, name);
  const past = new Date('2026-01-02T03:04:05Z');
  return {
    name: 'filesystem',
    command: process.execPath,
    args: [programOf('filesystem'), root],
    env: {},
    prepare() {
      rmSync(root, { recursive: true, force: true });
      mkdirSync(at('below'), { recursive: true });
      for (const [name, bytes] of [
        ['a.txt', 'one\ntwo\nthree\n'],
        ['b.txt', 'other\n'],
        ['below/c.txt', 'deep\n'],
        ['pixel.png', PIXEL],
      ] as const) {
        writeFileSync(at(name), bytes);
        utimesSync(at(name), past, past);
      }
    },
    calls: [
      { tool: 'list_allowed_directories', input: {} },
      { tool: 'read_file', input: { path: at('a.txt') } },
      { tool: 'read_text_file', input: { path: at('a.txt'), head: 2 } },
      { tool: 'read_text_file', input: { path: '/etc/hostname' } },
      { tool: 'read_text_file', input: { path: at('none.txt') } },
      { tool: 'read_media_file', input: { path: at('pixel.png') } },
      { tool: 'read_multiple_files', input: { paths: [at('a.txt'), at('none.txt')] } },
      { tool: 'list_directory', input: { path: root } },
      { tool: 'list_directory_with_sizes', input: { path: root, sortBy: 'size' } },
      { tool: 'directory_tree', input: { path: root } },
      { tool: 'search_files', input: { path: root, pattern: '**/*.txt' } },
      { tool: 'get_file_info', input: { path: at('a.txt') } },
      { tool: 'write_file', input: { path: at('new.txt'), content: 'new\n' } },
      {
        tool: 'edit_file',
        input: { path: at('a.txt'), edits: [{ oldText: 'two', newText: '2' }], dryRun: false },
      },
      { tool: 'create_directory', input: { path: at('made') } },
      { tool: 'move_file', input: { source: at('new.txt'), destination: at('made/moved.txt') } },
      { tool: 'read_text_file', input: { path: at('made/moved.txt') } },
    ],
  };
}

function memory({ home }: Workspace): ReferenceServer {
  const file = join(home, 'memory.jsonl');
  return {
    name: 'memory',
    command: process.execPath,
    args: [programOf('memory')],
    env: { MEMORY_FILE_PATH: file },
    prepare: () => rmSync(file, { force: true }),
    calls: [
      {
        tool: 'create_entities',
        input: {
          entities: [
            { name: 'Ada', entityType: 'person', observations: ['writes notes'] },
            { name: 'Engine', entityType: 'machine', observations: [] },
          ],
        },
      },
      {
        tool: 'create_relations',
        input: { relations: [{ from: 'Ada', to: 'Engine', relationType: 'describes' }] },
      },
      {
        tool: 'add_observations',
        input: { observations: [{ entityName: 'Ada', contents: ['knows Babbage'] }] },
      },
      { tool: 'add_observations', input: { observations: [{ entityName: 'Nobody', contents: ['x'] }] } },
      { tool: 'read_graph', input: {} },
      { tool: 'search_nodes', input: { query: 'notes' } },
      { tool: 'open_nodes', input: { names: ['Ada'] } },
      {
        tool: 'delete_observations',
        input: { deletions: [{ entityName: 'Ada', observations: ['knows Babbage'] }] },
      },
      {
        tool: 'delete_relations',
        input: { relations: [{ from: 'Ada', to: 'Engine', relationType: 'describes' }] },
      },
      { tool: 'delete_entities', input: { entityNames: ['Engine'] } },
      { tool: 'read_graph', input: {} },
    ],
  };
}

function thinking(): ReferenceServer {
  return {
    name: 'sequential-thinking',
    command: process.execPath,
    args: [programOf('sequential-thinking')],
    env: { DISABLE_THOUGHT_LOGGING: 'true' },
    prepare: nothing,
    calls: [
      {
        tool: 'sequentialthinking',
        input: { thought: 'First.', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 },
      },
      {
        tool: 'sequentialthinking',
        input: { thought: 'Then.', nextThoughtNeeded: false, thoughtNumber: 2, totalThoughts: 2 },
      },
    ],
  };
}
