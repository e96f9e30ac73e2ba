// What is kept of servers between two processes: torn, garbled, made up, of another version, and written by two at once.

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type CliRun, json, wieldProcess as wield } from '../support/cli.js';
import type { Message } from '../support/server.js';
import { spec } from '../support/spec.js';
import {
  createUpstreamWorkspace,
  remoteTool,
  type UpstreamWorkspace,
} from '../support/upstream-workspace.js';

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

describe('what is kept of a server', () => {
  const line = (change: (line: string) => string, at: number) => (text: string) =>
    text
      .split('\n')
      .map((one, index) => (index === at ? change(one) : one))
      .join('\n');
  const DAMAGES: readonly (readonly [what: string, damage: (text: string) => string])[] = [
    ['is empty', () => ''],
    ['is cut', (text) => text.slice(0, text.length / 2)],
    ['lacks its end', (text) => text.slice(0, -4)],
    ['is of another version', line((one) => one.replace(/\d+$/, '999'), 0)],
    ['is garbled in its header', line(() => '{"at":', 1)],
    ['has another header', line(() => '{"at":"now","faults":[],"verdict":{}}', 1)],
    ['has a list for a header', line(() => '[]', 1)],
    ['has a failure that is none', line(() => '{"failed":{"at":1,"count":1}}', 1)],
    ['is garbled in a tool', line((one) => one.slice(3), 2)],
    ['has a tool that is none', line(() => '{}\t{}', 2)],
    ['has a tool of another name', line((one) => one.replace('"name":"far_one"', '"name":"read_skill"'), 2)],
    ['has a tool of another server', line((one) => one.replace('"name":"far_one"', '"name":"near_one"'), 2)],
    ['is bytes', () => '\u0000\u0001\u0002'.repeat(1000)],
  ];
  for (const [what, damage] of DAMAGES) {
    spec('UPS-3', `and ${what} is discarded, and asked for again`, async () => {
      const workspace = await listed();
      for (const file of filesOf(workspace)) writeFileSync(file, damage(readFileSync(file, 'utf8')));
      expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(['far_one', 'far_two']);
      expect(workspace.starts('far')).toHaveLength(2);
      expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(['far_one', 'far_two']);
      expect(workspace.starts('far')).toHaveLength(2);
    });
  }

  spec('UPS-3', 'and is garbled where only a call looks is asked for again by that call', async () => {
    const workspace = await listed();
    for (const file of filesOf(workspace)) {
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace(/\t\{"definition".*/, '\t{"definition":5}'));
    }
    expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(['far_one', 'far_two']);
    expect(workspace.starts('far')).toHaveLength(1);
    expect((await wield(workspace, ['call', 'far_one'])).stdout).toBe('called one\n');
    expect(readFileSync(filesOf(workspace)[0]!, 'utf8')).not.toContain('"definition":5');
  });

  spec('UPS-3 POL-21', 'and is made up well changes what is shown, and nothing that runs', async () => {
    const workspace = await listed();
    const definition = /"definition":"[0-9a-f]+"/;
    for (const file of filesOf(workspace)) {
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace(definition, `"definition":"${'0'.repeat(64)}"`));
    }
    // It is not what was approved, and with consent not what the server lists.
    expect((await wield(workspace, ['call', 'far_one'])).status).toBe(5);
    const forced = json(await wield(workspace, ['call', 'far_one', '--yes', '--json']));
    expect(forced.error.code).toBe('integrity');
  });

  spec('UPS-3', 'is for its user alone, and starts nothing again', async () => {
    const workspace = await listed();
    for (const file of filesOf(workspace)) expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const command of [['list'], ['search', 'one'], ['show', 'far_one'], ['doctor']])
      expect((await wield(workspace, command)).stdout).toContain(
        command[0] === 'doctor' ? 'tools' : 'far_one',
      );
    expect(workspace.starts('far')).toHaveLength(1);
  });
});

spec(
  'UPS-3 POL-21',
  'two processes that meet twenty servers at once lose none, and no pin',
  async () => {
    const names = Array.from({ length: 20 }, (_, at) => `s${String(at).padStart(2, '0')}`);
    const workspace = createUpstreamWorkspace(
      Object.fromEntries(names.map((name) => [name, { mode: 'changing' }])),
    );
    for (const name of names) workspace.tools(name, [remoteTool('one')]);
    const expected = names.map((name) => `${name}_one`);
    const runs = await Promise.all([1, 2].map(() => wield(workspace, ['list', '--json'])));
    for (const run of runs) expect([namesIn(run), json(run).problems]).toEqual([expected, []]);
    expect(filesOf(workspace)).toHaveLength(20);
    expect(readdirSync(join(workspace.env.WIELD_HOME!, 'pins'))).toHaveLength(20);
    const starts = names.map((name) => workspace.starts(name).length);
    expect(namesIn(await wield(workspace, ['list', '--json']))).toEqual(expected);
    expect(names.map((name) => workspace.starts(name).length)).toEqual(starts);
  },
  120_000,
);
