// Inline code of a skill: runs in the tool host with the trust of a module.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { writeSkill } from '../../support/commands.js';
import { createModuleWorkspace, hostsOf, untilNoHost } from '../../support/modules.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import type { Workspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;
const PARAMS = 'city: { type: string, required: true }, days: { type: integer, default: 3 }';

/** The header of a skill with code, indented as a block of YAML. */
function withCode(code: string, { params = PARAMS, more = '', before = '' } = {}): string {
  const block = code
    .trim()
    .split('\n')
    .map((line) => `      ${line}`)
    .join('\n');
  return `${before}metadata:\n  params: { ${params} }\n${more}  delegate:\n    code: |\n${block}\n`;
}

const GREET = `
import { greeting } from './greeting.ts';

interface Trip { city: string; days: number }

export default async ({ city, days }: Trip, { workdir }) =>
  ({ text: \`\${greeting} \${city} for \${days} days\`, workdir, pid: process.pid });
`;

function withTrip(workspace: Workspace, header = withCode(GREET)): string {
  workspace.write('.agents/skills/trip/greeting.ts', `export const greeting: string = 'To';\n`);
  return writeSkill(workspace, 'trip', { header });
}

describe('inline code of a skill', () => {
  spec('SKL-6', 'runs in the tool host with the parameters as input', async () => {
    const workspace = createModuleWorkspace();
    const path = withTrip(workspace);
    const toolbox = workspace.toolbox();
    expect(await toolbox.catalog.problems()).toEqual([]);
    const { ok, structured } = await toolbox.call('trip', { city: 'Oslo' });
    expect({ ok, structured }).toEqual({
      ok: true,
      structured: { text: 'To Oslo for 3 days', workdir: workspace.dir, pid: hostsOf(workspace)[0] },
    });
    expect((await toolbox.call('trip', {})).error?.code).toBe('invalid_input');
    expect((await toolbox.call('trip', { city: 'x', other: 1 })).error?.code).toBe('invalid_input');
    const { plan } = json(await wield(workspace, ['call', 'trip', 'Oslo', '--dry-run', '--json']));
    expect(plan).toMatchObject({ kind: 'module', file: path, inline: true, input: { city: 'Oslo' } });
    expect((await wield(workspace, ['call', 'trip', 'Oslo', '--days', '2'])).stdout).toContain('for 2 days');
  });

  spec.thorough('SKL-6 RES-2', 'is found as inline://<skill>, by name and by path', async () => {
    const workspace = createModuleWorkspace();
    const path = withTrip(workspace);
    const toolbox = workspace.toolbox();
    for (const ref of ['trip', 'inline://trip', path, join(path, '..'), `file://${path}`]) {
      const { origin, name } = await toolbox.find(ref);
      expect([ref, name, origin.uri, origin.directory]).toEqual([ref, 'trip', 'inline://trip', join(path, '..')]);
      expect([ref, (await toolbox.call(ref, { city: 'x' }, MODEL)).ok]).toEqual([ref, true]);
    }
    expect((await toolbox.call('inline://other', {})).error?.code).toBe('not_found');
    expect((await toolbox.call('inline://trip#part', {})).error?.code).toBe('not_found');
    // A skill gives way to a script of its name; its own URI still leads to it, and a model not past the name.
    workspace.script('trip', shellScript('echo script'));
    expect(textOf(await toolbox.call('trip', {}))).toBe('script\n');
    expect((await toolbox.call('inline://trip', { city: 'x' })).ok).toBe(true);
    expect((await toolbox.call('inline://trip', { city: 'x' }, MODEL)).error?.code).toBe('not_found');
  });

  spec.thorough('SKL-6 RES-2', 'of two skills with one name: a model only reaches the first', async () => {
    const workspace = createModuleWorkspace();
    const code = (word: string) => withCode(`export default () => '${word}';`, { params: '' });
    writeSkill(workspace, 'trip', { header: code('first') });
    const second = writeSkill(workspace, 'trip', { header: code('second'), place: 'skills' });
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('inline://trip', {}, MODEL))).toBe('first');
    expect((await toolbox.call(second, {}, MODEL)).error?.code).toBe('not_found');
    expect(textOf(await toolbox.call(second, {}))).toBe('second');
  });

  spec('SKL-6 POL-20', 'runs for a model only in a trusted workspace', async () => {
    const workspace = createModuleWorkspace({ trusted: false });
    const mark = join(workspace.home, 'mark');
    const header = withCode(
      `import { writeFileSync } from 'node:fs';\nwriteFileSync('${mark}', '');\nexport default () => 'ran';`,
      { params: '' },
    );
    writeSkill(workspace, 'trip', { header });
    const toolbox = workspace.toolbox();
    const listed = (await toolbox.list(MODEL)).map(({ name }) => name);
    expect(listed).toContain('trip');
    await toolbox.search('trip', 5);
    await toolbox.catalog.problems();
    await wield(workspace, ['show', 'trip']);
    await wield(workspace, ['check']);
    const shown = json(await wield(workspace, ['list', '--json'])).tools;
    expect(shown.find(({ name }: { name: string }) => name === 'trip').untrusted).toBe(true);
    for (const ref of ['trip', 'inline://trip'])
      expect((await toolbox.call(ref, {}, MODEL)).error?.code).toBe('needs_trust');
    const client = await connectStdio(workspace, 'newer', []);
    const refused = await client.callTool({ name: 'trip', arguments: {} });
    expect(refused._meta?.['wield/error']).toMatchObject({ code: 'needs_trust' });
    expect([existsSync(mark), hostsOf(workspace)]).toEqual([false, []]);
    workspace.trust();
    expect(textOf(await toolbox.call('trip', {}, MODEL))).toBe('ran');
    expect(existsSync(mark)).toBe(true);
  });

  spec.thorough('SKL-6', 'reflects edits of its file and imports', async () => {
    const workspace = createModuleWorkspace();
    withTrip(workspace);
    const toolbox = workspace.toolbox();
    const text = async () =>
      ((await toolbox.call('trip', { city: 'Oslo' })).structured as { text: string } | undefined)?.text;
    const { digest } = (await toolbox.find('trip')).origin;
    expect(await text()).toBe('To Oslo for 3 days');
    workspace.write('.agents/skills/trip/greeting.ts', `export const greeting: string = 'Off to';\n`);
    expect(await text()).toBe('Off to Oslo for 3 days');
    const changed = (await toolbox.find('trip')).origin.digest;
    expect(changed).not.toBe(digest);
    // What it takes is part of what was approved.
    withTrip(workspace, withCode(GREET, { params: `${PARAMS}, fast: boolean` }));
    workspace.write('.agents/skills/trip/greeting.ts', `export const greeting: string = 'Off to';\n`);
    expect((await toolbox.find('trip')).origin.digest).not.toBe(changed);
    writeSkill(workspace, 'trip');
    expect(textOf(await toolbox.call('trip', {}))).toBe('Text of trip.\n');
    rmSync(join(workspace.dir, '.agents/skills/trip'), { recursive: true });
    expect((await toolbox.call('trip', {})).error?.code).toBe('not_found');
  });

  spec.thorough('SKL-6', 'fails with the line of SKILL.md', async () => {
    const workspace = createModuleWorkspace();
    const path = withTrip(workspace, withCode('const here = 1;\nmissing();\nexport default () => here;'));
    const toolbox = workspace.toolbox();
    const { error } = await toolbox.call('trip', { city: 'x' });
    // Three lines of header, then metadata, params, delegate and code.
    expect(error).toMatchObject({
      code: 'exec_failed',
      message: expect.stringContaining(`${path}:9: ReferenceError: missing is not defined`),
    });
    withTrip(workspace, withCode('export default 3;'));
    expect((await toolbox.call('trip', { city: 'x' })).error).toMatchObject({
      code: 'exec_failed',
      message: expect.stringContaining('exports no function'),
      hint: expect.stringContaining('export default'),
    });
  });

  spec('SKL-6', 'without a default export is a problem in doctor and check, and can be read', async () => {
    const workspace = createModuleWorkspace();
    const path = writeSkill(workspace, 'trip', { header: withCode('return 1;', { params: '' }) });
    const toolbox = workspace.toolbox();
    const message = expect.stringContaining('code without a default export');
    expect(await toolbox.catalog.problems()).toMatchObject([{ severity: 'error', path, message }]);
    expect((await toolbox.call('trip', {})).error?.code).toBe('not_found');
    expect((await toolbox.call('read_skill', { skill_name: 'trip' })).ok).toBe(true);
    expect(json(await wield(workspace, ['check', '--json'])).findings).toMatchObject([{ level: 'error', message }]);
  });

  spec.thorough('SKL-6 MOD-15', 'that ends its process or hangs only fails that call', async () => {
    const workspace = createModuleWorkspace();
    withTrip(workspace, withCode('export default () => process.exit(3);', { params: '' }));
    writeSkill(workspace, 'slow', {
      header: withCode('export default () => new Promise(() => {});', {
        params: '',
        more: '  timeout: 500ms\n',
      }),
    });
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('trip', {})).error?.code).toBe('exec_failed');
    expect((await toolbox.call('slow', {})).error).toMatchObject({
      code: 'timeout',
      data: { timeoutMs: 500 },
    });
    withTrip(workspace);
    expect((await toolbox.call('trip', { city: 'x' })).ok).toBe(true);
    await toolbox.close();
    await untilNoHost(workspace);
  });

  spec('SKL-6 POL-8', 'that a rule denies is not shown to a model, including its text', async () => {
    const workspace = createModuleWorkspace();
    withTrip(workspace);
    writeSkill(workspace, 'guide', { text: 'See :skill[trip] and :tool[trip] or :tool[inline://trip].\n' });
    const toolbox = workspace.toolbox();
    expect(await toolbox.workspace.instructions()).toContain('trip');
    expect(textOf(await toolbox.call('guide', {}, MODEL))).toContain('See `trip` (About trip.) and `trip`');
    workspace.config('[trust]\nrules = ["trip($deny)"]\n');
    expect(await toolbox.workspace.instructions()).not.toContain('trip');
    expect((await toolbox.list(MODEL)).map(({ name }) => name)).not.toContain('trip');
    expect(textOf(await toolbox.call('guide', {}, MODEL))).toBe(
      'See :skill[trip] and :tool[trip] or :tool[inline://trip].\n',
    );
    for (const ref of ['trip', 'inline://trip'])
      expect((await toolbox.call(ref, { city: 'x' }, MODEL)).error?.code).toBe('denied');
    expect((await toolbox.call('read_skill', { skill_name: 'trip' }, MODEL)).error?.code).toBe('not_found');
  });
});
