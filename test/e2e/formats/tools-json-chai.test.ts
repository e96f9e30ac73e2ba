// Descriptors that were written for chai: what differs between its versions, and what it forgives.

import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { createSkillWorkspace, declare } from '../../support/commands.js';
import { finding } from '../../support/spec.js';

function withTools(document: ReturnType<typeof declare>, split = false) {
  const workspace = createSkillWorkspace();
  const { tools, allowlist, execution } = document;
  const files = { 'tools.json': tools, 'allowlist.json': allowlist, 'execution.json': execution };
  workspace.skill('notes', split ? files : { 'tools.json': document });
  return workspace;
}

describe('a descriptor of chai', () => {
  finding('002-17 TJS-6', 'splits a subcommand at spaces in every version, also that of a resolver', async () => {
    const seed = declare([{ param: 'q' }], { subcommand: 'search  content' });
    const later = declare([{ param: 'q', optional: true }], { subcommand: 'search  content' });
    const run = async (document: typeof seed, split = false) =>
      (await withTools(document, split).toolbox().call('run', { q: 'x y' })).structured;
    for (const found of [await run(seed), await run(later), await run(seed, true)])
      expect(found).toEqual(['search', 'content', 'x y']);
    const resolveCommand = { binary: 'args', subcommand: 'skill discover', args: ['$param'] };
    const resolved = declare([{ param: 'q', resolveCommand }], {
      allowlist: { args: ['', 'skill discover'] },
    });
    expect(await run(resolved)).toEqual(['["skill","discover","x y"]']);
    expect((await wield(withTools(seed), ['check'])).stdout).not.toContain('search');
  });

  finding('002-9 TJS-4', 'may map parameters that it does not declare, with a warning', async () => {
    const document = declare([{ param: 'a' }, { param: 'path', kind: 'flag' }]);
    delete (document.tools[0]!.parameters.properties as Record<string, unknown>).path;
    const workspace = withTools(document);
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('run', { a: 'x' })).structured).toEqual(['x']);
    expect((await toolbox.call('run', { a: 'x', path: 'y' })).error?.code).toBe('invalid_input');
    expect(await toolbox.catalog.problems()).toMatchObject([
      {
        severity: 'warning',
        pointer: '/execution/0/args/1/param',
        message: expect.stringContaining('"path" is not a parameter'),
      },
    ]);
    expect(json(await wield(workspace, ['check', '--json']))).toMatchObject({ errors: 0 });
  });

  finding('R9 SKL-3', 'a skill and its tool may have one name', async () => {
    const workspace = createSkillWorkspace();
    const document = JSON.stringify(declare([{ param: 'path' }])).replaceAll('"run"', '"notes"');
    workspace.write('.agents/skills/notes/tools.json', document);
    workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: How.\n---\nHow to.\n');
    expect((await wield(workspace, ['doctor'])).status).toBe(0);
    expect((await wield(workspace, ['check'])).stdout).toContain('no problems');
    expect((await wield(workspace, ['call', 'notes', '--path', 'x'])).stdout).toBe('["x"]\n');
    expect((await wield(workspace, ['call', 'read_skill', 'notes'])).stdout).toContain('How to.');
  });

  finding('002-20 TJS-7', 'refuses a missing positional before a given one', async () => {
    const workspace = withTools(declare([{ param: 'path' }, { param: 'content' }], { subcommand: 'create' }));
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('run', { path: 'a', content: 'b' })).structured).toEqual(['create', 'a', 'b']);
    expect((await toolbox.call('run', { path: 'a' })).structured).toEqual(['create', 'a']);
    for (const input of [{ content: 'hello' }, { content: 'hello', path: null }])
      expect((await toolbox.call('run', input)).error).toMatchObject({
        code: 'invalid_input',
        message: 'missing parameter "path": it comes before "content" on the command line',
      });
    expect((await wield(workspace, ['check'])).stdout).toContain('without "path" the arguments after it would move up');
    const optional = withTools(declare([{ param: 'path', optional: true }, { param: 'content' }]));
    expect((await optional.toolbox().call('run', { content: 'b' })).structured).toEqual(['b']);
  });

  finding('002-30 TJS-9 RUN-4', 'takes "TRUE" and 1 as true', async () => {
    const document = declare([{ param: 'on', kind: 'flagifboolean', flagIfTrue: '--on', flagIfFalse: '--off' }], {
      properties: { on: { type: 'boolean' } },
    });
    const toolbox = withTools(document).toolbox();
    for (const on of [true, 'true', 'TRUE', 'True', 1])
      expect((await toolbox.call('run', { on })).structured).toEqual(['--on']);
    for (const on of [false, 'FALSE', 0]) expect((await toolbox.call('run', { on })).structured).toEqual(['--off']);
    expect((await toolbox.call('run', { on: 1 })).meta.repaired).toEqual([{ path: '/on', repair: 'taken as boolean' }]);
    for (const on of ['yes', 1.5, '1']) expect((await toolbox.call('run', { on })).error?.code).toBe('invalid_input');
  });
});
