// Tests of hints about tools that are not marked, and sound as if they should be.

import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const script = (header: string): string => `#!/bin/sh\n${header}\necho done\n`;

function createTools(): Workspace {
  const workspace = createWorkspace();
  for (const [name, header] of Object.entries({
    clean: '# @description Tidy up.',
    deleteAll: '# @description x',
    'site_deploy-now': '# @description x',
    old: '# @description Removes everything that is old.',
    wipe: '# @description x\n# @destructive',
    'clear-view': '# @description x\n# @readonly',
    cleaner: '# @description Shows what the cleaner did.',
    build: '# @description Build it. Does not delete anything.',
  }))
    workspace.script(name, script(header));
  return workspace;
}

describe.concurrent('a tool without marks', () => {
  spec('POL-38', 'is named by wield check if its words say that it destroys something', async () => {
    const workspace = createTools();
    workspace.write('.agents/skills/db/SKILL.md', '---\nname: db\ndescription: Databases.\n---\n');
    const tool = (name: string) => ({ name, description: 'x', parameters: { type: 'object', properties: {} } });
    const runs = (name: string, subcommand: string) => ({ tool: name, binary: 'dbtool', subcommand, args: [] });
    const declared = {
      tools: [tool('db_old'), tool('db_show')],
      allowlist: { dbtool: ['drop all', 'show'] },
      execution: [runs('db_old', 'drop all'), runs('db_show', 'show')],
    };
    workspace.write('.agents/skills/db/tools.json', JSON.stringify(declared));
    const { findings, errors } = json(await wield(workspace, ['check', '--json']));
    expect(errors).toBe(0);
    const named = findings
      .map(({ message }: { message: string }) => /^(\S+) has no marks.*"(\w+)"/.exec(message)?.slice(1))
      .filter((one: unknown) => one !== undefined);
    expect(Object.fromEntries(named)).toEqual({
      clean: 'clean',
      deleteAll: 'delete',
      'site_deploy-now': 'deploy',
      old: 'remove',
      db_old: 'drop',
    });
    const hintOf = (name: string) =>
      findings.find(({ message }: { message: string }) => message.startsWith(`${name} `)).hint;
    expect(hintOf('clean')).toContain('(@destructive)');
    // A tools.json has no mark.
    expect(hintOf('db_old')).toBe('add a rule: [trust] rules = ["db_old"] asks first');
    expect((await wield(workspace, ['check'])).stdout).toContain('[trust] rules = ["clean"] asks first');
  });

  spec('POL-38 POL-5', 'is still allowed, and wield explain says so for models', async () => {
    const workspace = createTools();
    await wield(workspace, ['trust', '--yes']);
    const explain = async (name: string, as: string) =>
      json(await wield(workspace, ['explain', name, '--as', as, '--json']));
    expect(await explain('clean', 'mcp')).toMatchObject({
      verdict: 'allow',
      note: {
        message: expect.stringContaining('"clean" may be destructive'),
        hint: expect.stringContaining('@destructive'),
      },
    });
    expect((await wield(workspace, ['explain', 'clean', '--as', 'mcp'])).stdout).toContain(
      "a model's call does not ask first",
    );
    expect(await explain('clean', 'user')).not.toHaveProperty('note');
    expect(await explain('build', 'mcp')).not.toHaveProperty('note');
    expect(await explain('wipe', 'mcp')).toMatchObject({ verdict: 'ask' });
    expect(await explain('wipe', 'mcp')).not.toHaveProperty('note');
  });

  spec('POL-38', 'is not named if a rule decides on it', async () => {
    const workspace = createTools();
    workspace.config('[trust]\nrules = ["clean", "deleteAll($policy=allow)", "*deploy*($deny)", "old"]\n');
    expect((await wield(workspace, ['check'])).stdout).not.toContain('has no marks');
  });
});
