// The script format: candidates, problems and published tools.

import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const HELLO = '#!/bin/sh\n# @description Say hello.\necho hello\n';

describe('candidates', () => {
  spec('SCR-1', 'lists files and links without a dot, and skips everything else', async () => {
    const workspace = createWorkspace();
    workspace.script('one', HELLO);
    workspace.script('.hidden', HELLO);
    workspace.script('notes.txt', 'notes');
    workspace.script('README.md', '# Tools\n\nOurs.\n');
    workspace.script('config.json', '{}');
    workspace.script('sub/inner', HELLO);
    const elsewhere = workspace.write('lib/two.sh', HELLO, 0o755);
    const tools = join(workspace.dir, '.agents/tools');
    symlinkSync(elsewhere, join(tools, 'two'));
    symlinkSync(join(workspace.dir, 'lib'), join(tools, 'lib'));
    symlinkSync('/nowhere', join(tools, 'gone.json'));
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['one', 'two']);
    expect(await toolbox.catalog.problems()).toEqual([]);
    expect((await toolbox.call('two', {})).content).toEqual([{ type: 'text', text: 'hello\n' }]);
  });

  spec('SCR-1', 'suggests dropping the extension of a script with a valid header', async () => {
    const workspace = createWorkspace();
    const path = workspace.script('mytool.sh', HELLO);
    const [problem, ...others] = await workspace.toolbox().catalog.problems();
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ path, severity: 'error', hint: 'rename it to "mytool"' });
  });

  for (const name of ['sp ace', '-dash', 'é', 'a'.repeat(65), 'semi;colon', 'file:x', "it's"]) {
    spec('SCR-1 TOOL-2', `reports a file named ${name.slice(0, 12)} with its path`, async () => {
      const workspace = createWorkspace();
      const path = workspace.script(name, HELLO);
      const toolbox = workspace.toolbox();
      expect(await toolbox.list()).toEqual([]);
      expect(await toolbox.catalog.problems()).toMatchObject([{ path, severity: 'error' }]);
    });
  }

  spec('SCR-2', 'shows chmod +x, or the line to add, in doctor', async () => {
    const workspace = createWorkspace();
    const plain = workspace.script('plain', HELLO, 0o644);
    workspace.script('bare', 'echo hello\n');
    const document = json(await wield(workspace, ['doctor', '--json']));
    expect(document.problems).toMatchObject([
      { message: expect.stringContaining('shebang'), hint: expect.stringContaining('#!/usr/bin/env bash') },
      { path: plain, message: 'not executable', hint: expect.stringContaining(`chmod +x ${plain}`) },
    ]);
    const called = await wield(workspace, ['call', 'plain']);
    expect(called.status).toBe(3);
    expect(called.stderr).toContain('chmod +x');
  });

  for (const mode of [0o100, 0o010, 0o001]) {
    spec('SCR-2', `lists a file with the execute bit ${mode.toString(8).padStart(3, '0')}`, async () => {
      const workspace = createWorkspace();
      workspace.script('one', HELLO, 0o644 | mode);
      expect(await workspace.toolbox().list()).toHaveLength(1);
    });
  }

  spec('SCR-3', 'reports a byte-order mark and a CR after the shebang with the byte and a fix', async () => {
    const workspace = createWorkspace();
    const marked = workspace.script('marked', `\ufeff${HELLO}`);
    const windows = workspace.script('windows', HELLO.replaceAll('\n', '\r\n'));
    const toolbox = workspace.toolbox();
    expect(await toolbox.list()).toEqual([]);
    expect(await toolbox.catalog.problems()).toMatchObject([
      { path: marked, message: expect.stringContaining('EF BB BF'), hint: expect.stringContaining(marked) },
      { path: windows, message: expect.stringContaining('0D'), hint: expect.stringContaining(windows) },
    ]);
  });

  spec('SCR-4', 'reports "missing @description" for a script with parameters', async () => {
    const workspace = createWorkspace();
    const path = workspace.script('mute', '#!/bin/sh\n# @param a string A\n');
    expect(await workspace.toolbox().catalog.problems()).toMatchObject([{ path, message: 'missing @description' }]);
  });

  spec('SCR-6 SCR-11', 'skips only a script with an invalid or colliding parameter', async () => {
    const workspace = createWorkspace();
    const header = (parameters: string) => `#!/bin/sh\n# @description D\n${parameters}\n`;
    workspace.script('double', header('# @param a string\n# @param a string'));
    workspace.script('bad', header('# @param 1a string'));
    workspace.script('proto', header('# @param *__proto__ string'));
    workspace.script('collide', header('# @param a-b string\n# @param a_b string'));
    workspace.script('good', HELLO);
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['bad', 'double', 'good']);
    expect((await toolbox.catalog.problems()).map((problem) => problem.path.split('/').pop())).toEqual([
      'bad',
      'collide',
      'double',
      'proto',
    ]);
  });

  spec('SCR-7', 'reads an unknown type as string, with a warning that quotes it', async () => {
    const workspace = createWorkspace();
    workspace.script('open', '#!/bin/sh\n# @description D\n# @param path FILE to read\n');
    const toolbox = workspace.toolbox();
    const tool = await toolbox.find('open');
    expect(tool.input.json).toMatchObject({
      properties: { path: { type: 'string', description: 'to read' } },
    });
    expect(await toolbox.catalog.problems()).toMatchObject([
      {
        severity: 'warning',
        message: expect.stringContaining('"FILE"'),
        hint: expect.stringContaining('string FILE'),
      },
    ]);
    expect((await wield(workspace, ['doctor'])).status).toBe(0);
  });
});

describe('published tools', () => {
  spec('SCR-8 TOOL-3', 'have parameters in header order, with type and description', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'many',
      [
        '#!/bin/sh',
        '# @description D',
        '# @param *zeta string Z',
        '# @param alpha int A',
        '# @param *mid list',
        '# @param '.concat('b bool B'),
      ].join('\n'),
    );
    workspace.script('none', HELLO);
    const shown = json(await wield(workspace, ['show', 'many', '--json']));
    expect(JSON.stringify(shown.input)).toBe(
      JSON.stringify({
        type: 'object',
        properties: {
          zeta: { type: 'string', description: 'Z' },
          alpha: { type: 'integer', description: 'A' },
          mid: { type: 'array', description: '' },
          b: { type: 'boolean', description: 'B' },
        },
        required: ['zeta', 'mid'],
      }),
    );
    expect((await workspace.toolbox().find('none')).input.json).toEqual({ type: 'object', properties: {} });
  });

  spec('SCR-5', 'have the other tags as traits; unknown tags are logged at debug level', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'full',
      [
        '#!/bin/sh',
        '# @description D',
        '# @author Ada',
        '# @group Ops',
        '# @tag Big Deal',
        '# @timeout 2m',
        '# @returns object What it did',
        '# @readonly',
        '# @example {}',
      ].join('\n'),
    );
    const lines: string[] = [];
    const tool = await workspace.toolbox({ debug: (line) => lines.push(line) }).find('full');
    expect(tool.traits).toEqual({
      group: 'Ops',
      tags: ['big', 'deal'],
      hidden: false,
      terminal: false,
      readOnly: true,
      timeoutMs: 120_000,
      examples: [{}],
    });
    expect(tool.output?.json).toEqual({ type: 'object', description: 'What it did' });
    expect(lines.join('\n')).toContain('unknown tag @author ignored');
  });

  spec('SCR-18', 'are sorted by name, by code unit', async () => {
    const workspace = createWorkspace();
    const names = ['b', 'A', 'a', '_', 'B', 'a-b', 'a_b', 'Z9', '9', 'aa', 'a0'];
    for (const name of names) workspace.script(name, HELLO);
    const sorted = [...names].sort((a, b) => (a < b ? -1 : 1));
    expect((await workspace.toolbox().list()).map((tool) => tool.name)).toEqual(sorted);
    const document = json(await wield(workspace, ['list', '--json'], { env: { LANG: 'de_DE.UTF-8' } }));
    expect(document.tools.map((tool: { name: string }) => tool.name)).toEqual(sorted);
  });

  spec('SCR-21', 'have the server name local, without a prefix, and are all allowed', async () => {
    const workspace = createWorkspace();
    mkdirSync(join(workspace.home, '.agents'), { recursive: true });
    workspace.script('one', HELLO);
    const document = json(await wield(workspace, ['list', '--json']));
    expect(document.tools).toMatchObject([{ name: 'one', server: 'local', format: 'script' }]);
    expect(json(await wield(workspace, ['show', 'one', '--json']))).toMatchObject({
      origin: { server: 'local', owner: 'workspace' },
      verdict: { verdict: 'allow', rule: null },
    });
  });
});
