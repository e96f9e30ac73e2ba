// The kept completions of the binary: used for any begun word, and only while nothing has changed.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { wieldProcess } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

// New files count as settled.
const NODE_OPTIONS = `--require "${fileURLToPath(new URL('../../support/later.cjs', import.meta.url))}"`;
const script = (description: string): string => `#!/bin/sh\n# @description ${description}\necho done\n`;

async function complete(workspace: Workspace, ...words: string[]): Promise<string[]> {
  const args = ['__complete', 'fish', '--', ...words];
  const { status, stdout, stderr } = await wieldProcess(workspace, args, { env: { NODE_OPTIONS } });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.trimEnd().split('\n').slice(1);
}

function keptBy({ env }: Workspace): string[] {
  const directory = join(env.WIELD_HOME!, 'cache', 'completions');
  return existsSync(directory) ? readdirSync(directory).map((name) => join(directory, name)) : [];
}

spec.thorough(
  'RES-62 CLI-9',
  'keeps the candidates of a first word for every begun word until something changes',
  async () => {
    const workspace = createWorkspace();
    for (const name of ['post', 'pull', 'send']) workspace.script(name, script(`Does ${name}.`));
    expect(await complete(workspace, 'call', 'pu')).toEqual(['pull\tDoes pull.']);
    const [kept, ...others] = keptBy(workspace);
    expect(others).toEqual([]);
    // Shows whether it is used.
    writeFileSync(kept!, readFileSync(kept!, 'utf8').replaceAll('Does ', 'Kept '));
    expect(await complete(workspace, 'call', 'p')).toEqual(['post\tKept post.', 'pull\tKept pull.']);
    expect(await complete(workspace, 'call', 'x')).toEqual([]);
    // Flags, and lines with more words, are completed as ever, and not kept.
    expect(await complete(workspace, 'call', '--dry')).toEqual([expect.stringMatching(/^--dry-run\t/)]);
    expect(await complete(workspace, 'call', '--json', 'po')).toEqual(['post\tDoes post.']);
    expect(keptBy(workspace)).toEqual([kept]);
    workspace.script('park', script('Is new.'));
    expect(await complete(workspace, 'call', 'pa')).toEqual(['park\tIs new.']);
    workspace.config('[trust]\nrules = ["park($deny)"]\n');
    expect(await complete(workspace, 'call', 'pa')).toEqual([]);
    writeFileSync(kept!, readFileSync(kept!, 'utf8').slice(0, -9));
    expect(await complete(workspace, 'call', 'po')).toEqual(['post\tDoes post.']);
  },
);

spec('RES-62', 'keeps no completion that depends on a server', async () => {
  const workspace = createWorkspace();
  workspace.script('post', script('Does post.'));
  const servers = join(workspace.home, '.agents', 'mcp.json');
  mkdirSync(dirname(servers));
  writeFileSync(servers, '{ "mcpServers": { "mine": { "command": "false" } } }');
  expect(await complete(workspace, 'po')).toEqual(['post\tDoes post.']);
  expect(keptBy(workspace)).toEqual([]);
});
