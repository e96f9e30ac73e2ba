// Damaged, forged, outdated and concurrently written tool list files.

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type CliRun, json, wield } from '../support/cli.js';
import { ALL_TESTS, some } from '../support/effort.js';
import type { Message } from '../support/server.js';
import { share } from '../support/share.js';
import { spec } from '../support/spec.js';
import { createUpstreamWorkspace, remoteTool, type UpstreamWorkspace } from '../support/upstream-workspace.js';

const directoryOf = ({ env }: UpstreamWorkspace): string => join(env.WIELD_HOME!, 'cache', 'upstream');
const filesOf = (workspace: UpstreamWorkspace): string[] =>
  readdirSync(directoryOf(workspace)).map((name) => join(directoryOf(workspace), name));
const namesIn = (run: CliRun): string[] => json(run).tools.map(({ name }: Message) => name);

async function listed(): Promise<UpstreamWorkspace> {
  const workspace = createUpstreamWorkspace({ far: { mode: 'changing' } });
  workspace.tools('far', [remoteTool('one'), remoteTool('two')]);
  expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(['far_one', 'far_two']);
  expect(workspace.starts('far')).toHaveLength(1);
  return workspace;
}

describe('a stored tool list', () => {
  const change = (edit: (document: Message) => unknown) => (text: string) => JSON.stringify(edit(JSON.parse(text)));
  const changeTool = (fields: Message) =>
    change((document) => ({ ...document, tools: [{ ...document.tools[0], ...fields }] }));
  const DAMAGES: readonly (readonly [what: string, damage: (text: string) => string])[] = [
    ['is empty', () => ''],
    ['is truncated', (text) => text.slice(0, text.length / 2)],
    ['lacks its end', (text) => text.slice(0, -4)],
    ['is of another version', change((document) => ({ ...document, format: 999 }))],
    ['has an invalid header', change((document) => ({ ...document, at: 'now' }))],
    ['is an array', change(() => [])],
    ['has an invalid failure', change(() => ({ format: 2, at: 1, count: 1 }))],
    ['has an invalid tool', change((document) => ({ ...document, tools: [{}] }))],
    ['has a damaged schema', changeTool({ input: 5 })],
    ['has a tool of another name', changeTool({ name: 'read_skill' })],
    ['has a tool of another server', changeTool({ name: 'near_one' })],
    ['is binary', () => '\u0000\u0001\u0002'.repeat(1000)],
  ];
  const shared = share(listed);
  for (const [what, damage] of some(DAMAGES, 5)) {
    spec('UPS-3', `that ${what} is discarded and requested again`, async () => {
      const workspace = shared();
      const before = workspace.starts('far').length;
      for (const file of filesOf(workspace)) writeFileSync(file, damage(readFileSync(file, 'utf8')));
      expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(['far_one', 'far_two']);
      expect(workspace.starts('far')).toHaveLength(before + 1);
      expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(['far_one', 'far_two']);
      expect(workspace.starts('far')).toHaveLength(before + 1);
    });
  }

  spec('UPS-3 POL-21', 'that is forged changes what is shown, not what runs', async () => {
    const workspace = await listed();
    const definition = /"definition":"[0-9a-f]+"/;
    for (const file of filesOf(workspace)) {
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace(definition, `"definition":"${'0'.repeat(64)}"`));
    }
    // Neither approved, nor what the server lists.
    expect((await wield(workspace, ['call', 'far_one'])).status).toBe(5);
    const forced = json(await wield(workspace, ['call', 'far_one', '--yes', '--json']));
    expect(forced.error.code).toBe('integrity');
  });

  spec('UPS-127', 'that another process stores while a tool is looked up is used', async () => {
    const workspace = await listed();
    const [file] = filesOf(workspace);
    const text = readFileSync(file!, 'utf8');
    for (const ref of ['far_one', 'mcp://far/one']) {
      writeFileSync(file!, '');
      // The tool was just looked for in the empty list.
      const debug = (message: string): void => {
        if (message.includes('discarded')) writeFileSync(file!, text);
      };
      expect((await workspace.toolbox({ debug }).call(ref, {})).error, ref).toBeUndefined();
    }
  });

  spec('UPS-127 UPS-8', 'that did not change is stored again after an hour, or by a refresh', async () => {
    const workspace = await listed();
    const now = Date.now();
    const listedAt = async (args: readonly string[], afterMs: number): Promise<number> => {
      expect((await wield(workspace, args, { now: () => now + afterMs })).status).toBe(0);
      const [server] = json(await wield(workspace, ['mcp', '--json'])).servers;
      return Math.abs(Math.round((Date.parse(server.listedAt) - now) / 60_000));
    };
    const minute = 60_000;
    expect(await listedAt(['call', 'far_one'], 50 * minute)).toBe(0);
    expect(await listedAt(['mcp', 'refresh', 'far'], 20 * minute)).toBe(20);
    expect(await listedAt(['call', 'far_one'], 90 * minute)).toBe(90);
    workspace.tools('far', [remoteTool('one'), remoteTool('three')]);
    expect(await listedAt(['call', 'far_one'], 91 * minute)).toBe(91);
  });

  spec('UPS-3', 'that failed before the clock was set back is requested again', async () => {
    // Its tools are written later.
    const workspace = createUpstreamWorkspace({ far: { mode: 'raw' } });
    const tomorrow = (): number => Date.now() + 86_400_000;
    expect(namesIn(await wield(workspace, ['list', '--json'], { now: tomorrow }))).toEqual([]);
    workspace.tools('far', [remoteTool('one')]);
    expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(['far_one']);
  });

  spec('UPS-3', 'is private to the user, and avoids a start', async () => {
    const workspace = await listed();
    for (const file of filesOf(workspace)) expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const command of [['list'], ['search', 'one'], ['show', 'far_one'], ['doctor']])
      expect((await wield(workspace, command)).stdout).toContain(command[0] === 'doctor' ? 'tools' : 'far_one');
    expect(workspace.starts('far')).toHaveLength(1);
  });
});

spec.thorough(
  'UPS-3 POL-21',
  'two processes that list many servers at once lose neither listings nor pins',
  async () => {
    const names = Array.from({ length: ALL_TESTS ? 20 : 6 }, (_, at) => `s${String(at).padStart(2, '0')}`);
    const workspace = createUpstreamWorkspace(Object.fromEntries(names.map((name) => [name, { mode: 'changing' }])));
    for (const name of names) workspace.tools(name, [remoteTool('one')]);
    const expected = names.map((name) => `${name}_one`);
    const runs = await Promise.all([1, 2].map(() => wield(workspace, ['list', '--json'])));
    for (const run of runs) expect([namesIn(run), json(run).problems]).toEqual([expected, []]);
    expect(filesOf(workspace)).toHaveLength(names.length);
    expect(readdirSync(join(workspace.env.WIELD_HOME!, 'pins'))).toHaveLength(names.length);
    const starts = names.map((name) => workspace.starts(name).length);
    expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(expected);
    expect(names.map((name) => workspace.starts(name).length)).toEqual(starts);
  },
  120_000,
);
