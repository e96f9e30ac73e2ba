// What skills and programs of agent-apps rely on: argument order, the library's main skill, and warnings for the rest.

import { describe, expect } from 'vitest';
import { findAuthority, registerTool } from '../../../src/helpers.js';
import { createToolbox, textOf } from '../../../src/index.js';
import { writeSkill } from '../../support/commands.js';
import { finding } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

describe('from agent-apps', () => {
  finding('001-76 RES-9', 'fn takes the context first if its order says so', async () => {
    const toolbox = createToolbox({ tools: [] });
    const params = { type: 'object', properties: { a: { type: 'string' } } };
    const show = (one: unknown, two: unknown): string =>
      [one, two]
        .map((value) => ('toolbox' in (value as object) ? 'toolbox' : Object.keys(value as object).join()))
        .join();
    registerTool(toolbox, { name: 'input-first', params, fn: show as never });
    registerTool(toolbox, { name: 'context-first', params, order: 'context-first', fn: show as never });
    expect(textOf(await toolbox.call('input-first', { a: 'x' }))).toBe('a,toolbox');
    expect(textOf(await toolbox.call('context-first', { a: 'x' }))).toBe('toolbox,a');
    expect(() => registerTool(toolbox, { name: 'odd', fn: show as never, order: 'other' as never })).toThrow(/order/);
  });

  finding(
    '001-49 RES-16',
    'without a main skill of the project, that of a library governs tools that are not on disk',
    async () => {
      const workspace = createWorkspace();
      workspace.write('../library/SKILL.md', '---\nname: library\ndescription: x\n---\n');
      const tools = [{ name: 'given', description: 'x', execute: () => 1 }];
      const toolbox = workspace.toolbox({ tools, paths: ['...', { external: `${workspace.dir}/../library` }] });
      expect((await findAuthority(toolbox, 'given'))?.name).toBe('library');
      workspace.write('SKILL.md', '---\nname: project\ndescription: x\n---\n');
      expect((await findAuthority(toolbox, 'given'))?.name).toBe('project');
      expect(await findAuthority(workspace.toolbox({ tools }), 'given')).toMatchObject({ name: 'project' });
    },
  );

  finding('001-39 001-40 001-41', 'promotions and interpolated metadata are warnings', async () => {
    const workspace = createWorkspace();
    const path = writeSkill(workspace, 'odd', {
      header: 'metadata:\n  $local: [a]\n  $global: [b]\n  params: { t: string }\n  timeout: "{{args.t}}"',
    });
    const toolbox = workspace.toolbox();
    const problems = await toolbox.catalog.problems();
    expect(problems.map(({ path: at, severity, message }) => [at, severity, message])).toEqual([
      [path, 'warning', 'metadata.$local has no effect'],
      [path, 'warning', 'metadata.$global has no effect'],
      [path, 'warning', 'metadata.timeout "{{args.t}}" is not a duration'],
    ]);
    expect(problems[2]?.hint).toContain('inserted into the text');
    expect(textOf(await toolbox.call('odd', { t: '1s' }))).toBe('Text of odd.\n');
  });
});
