// Attacks on standing approvals by what a tool runs: other programs, interpreters and packages than those approved.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../src/core/result.js';
import { askFor, createAskingWorkspace } from '../support/approvals.js';
import { json, wield, wieldProcess } from '../support/cli.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { createModuleWorkspace, moduleText } from '../support/modules.js';
import { spec } from '../support/spec.js';
import { createUpstreamWorkspace, remoteTool } from '../support/upstream-workspace.js';
import { createWorkspace, LATER, type Workspace } from '../support/workspace.js';

const RULES = '[trust]\nrules = "run"\n';

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

/** Puts an empty directory in front of the search path. */
function addDirectory(workspace: Workspace, name: string): string {
  const directory = join(workspace.home, name);
  mkdirSync(directory, { recursive: true });
  workspace.env.PATH = `${directory}:${workspace.env.PATH}`;
  return directory;
}

/** Approves all calls of `tool`, and returns a function that calls it without anyone to ask. */
async function approveAlways(workspace: Workspace, tool = 'run', now?: () => number) {
  const toolbox = workspace.toolbox({ trust: true, ...(now === undefined ? {} : { now }) });
  const given = await toolbox.call(tool, {}, { approve: async () => 'always' });
  expect(given.error).toBeUndefined();
  const call = async (): Promise<string> => {
    const result = await toolbox.call(tool, {});
    return result.error === undefined ? textOf(result).trim() : `${result.error.code}: ${result.error.message}`;
  };
  expect(await call()).toBe(textOf(given).trim());
  return call;
}

const ASKED = /^needs_approval: .*what it runs changed since it was approved: /;

describe('a standing approval is not valid', () => {
  spec('POL-25', 'if a command finds another program, earlier on the search path or in the same place', async () => {
    const workspace = createSkillWorkspace();
    workspace.config(RULES);
    const own = workspace.program('tool', '#!/bin/sh\necho own\n');
    const early = addDirectory(workspace, 'early');
    workspace.skill('say', { 'tools.json': declare([], { binary: 'tool' }) });
    const call = await approveAlways(workspace);
    const other = write(join(early, 'tool'), '#!/bin/sh\necho other\n');
    const asked = await call();
    expect(asked).toMatch(ASKED);
    expect(asked).toContain(`- program ${own} `);
    expect(asked).toContain(`+ program ${other} `);
    rmSync(other);
    expect(await call()).toBe('own');
    // The same name and size, by a link and in place.
    symlinkSync(write(join(workspace.home, 'elsewhere/tool'), '#!/bin/sh\necho abc\n'), join(early, 'tool'));
    expect(await call()).toMatch(ASKED);
    rmSync(join(early, 'tool'));
    write(own, '#!/bin/sh\necho abc\n');
    expect(await call()).toMatch(ASKED);
    write(own, '#!/bin/sh\necho own\n');
    expect(await call()).toBe('own');
  });

  spec(
    'POL-25',
    'if an interpreter behind env is another one, of a script or of the program of a command',
    async () => {
      const workspace = createSkillWorkspace();
      workspace.config('[trust]\nrules = "run script"\n');
      const speak = workspace.program('speak', '#!/bin/sh\necho own\n');
      workspace.program('tool', '#!/usr/bin/env speak\n');
      const early = addDirectory(workspace, 'early');
      workspace.skill('say', { 'tools.json': declare([], { binary: 'tool' }) });
      workspace.script('script', '#!/usr/bin/env speak\n# @description Speaks.\n');
      for (const tool of ['run', 'script']) {
        const call = await approveAlways(workspace, tool);
        const other = write(join(early, 'speak'), '#!/bin/sh\necho other\n');
        expect([tool, await call()]).toEqual([tool, expect.stringMatching(ASKED)]);
        rmSync(other);
        expect([tool, await call()]).toEqual([tool, 'own']);
        write(speak, '#!/bin/sh\necho owl\n');
        expect([tool, await call()]).toEqual([tool, expect.stringMatching(ASKED)]);
        write(speak, '#!/bin/sh\necho own\n');
        expect([tool, await call()]).toEqual([tool, 'own']);
      }
    },
  );

  spec('POL-25', 'if a wrapper or a resolver is another program, although this input does not use it', async () => {
    const workspace = createSkillWorkspace();
    workspace.config(RULES);
    workspace.program('wrap', '#!/bin/sh\nexec "$@"\n');
    workspace.program('look', '#!/bin/sh\necho found\n');
    const early = addDirectory(workspace, 'early');
    const resolveCommand = { binary: 'look', subcommand: '', args: ['$param'] };
    workspace.skill('say', {
      'tools.json': declare([{ param: 'a', kind: 'flag', resolveCommand }], {
        allowlist: { args: [''], look: [''] },
        execution: { binaryWrapper: ['wrap'] },
      }),
    });
    const call = await approveAlways(workspace);
    for (const name of ['look', 'args', 'wrap']) {
      const other = write(join(early, name), '#!/bin/sh\necho other\n');
      expect([name, await call()]).toEqual([name, expect.stringMatching(ASKED)]);
      rmSync(other);
      expect([name, await call()]).toEqual([name, '[]']);
    }
  });

  spec('POL-25', 'if a script gets another search path, which its commands are found in', async () => {
    const workspace = createWorkspace();
    workspace.config('[trust]\nrules = "script"\n');
    workspace.script('script', '#!/bin/sh\n# @description Speaks.\necho own\n');
    const call = await approveAlways(workspace, 'script');
    const before = workspace.env.PATH!;
    addDirectory(workspace, 'early');
    const other = await workspace.toolbox({ trust: true }).call('script', {});
    expect(other.error?.message).toContain(`+ PATH ${workspace.home}/early:`);
    // Version managers give every shell a link of its own.
    const [first = '', ...rest] = before.split(':');
    symlinkSync(first, join(workspace.home, 'link'));
    workspace.env.PATH = [join(workspace.home, 'link'), ...rest].join(':');
    expect(textOf(await workspace.toolbox({ trust: true }).call('script', {}))).toBe('own\n');
    workspace.env.PATH = before;
    expect(await call()).toBe('own');
  });

  spec('POL-25', 'if a package of a module, or of its packages, has other files', async () => {
    const workspace = createModuleWorkspace();
    workspace.config(RULES);
    const put = (name: string, text: string) => workspace.write(`.agents/node_modules/${name}`, text);
    const packageOf = (name: string, text: string, dependencies = {}): void => {
      put(`${name}/package.json`, JSON.stringify({ name, version: '1.0.0', type: 'module', dependencies }));
      put(`${name}/index.js`, text);
    };
    packageOf('first', "export { says } from '@scope/second';\n", { '@scope/second': '1' });
    packageOf('@scope/second', "export const says = 'own';\n");
    packageOf('unused', 'export {};\n');
    workspace.module('run.tool.js', moduleText('run', '() => says', "import { says } from 'first';"));
    const call = await approveAlways(workspace, 'run', LATER);
    const changes: readonly (readonly [string, string, string])[] = [
      ['@scope/second/index.js', "export const says = 'abc';\n", 'package @scope/second@1.0.0 '],
      ['first/index.js', "export const says = 'abc';\n", 'package first@1.0.0 '],
      ['first/added.js', 'export {};\n', 'package first@1.0.0 '],
      [
        '@scope/second/package.json',
        '{ "version": "1.0.1", "main": "index.js", "type": "module" }',
        '@scope/second@1.0.1',
      ],
      // Nearer to the importing file.
      ['first/node_modules/@scope/second/index.js', "export const says = 'abc';\n", 'package @scope/second@'],
      ['../tools/node_modules/first/index.js', "export const says = 'abc';\n", 'package first@'],
    ];
    for (const [file, text, named] of changes) {
      const place = join(workspace.dir, '.agents/node_modules', file);
      const kept = join(workspace.home, 'kept');
      const isNew = !existsSync(place);
      if (!isNew) renameSync(place, kept);
      put(file, text);
      const asked = await call();
      expect([file, asked]).toEqual([file, expect.stringMatching(ASKED)]);
      expect([file, asked]).toEqual([file, expect.stringContaining(named)]);
      rmSync(file.includes('node_modules') ? place.replace(/(.*node_modules)\/.*/, '$1') : place, { recursive: true });
      if (!isNew) renameSync(kept, place);
      expect([file, await call()]).toEqual([file, 'own']);
    }
    put('unused/index.js', 'export const other = 1;\n');
    expect(await call()).toBe('own');
  });

  spec('POL-25', 'if the program of a server is another one', async () => {
    const workspace = createUpstreamWorkspace();
    workspace.config('[trust]\nrules = "far_one"\n');
    const early = addDirectory(workspace, 'early');
    const late = join(workspace.home, 'late');
    const start = `#!/bin/sh\nexec ${process.execPath} "$@"\n`;
    write(join(late, 'start-server'), start);
    workspace.env.PATH = `${early}:${late}:${process.env.PATH}`;
    workspace.servers({ far: { mode: 'changing', more: { command: 'start-server' } } });
    workspace.tools('far', [remoteTool('one')]);
    const call = await approveAlways(workspace, 'far_one');
    write(join(early, 'start-server'), `${start}# other\n`);
    expect(await call()).toMatch(ASKED);
    rmSync(join(early, 'start-server'));
    expect(await call()).toBe('called one');
  });
});

spec('POL-25', 'a module that was approved runs with the packages that were approved', async () => {
  const workspace = createModuleWorkspace();
  workspace.config(RULES);
  const put = (text: string) => workspace.write('.agents/node_modules/dep/index.js', text);
  workspace.write('.agents/node_modules/dep/package.json', '{ "version": "1.0.0", "type": "module" }');
  put("export const says = 'own';\n");
  workspace.module('run.tool.js', moduleText('run', '() => says', "import { says } from 'dep';"));
  const toolbox = workspace.toolbox({ trust: true });
  const call = async () => textOf(await toolbox.call('run', {}, { approve: async () => 'once' }));
  expect(await call()).toBe('own');
  put("export const says = 'other';\n");
  expect(await call()).toBe('other');
});

spec('POL-25', 'an approval of one call is not valid for another interpreter, and names what it is for', async () => {
  const workspace = createAskingWorkspace();
  const early = addDirectory(workspace, 'early');
  const own = write(join(workspace.home, 'bin/speak'), '#!/bin/sh\nexec /bin/sh "$@"\n');
  workspace.env.PATH = `${early}:${dirname(own)}:${process.env.PATH}`;
  workspace.script('deploy', '#!/usr/bin/env speak\n# @description Speaks.\n# @param branch string Branch\necho own\n');
  const id = await askFor(workspace);
  const { approval } = json(await wield(workspace, ['approvals', 'approve', id, '--json']));
  expect(approval.programs).toContainEqual(expect.stringMatching(`^program ${own} sha256 [0-9a-f]{64}$`));
  expect((await wield(workspace, ['approvals', 'show', id])).stdout).toContain(`using     program ${own} sha256 `);
  const other = write(join(early, 'speak'), '#!/bin/sh\necho other\n');
  expect((await workspace.deploy()).status).toBe(5);
  rmSync(other);
  expect(await workspace.deploy()).toMatchObject({ status: 0, stdout: 'own\n' });
});

spec.thorough('POL-25', 'the hash of a large interpreter is kept, and not believed if it is damaged', async () => {
  const workspace = createAskingWorkspace();
  workspace.script('deploy', `#!${process.execPath}\n// @description Speaks.\n// @param branch string Branch\n`);
  await wield(workspace, ['approvals', 'approve', await askFor(workspace), '--always']);
  const call = async () => (await wieldProcess(workspace, ['call', 'deploy', '--branch', 'main'])).status;
  expect(await call()).toBe(0);
  const directory = join(workspace.env.WIELD_HOME!, 'cache/programs');
  const [name, ...others] = readdirSync(directory);
  expect(others).toEqual([]);
  const kept = join(directory, name!);
  expect(statSync(kept).mode & 0o777).toBe(0o600);
  const hash = readFileSync(kept, 'utf8');
  for (const damaged of ['', 'sha256', hash.slice(1), `${hash}0`]) {
    writeFileSync(kept, damaged);
    expect([damaged, await call()]).toEqual([damaged, 0]);
  }
  // It is used: another hash is another program.
  writeFileSync(kept, '0'.repeat(64));
  expect(await call()).toBe(5);
});

spec('POL-7', 'an approval shows the names of variables, and no values', async () => {
  const workspace = createAskingWorkspace();
  workspace.config('[trust]\nrules = "deploy"\n[env]\npass = ["DEPLOY_MODE"]\n');
  workspace.env.DEPLOY_MODE = 'quiet-mode';
  const id = await askFor(workspace);
  const shown = await wield(workspace, ['approvals', 'show', id]);
  expect(shown.stdout).toMatch(/^ {2}with .*\bDEPLOY_MODE\b.*\bPATH\b.*\bWIELD_PARAM_BRANCH\b/m);
  expect(shown.stdout).not.toContain('quiet-mode');
  const { approval } = json(await wield(workspace, ['approvals', 'show', id, '--json']));
  expect(approval.variables).toEqual(expect.arrayContaining(['DEPLOY_MODE', 'HOME', 'PATH', 'WIELD_WORKDIR']));
});
