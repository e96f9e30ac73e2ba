// Commands that write the same file at the same time: each that reports success is in effect (STA-6).

import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { changeFile } from '../../src/files/change.js';
import { askFor, createAskingWorkspace } from '../support/approvals.js';
import { type CliRun, json, wield, wieldProcess } from '../support/cli.js';
import { rounds } from '../support/effort.js';
import { sleep } from '../support/processes.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const COUNT = rounds(5, 50);
const TIMEOUT_MS = 240_000;
const numbers = Array.from({ length: COUNT }, (_, at) => at);

const together = (workspace: Workspace, commands: readonly (readonly string[])[]): Promise<CliRun[]> =>
  Promise.all(commands.map((args) => wieldProcess(workspace, args)));

const failed = (runs: readonly CliRun[]): string[] =>
  runs.filter(({ status }) => status !== 0).map(({ stderr }) => stderr);

const serversIn = (file: string): string[] =>
  Object.keys((JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: object }).mcpServers).sort();

const trusted = async (workspace: Workspace): Promise<string[]> =>
  (json(await wield(workspace, ['trust', '--list', '--json'])) as { workspaces: { directory: string }[] }).workspaces
    .map(({ directory }) => directory)
    .sort();

// Locks and temporary files are gone.
const leftIn = (directory: string): string[] =>
  existsSync(directory) ? readdirSync(directory).filter((name) => /\.(?:lock|tmp)$/.test(name)) : [];

spec(
  'STA-6',
  'all workspaces that are trusted or revoked at the same time are so',
  async () => {
    const workspace = createWorkspace();
    const directories = numbers.map((at) => join(workspace.home, `work-${at}`));
    for (const directory of directories) mkdirSync(directory);
    const odd = directories.filter((_, at) => at % 2 === 1);
    const even = directories.filter((_, at) => at % 2 === 0);
    expect(
      failed(
        await together(
          workspace,
          odd.map((directory) => ['trust', '--yes', directory]),
        ),
      ),
    ).toEqual([]);
    expect(await trusted(workspace)).toEqual([...odd].sort());
    const runs = await together(
      workspace,
      directories.map((directory) => ['trust', '--yes', directory, ...(odd.includes(directory) ? ['--revoke'] : [])]),
    );
    expect(failed(runs)).toEqual([]);
    expect(await trusted(workspace)).toEqual([...even].sort());
    expect(leftIn(workspace.env.WIELD_HOME!)).toEqual([]);
  },
  TIMEOUT_MS,
);

spec('STA-6', 'a process that changes a file makes others wait, however long it takes', async () => {
  const workspace = createWorkspace();
  const other = join(workspace.home, 'other');
  mkdirSync(other);
  await wield(workspace, ['trust', '--yes']);
  let run: Promise<CliRun> | undefined;
  await changeFile(join(workspace.env.WIELD_HOME!, 'trust.json'), { doing: 'a test' }, async (text) => {
    run = wieldProcess(workspace, ['trust', '--yes', other]);
    // It would be done by then.
    await sleep(2000);
    return text;
  });
  expect(failed([await run!])).toEqual([]);
  expect(await trusted(workspace)).toEqual([workspace.dir, other].sort());
});

spec(
  'STA-6',
  'all servers that are added or removed at the same time are so, and the workspace stays trusted',
  async () => {
    const workspace = createWorkspace();
    mkdirSync(join(workspace.dir, '.agents'));
    await wield(workspace, ['trust', '--yes']);
    const add = (at: number): string[] => [
      'mcp',
      'add',
      '--yes',
      `s${at}`,
      '--scope',
      'project',
      '--',
      'true',
      String(at),
    ];
    const half = numbers.slice(0, COUNT / 2);
    expect(failed(await together(workspace, half.map(add)))).toEqual([]);
    const file = join(workspace.dir, '.agents', 'mcp.json');
    expect(serversIn(file)).toEqual(half.map((at) => `s${at}`).sort());
    const remove = (at: number): string[] => ['mcp', 'remove', `s${at}`, '--scope', 'project', '--yes'];
    const runs = await together(
      workspace,
      numbers.map((at) => (half.includes(at) ? remove(at) : add(at))),
    );
    expect(failed(runs)).toEqual([]);
    expect(serversIn(file)).toEqual(
      numbers
        .filter((at) => !half.includes(at))
        .map((at) => `s${at}`)
        .sort(),
    );
    expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(true);
    expect(leftIn(join(workspace.dir, '.agents'))).toEqual([]);
  },
  TIMEOUT_MS,
);

spec.thorough(
  'STA-6',
  'of several servers with one name that are added at the same time, one is, and the others fail',
  async () => {
    const workspace = createWorkspace();
    const runs = await together(
      workspace,
      numbers.map((at) => ['mcp', 'add', '--yes', 'one', '--', 'true', String(at)]),
    );
    const added = runs.flatMap(({ status }, at) => (status === 0 ? [at] : []));
    expect(added).toHaveLength(1);
    const document = JSON.parse(readFileSync(join(workspace.home, '.agents', 'mcp.json'), 'utf8')) as object;
    expect(document).toEqual({ mcpServers: { one: { command: 'true', args: [String(added[0])] } } });
    const removed = await together(
      workspace,
      numbers.map(() => ['mcp', 'remove', 'one', '--yes']),
    );
    expect(removed.filter(({ status }) => status === 0)).toHaveLength(1);
  },
  TIMEOUT_MS,
);

spec.thorough(
  'STA-6',
  'a workspace whose trust is revoked while its servers change is not trusted',
  async () => {
    const workspace = createWorkspace();
    mkdirSync(join(workspace.dir, '.agents'));
    await wield(workspace, ['trust', '--yes']);
    const runs = await together(workspace, [
      ...numbers.map((at) => ['mcp', 'add', '--yes', `s${at}`, '--scope', 'project', '--', 'true', String(at)]),
      ['trust', '--revoke'],
    ]);
    expect(failed(runs)).toEqual([]);
    expect(runs.at(-1)!.stdout).toContain('revoked');
    expect(await trusted(workspace)).toEqual([]);
  },
  TIMEOUT_MS,
);

spec.thorough(
  'STA-6 SRV-11',
  'all connections of clients that are made at the same time can be undone at the same time',
  async () => {
    const workspace = createWorkspace();
    const clients = ['cursor', 'claude-code'];
    const connect = (at: number): string[] => [
      'connect',
      clients[at % 2]!,
      ...['--scope', 'project', '--name', `w${at}`, '--yes'],
    ];
    const files = [join(workspace.dir, '.cursor', 'mcp.json'), join(workspace.dir, '.mcp.json')];
    expect(failed(await together(workspace, numbers.map(connect)))).toEqual([]);
    expect(files.flatMap(serversIn).sort()).toEqual(numbers.map((at) => `w${at}`).sort());
    expect(
      failed(
        await together(
          workspace,
          numbers.map((at) => [...connect(at), '--undo']),
        ),
      ),
    ).toEqual([]);
    expect(files.filter((file) => existsSync(file)).flatMap(serversIn)).toEqual([]);
    const records = JSON.parse(readFileSync(join(workspace.env.WIELD_HOME!, 'connect.json'), 'utf8')) as object;
    expect(records).toEqual({ version: 1, records: [] });
  },
  TIMEOUT_MS,
);

spec(
  'STA-6 POL-7',
  'of approvals and refusals of one question, those that report success say what is in effect',
  async () => {
    const workspace = createAskingWorkspace();
    const id = await askFor(workspace);
    const words = (at: number): string[] => (at % 2 === 0 ? ['approve', id] : ['deny', id, '--reason', `no ${at}`]);
    const runs = await together(
      workspace,
      numbers.map((at) => ['approvals', ...words(at), '--json']),
    );
    for (const [at, { status, stdout }] of runs.entries()) {
      if (status !== 0) continue;
      const { approval } = JSON.parse(stdout) as { approval: { state: string } };
      expect(approval.state).toBe(at % 2 === 0 ? 'approved' : 'denied');
    }
    const listed = json(await wield(workspace, ['approvals', 'list', '--json'])) as { approvals: { state: string }[] };
    expect(listed.approvals).toHaveLength(1);
    expect((await workspace.deploy()).status === 0).toBe(listed.approvals[0]!.state === 'approved');
  },
  TIMEOUT_MS,
);

spec.thorough(
  'STA-6',
  'all tools that are removed at the same time can be brought back',
  async () => {
    const workspace = createWorkspace();
    const names = numbers.map((at) => `tool${at}`);
    for (const name of names) workspace.script(name, `#!/bin/sh\n# @description ${name}\necho ${name}\n`);
    expect(
      failed(
        await together(
          workspace,
          names.map((name) => ['remove', name]),
        ),
      ),
    ).toEqual([]);
    expect(readdirSync(join(workspace.dir, '.agents', 'tools'))).toEqual([]);
    expect(
      failed(
        await together(
          workspace,
          names.map((name) => ['remove', '--undo', name]),
        ),
      ),
    ).toEqual([]);
    const back = names.map((name) => readFileSync(join(workspace.dir, '.agents', 'tools', name), 'utf8'));
    expect(back.map((text, at) => text.includes(`echo ${names[at]}`))).toEqual(names.map(() => true));
  },
  TIMEOUT_MS,
);
