// `wield check`: findings and exit statuses for skills, directories and workspaces.

import { symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { createSkillWorkspace, declare, type SkillWorkspace } from '../../support/commands.js';
import { finding, spec } from '../../support/spec.js';

interface Finding {
  readonly level: string;
  readonly path: string;
  readonly pointer: string;
  readonly message: string;
  readonly hint: string;
}

async function check(workspace: SkillWorkspace, ...args: string[]) {
  const run = await wield(workspace, ['check', ...args, '--json']);
  return { ...json(run), status: run.status } as {
    ok: boolean;
    status: number;
    checked: number;
    errors: number;
    warnings: number;
    findings: Finding[];
  };
}

function withSkill(descriptor: unknown, more: Record<string, unknown> = {}): SkillWorkspace {
  const workspace = createSkillWorkspace();
  workspace.skill('notes', { 'tools.json': descriptor, ...more });
  return workspace;
}

describe('errors', () => {
  const misspelt = {
    ...declare([{ param: 'query' }], { tool: 'search', binary: 'notesmd-cli', subcommand: 'serch' }),
    allowlist: { 'notesmd-cli': ['search'] },
  };

  spec('TJS-4 TJS-3', 'a misspelt subcommand is an error with its position and a suggestion', async () => {
    const workspace = withSkill(misspelt);
    const { ok, status, checked, errors, warnings, findings } = await check(workspace, '.agents/skills/notes');
    expect({ ok, status, checked, errors, warnings }).toEqual({
      ok: true,
      status: 1,
      checked: 1,
      errors: 1,
      warnings: 0,
    });
    expect(findings).toEqual([
      {
        level: 'error',
        path: 'notes/tools.json',
        pointer: '/execution/0/subcommand',
        message: '"serch" is not in allowlist["notesmd-cli"]',
        hint: 'did you mean "search"?',
      },
    ]);
    const run = await wield(workspace, ['check', '.agents/skills/notes']);
    expect([run.status, run.stdout]).toEqual([
      1,
      `  notes/tools.json
    error    /execution/0/subcommand  "serch" is not in allowlist["notesmd-cli"]
             hint  did you mean "search"?
  1 error, 0 warnings
`,
    ]);
  });

  finding('N19 TJS-4', 'warnings are reported beside errors of the same file, except what nothing uses', async () => {
    const { tools, allowlist, execution } = declare([{ param: 'ref' }, { param: 'nope' }], {
      tool: 'history',
      binary: 'git',
      subcommand: 'log',
    });
    const broken = [
      [{ ...misspelt.execution[0], subcommand: 'serch' }, 'error /execution/1/subcommand'],
      [{ ...misspelt.execution[0], kind: 'nope' }, 'error /execution/1/kind'],
    ] as const;
    for (const [second, error] of broken) {
      const workspace = withSkill({
        tools: [...tools, ...misspelt.tools],
        allowlist: { ...allowlist, ...misspelt.allowlist },
        execution: [...execution, second],
      });
      const { findings } = await check(workspace, '.agents/skills/notes');
      const shown = findings.map(({ level, pointer }) => `${level} ${pointer}`);
      expect(shown.filter((line) => line.startsWith('error'))).toEqual([error]);
      expect(shown).toContain('warning /allowlist/git');
      expect(findings.filter(({ message }) => message.includes('never'))).toEqual([]);
    }
  });

  spec('TJS-4 SKL-1', 'checks the whole workspace by default', async () => {
    const workspace = withSkill(misspelt);
    workspace.skill('good', { 'tools.json': declare([{ param: 'a' }], { tool: 'good' }) });
    workspace.write('.agents/skills/bad/SKILL.md', 'no frontmatter\n');
    workspace.write('.agents/skills/case/skill.md', '---\nname: case\ndescription: x\n---\n');
    workspace.write('skills/second/SKILL.md', '---\nname: second\n---\n');
    workspace.write('.agents/skills/none/README.md', '');
    const { status, checked, errors, findings } = await check(workspace);
    expect({ status, checked, errors }).toEqual({ status: 1, checked: 5, errors: 4 });
    expect(findings.map(({ path, message }) => [path, message])).toEqual([
      ['.agents/skills/bad/SKILL.md', 'has no frontmatter'],
      ['.agents/skills/case/skill.md', 'not listed: the name must be SKILL.md'],
      ['.agents/skills/notes/tools.json', '"serch" is not in allowlist["notesmd-cli"]'],
      ['skills/second/SKILL.md', 'has no description'],
    ]);
    expect((await check(workspace, '.agents/skills')).errors).toBe(3);
  });

  spec(
    'TJS-4 RES-40',
    'checks the workspace from a directory below it, a source there, and what a link names',
    async () => {
      const workspace = withSkill(misspelt);
      const below = (directory: string, ...args: string[]) =>
        wield(workspace, ['check', ...args, '--json'], { cwd: join(workspace.dir, directory) });
      const found = json(await wield(workspace, ['check', '--json']));
      expect(found).toMatchObject({ checked: 1, errors: 1 });
      workspace.write('src/deep/note.txt', '');
      workspace.write('source/wield.toml', '[source]\n');
      workspace.write('source/skills/other/SKILL.md', 'no frontmatter\n');
      expect(json(await below('src/deep'))).toEqual(found);
      expect(json(await below('source')).findings).toMatchObject([{ path: 'skills/other/SKILL.md' }]);
      expect(json(await below('.', '--cwd', 'src/deep'))).toMatchObject({ checked: 0 });
      workspace.write('.agents/tools/broken', '#!/bin/sh\n# @param x\n', 0o755);
      symlinkSync('.agents/tools', join(workspace.dir, 'link'));
      const ofTools = json(await below('.', '.agents/tools'));
      expect(ofTools).toMatchObject({ checked: 1, errors: 1 });
      expect(json(await below('.', 'link'))).toEqual(ofTools);
    },
  );

  finding('D5 TJS-4', 'reports what a listing reports about other files of a workspace', async () => {
    const workspace = createSkillWorkspace();
    workspace.write('.agents/tools/pets.openapi.json', '{\n "openapi": "3.0.0",\n "paths": {,}\n}');
    workspace.write('.agents/config.toml', '[trust]\nrules = [\n');
    workspace.write('.mcp.json', '{ "mcpServers": }');
    workspace.write('skills/slow.md', '---\nname: slow\ndescription: x\nmetadata:\n  timeout: soon\n---\n');
    const shown = (findings: readonly Finding[]) => findings.map(({ level, path }) => `${level} ${path}`).sort();
    const expected = [
      'error .agents/config.toml',
      'error .agents/tools/pets.openapi.json',
      'error .mcp.json',
      'warning skills/slow.md',
    ];
    expect(shown((await check(workspace)).findings)).toEqual(expected);
    // From elsewhere too.
    const other = await wield({ ...workspace, dir: workspace.home }, ['check', workspace.dir, '--json']);
    expect([other.status, shown(json(other).findings)]).toEqual([1, expected]);
  });

  finding('D5', 'checks the plugins of a marketplace', async () => {
    const workspace = createSkillWorkspace();
    const plugins = [{ name: 'alpha', source: './plugins/alpha' }];
    workspace.write('market/.claude-plugin/marketplace.json', JSON.stringify({ name: 'm', plugins }));
    const skill = workspace.write('market/plugins/alpha/skills/one/SKILL.md', '---\nname: one\ndescription: x\n---\n');
    symlinkSync('/etc/hostname', join(dirname(skill), 'out'));
    const { checked, findings } = await check(workspace, 'market');
    expect(checked).toBeGreaterThan(0);
    const message = expect.stringContaining('leads out of its directory');
    expect(findings.at(-1)).toMatchObject({ level: 'error', path: 'plugins/alpha/skills/one', message });
  });

  spec('TJS-1', 'in the split layout a finding has the path of its file', async () => {
    const { tools, execution } = misspelt;
    const workspace = withSkill(tools, { 'allowlist.json': misspelt.allowlist, 'execution.json': execution });
    const { findings } = await check(workspace, '.agents/skills/notes');
    expect(findings).toMatchObject([{ path: 'notes/execution.json', pointer: '/0/subcommand' }]);
  });

  spec('SKL-1', 'a missing directory is not_found, an empty one is fine', async () => {
    const workspace = createSkillWorkspace();
    const missing = await wield(workspace, ['check', 'nowhere', '--json']);
    expect([missing.status, json(missing).error.code]).toEqual([3, 'not_found']);
    const file = await wield(workspace, ['check', workspace.write('src/a.txt', ''), '--json']);
    expect([file.status, json(file).error]).toEqual([
      2,
      {
        code: 'usage',
        message: `not a directory: ${join(workspace.dir, 'src/a.txt')}`,
        hint: `check the directory that it is in: wield check ${join(workspace.dir, 'src')}`,
      },
    ]);
    const empty = await wield(workspace, ['check']);
    expect([empty.status, empty.stdout]).toEqual([0, '  0 files checked, no problems\n']);
  });
});

describe('advice', () => {
  const adviceOn = async (descriptor: unknown, more: Record<string, unknown> = {}) => {
    const { status, errors, findings } = await check(withSkill(descriptor, more), join('.agents', 'skills', 'notes'));
    expect([status, errors]).toEqual([0, 0]);
    return findings.map(({ level, path, pointer, message, hint }) => {
      expect([level, hint === '']).toEqual(['warning', false]);
      return [path, pointer, message];
    });
  };

  spec('TJS-12 TJS-15', 'warns about a program that runs programs through a free argument', async () => {
    const git = (schema: object) =>
      declare([{ param: 'ref' }], { binary: 'git', subcommand: 'show', properties: { ref: schema } });
    expect(await adviceOn(git({ type: 'string' }))).toEqual([
      ['notes/tools.json', '/allowlist/git', '"git" can run programs through its arguments'],
    ]);
    for (const bound of [
      { enum: ['HEAD'] },
      { type: 'string', pattern: '^[a-z]+$' },
      { type: 'integer' },
      { const: 'x' },
    ])
      expect(await adviceOn(git(bound))).toEqual([]);
    const { tools, allowlist, execution } = git({ type: 'string' });
    expect(await adviceOn(tools, { 'allowlist.json': allowlist, 'execution.json': execution })).toEqual([
      ['notes/allowlist.json', '/git', '"git" can run programs through its arguments'],
    ]);
  });

  spec('TJS-15', 'warns about unused subcommands and parameters', async () => {
    const descriptor = declare([{ param: 'a' }], {
      allowlist: { args: ['', 'push'], other: ['x'] },
      properties: { dead: { type: 'string' }, seen: { type: 'string' } },
      execution: { hintConditions: [{ whenArg: { seen: 'x' }, hint: 'h' }] },
    });
    expect(await adviceOn(descriptor)).toEqual([
      ['notes/tools.json', '/allowlist/args/1', '"push" is never used'],
      ['notes/tools.json', '/allowlist/other/0', '"x" is never used'],
      ['notes/tools.json', '/tools/0/parameters/properties/dead', '"dead" of run is never passed to the command'],
    ]);
  });

  spec('TJS-11 TJS-18', 'warns about normalizeNewlines and resolvers that fail silently', async () => {
    const keep = { binary: 'args', args: ['$param'] };
    const advice = await adviceOn(
      declare([
        { param: 'a', normalizeNewlines: true },
        { param: 'b', resolveCommand: keep },
        { param: 'c', resolveCommand: { ...keep, onFailure: 'reject' } },
      ]),
    );
    const messages = advice.map(([, , message]) => message).filter((message) => !message?.includes('would move up'));
    expect(messages).toEqual([
      expect.stringContaining('normalizeNewlines turns a typed \\n in "a" into a newline'),
      expect.stringContaining('if the resolver of "b" fails, the original value is used'),
    ]);
  });

  spec('TJS-2', 'warns about a tool without a description', async () => {
    const descriptor = declare([]);
    const bare = { ...descriptor, tools: descriptor.tools.map(({ description: _, ...tool }) => tool) };
    expect(await adviceOn(bare)).toEqual([['notes/tools.json', '/tools/0', '"run" has no description']]);
  });
});

describe('scripts', () => {
  spec('SCR-7', 'warns about an unknown type in a script header', async () => {
    const workspace = createSkillWorkspace();
    workspace.script('typed', '#!/bin/sh\n# @description Typed.\n# @param count how many\n');
    workspace.script('silent', '#!/bin/sh\n# @param count integer How many\n');
    const { status, errors, warnings, findings } = await check(workspace);
    expect({ status, errors, warnings }).toEqual({ status: 1, errors: 1, warnings: 1 });
    expect(findings).toMatchObject([
      { level: 'error', path: '.agents/tools/silent', message: 'missing @description' },
      {
        level: 'warning',
        path: '.agents/tools/typed',
        message: expect.stringContaining('unknown type "how"'),
      },
    ]);
    expect((await check(workspace, '.agents/tools')).findings).toHaveLength(2);
    workspace.script('silent', '#!/bin/sh\n# @description Not any more.\n');
    expect((await check(workspace)).status).toBe(0);
  });
});
