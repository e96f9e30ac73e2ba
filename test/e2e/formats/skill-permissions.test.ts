// allowed-tools of a skill apply to its delegate, its code and the tools that it governs.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createCallbackRef, registerTool } from '../../../src/helpers.js';
import { textOf } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { connectStdio } from '../../support/clients.js';
import { writeSkill } from '../../support/commands.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from '../../support/modules.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

/** Calls the given tool and returns its result. */
const RELAY = `async ({ ref, input = {} }, { toolbox }) => {
  const { ok, error } = await toolbox.call(ref, input);
  return ok ? 'ran' : error.code;
}`;

interface PermissionWorkspace extends ModuleWorkspace {
  /** Left behind by whatever leaf ran. */
  readonly mark: string;
  /** What a tool that relays says of calling another, and whether that ran. */
  ask(toolbox: NodeToolbox, through: string, ref: string, input?: object): Promise<string>;
}

function createPermissionWorkspace(): PermissionWorkspace {
  const workspace = createModuleWorkspace();
  const mark = join(workspace.home, 'mark');
  for (const name of ['leaf', 'other', 'third'])
    workspace.script(name, shellScript(`: > ${mark}`, '@param op string What to do'));
  workspace.module('relay.tool.mjs', moduleText('relay', RELAY));
  return {
    ...workspace,
    mark,
    async ask(toolbox, through, ref, input = {}) {
      rmSync(mark, { force: true });
      const result = await toolbox.call(through, { ref, input }, MODEL);
      const said = result.error?.code ?? textOf(result);
      expect([through, ref, existsSync(mark)]).toEqual([through, ref, said === 'ran']);
      return said;
    },
  };
}

const INPUT = '  params: { ref: string, input: object }\n';
const code = (allowed: string): string =>
  `${allowed}\nmetadata:\n${INPUT}  delegate:\n    code: |\n${`export default ${RELAY}`.replace(/^/gm, '      ')}\n`;

describe('allowed-tools of a skill', () => {
  spec('SKL-4', 'apply to its delegate and nested calls', async () => {
    const workspace = createPermissionWorkspace();
    const toolbox = workspace.toolbox();
    const trip = (allowed: string): unknown =>
      writeSkill(workspace, 'trip', { header: `${allowed}\nmetadata:\n  delegate: relay` });
    for (const [allowed, leaf, other] of [
      ['', 'ran', 'ran'],
      ['allowed-tools: relay leaf', 'ran', 'denied'],
      ['allowed-tools: [relay, "{leaf,other}"]', 'ran', 'ran'],
      ['allowed-tools: relay', 'denied', 'denied'],
      ['allowed-tools: "* leaf($deny)"', 'denied', 'ran'],
      // The delegate is a call like any other.
      ['allowed-tools: leaf other', 'denied', 'denied'],
      ['allowed-tools: []', 'denied', 'denied'],
      // What cannot be read allows nothing.
      ['allowed-tools: "leaf("', 'denied', 'denied'],
      ['allowed-tools: 3', 'denied', 'denied'],
    ] as const) {
      trip(allowed);
      expect([allowed, await workspace.ask(toolbox, 'trip', 'leaf')]).toEqual([allowed, leaf]);
      expect([allowed, await workspace.ask(toolbox, 'trip', 'other')]).toEqual([allowed, other]);
    }
    // The list is the skill's: without it the same tool is free.
    expect(await workspace.ask(toolbox, 'relay', 'leaf')).toBe('ran');
  });

  spec('SKL-4 SKL-6', 'apply to its code, by name, path, URI and argument', async () => {
    const workspace = createPermissionWorkspace();
    const toolbox = workspace.toolbox();
    const leaf = join(workspace.dir, '.agents/tools/leaf');
    writeSkill(workspace, 'trip', { header: code('allowed-tools: leaf') });
    for (const ref of ['leaf', leaf, `file://${leaf}`]) expect(await workspace.ask(toolbox, 'trip', ref)).toBe('ran');
    for (const ref of ['other', join(leaf, '../other'), 'relay', 'trip', 'workdir'])
      expect(await workspace.ask(toolbox, 'trip', ref)).toMatch(/^(denied|not_found)$/);
    writeSkill(workspace, 'trip', { header: code('allowed-tools: leaf(op=log) other(op={push,reset})') });
    expect(await workspace.ask(toolbox, 'trip', 'leaf', { op: 'log' })).toBe('ran');
    expect(await workspace.ask(toolbox, 'trip', 'leaf', { op: 'push' })).toBe('denied');
    expect(await workspace.ask(toolbox, 'trip', 'leaf')).toBe('denied');
    expect(await workspace.ask(toolbox, 'trip', 'other', { op: 'push' })).toBe('ran');
  });

  spec.thorough(
    'SKL-4 RES-17',
    'of a main skill apply to the modules and registered tools that it governs',
    async () => {
      const workspace = createPermissionWorkspace();
      const toolbox = workspace.toolbox();
      const relay = async (
        { ref }: { ref: string },
        { toolbox: inner }: { toolbox: { call(ref: string, input: object): Promise<{ error?: { code: string } }> } },
      ) => (await inner.call(ref, {})).error?.code ?? 'ran';
      const params = { type: 'object', properties: { ref: { type: 'string' }, input: {} } } as const;
      registerTool(toolbox, { name: 'given', fn: relay, params });
      registerTool(toolbox, { name: 'bound', fn: relay, params, allowedTools: 'leaf third' });
      const callback = createCallbackRef(toolbox, 'back', relay);
      const throughs = ['relay', 'given', 'bound', callback];
      for (const through of throughs) expect(await workspace.ask(toolbox, through, 'leaf')).toBe('ran');
      expect(await workspace.ask(toolbox, 'bound', 'other')).toBe('denied');

      const main = (allowed: string): unknown =>
        workspace.write('SKILL.md', `---\nname: project\ndescription: x\nallowed-tools: ${allowed}\n---\nText.\n`);
      main('leaf other');
      for (const through of throughs) {
        expect(await workspace.ask(toolbox, through, 'leaf')).toBe('ran');
        expect(await workspace.ask(toolbox, through, 'third')).toBe('denied');
      }
      // Its own list and the one above it together.
      expect(await workspace.ask(toolbox, 'bound', 'other')).toBe('denied');
      main('other');
      for (const through of throughs) expect(await workspace.ask(toolbox, through, 'leaf')).toBe('denied');
      // A caller outside is not bound by what governs the tool.
      expect((await toolbox.call('leaf', {}, MODEL)).ok).toBe(true);
    },
  );

  spec.thorough('SKL-4 RES-17', 'of all levels are intersected, also over MCP', async () => {
    const workspace = createPermissionWorkspace();
    workspace.write('.agents/skills/notes/inner.tool.mjs', moduleText('inner', RELAY));
    writeSkill(workspace, 'base', { header: 'allowed-tools: leaf third' });
    writeSkill(workspace, 'notes', {
      header: 'allowed-tools: leaf other third\nmetadata:\n  $inherit: base',
    });
    workspace.write('.agents/SKILL.md', '---\nname: agents\ndescription: x\nallowed-tools: leaf other inner\n---\n');
    writeSkill(workspace, 'outer', {
      header: 'allowed-tools: inner leaf other third\nmetadata:\n  delegate: ../notes/inner.tool.mjs',
    });
    const toolbox = workspace.toolbox();
    const inner = join(workspace.dir, '.agents/skills/notes/inner.tool.mjs');
    const throughCode = async (ref: string): Promise<string> => textOf(await toolbox.call(inner, { ref, input: {} }));
    // notes and agents allow other, and base, which notes inherits from, does not.
    expect([await throughCode('leaf'), await throughCode('other'), await throughCode('third')]).toEqual([
      'ran',
      'denied',
      'denied',
    ]);
    expect(await workspace.ask(toolbox, 'outer', 'leaf')).toBe('ran');
    expect(await workspace.ask(toolbox, 'outer', 'other')).toBe('denied');
    writeSkill(workspace, 'outer', {
      header: 'allowed-tools: inner third\nmetadata:\n  delegate: ../notes/inner.tool.mjs',
    });
    expect(await workspace.ask(toolbox, 'outer', 'leaf')).toBe('denied');

    const client = await connectStdio(workspace, 'newer', []);
    const answer = await client.callTool({ name: 'outer', arguments: { ref: 'leaf', input: {} } });
    expect(answer.content).toEqual([{ type: 'text', text: 'denied' }]);
  });

  spec.thorough('SKL-4 POL-8', 'are not leaked: hints do not name other tools', async () => {
    const workspace = createPermissionWorkspace();
    const tell = `async ({ ref }, { toolbox }) => JSON.stringify((await toolbox.call(ref, {})).error)`;
    writeSkill(workspace, 'trip', {
      header: `allowed-tools: leaf\nmetadata:\n${INPUT}  delegate:\n    code: 'export default ${tell}'`,
    });
    const toolbox = workspace.toolbox();
    const said = textOf(await toolbox.call('trip', { ref: 'othr' }, MODEL));
    expect(said).toContain('not_found');
    expect(said).not.toContain('other');
    expect(textOf(await toolbox.call('trip', { ref: 'lea' }, MODEL))).toContain('leaf');
  });
});
