// `trust`, `middleware` and `paths` of skills: they apply to what a skill governs, and only narrow.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { registerTool } from '../../../src/helpers.js';
import { textOf } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { createSkillWorkspace, declare, writeSkill } from '../../support/commands.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from '../../support/modules.js';
import { shellScript } from '../../support/shell-script.js';
import { finding, spec } from '../../support/spec.js';
import type { Workspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;
const PERSON = { caller: { kind: 'person', door: 'cli' } } as const;

/** A `SKILL.md` at the root of a directory below the workdir. */
function govern(workspace: Workspace, header: string, directory = '.'): string {
  return workspace.write(join(directory, 'SKILL.md'), `---\nname: main\ndescription: x\n${header}\n---\nText.\n`);
}

interface RuledWorkspace extends ModuleWorkspace {
  /** Left behind by the script `wipe`. */
  readonly mark: string;
  /** The code of a call's error, or `ran`; checks that nothing ran otherwise. */
  ask(toolbox: NodeToolbox, ref: string, options?: object): Promise<string>;
}

function createRuledWorkspace(): RuledWorkspace {
  const workspace = createModuleWorkspace();
  const mark = join(workspace.home, 'mark');
  workspace.script('wipe', shellScript(`: > ${mark}`));
  workspace.module('relay.tool.mjs', moduleText('relay', RELAY));
  return {
    ...workspace,
    mark,
    async ask(toolbox, ref, options = PERSON) {
      rmSync(mark, { force: true });
      const result = await toolbox.call(ref, {}, options);
      const said = result.error?.code ?? (textOf(result).trim() || 'ran');
      expect([ref, said, existsSync(mark)]).toEqual([ref, said, said === 'ran']);
      return said;
    },
  };
}

/** Calls `wipe` and returns the code of its error. */
const RELAY = `async (_, { toolbox }) => {
  const { error } = await toolbox.call('wipe', {});
  return error?.code ?? 'ran';
}`;

const trust = (rules: string): string => `metadata:\n  trust:\n    rules: ${JSON.stringify(rules)}`;

describe('trust rules of a skill', () => {
  spec('POL-36', 'are named as what would have to change, with their file and line', async () => {
    const workspace = createRuledWorkspace();
    const file = govern(workspace, 'trust:\n  rules: "wipe($deny) *"');
    const denied = await wield(workspace, ['call', 'wipe']);
    expect(denied.stderr).toContain(`no configuration can allow it, only a change of ${file}:5`);
    rmSync(file);
    workspace.write(
      'skills/narrow/SKILL.md',
      '---\nname: narrow\ndescription: x\nallowed-tools: other\nmetadata: { delegate: wipe }\n---\n',
    );
    const listed = await wield(workspace, ['call', 'narrow']);
    expect(listed.stderr).toContain('no configuration can allow it, only a change of allowed-tools of narrow');
    // One in the configuration is not.
    workspace.config('[trust]\nrules = ["wipe($deny)"]\n');
    expect((await wield(workspace, ['call', 'wipe'])).stderr).toContain('the configuration can allow it');
  });

  finding('001-89 RES-44', 'ask for calls of the tools it governs', async () => {
    const workspace = createRuledWorkspace();
    const toolbox = workspace.toolbox();
    expect(await workspace.ask(toolbox, 'wipe')).toBe('ran');
    const rules = '#meta-internal($policy=allow) *';
    for (const header of [
      trust(rules),
      `trust:\n  rules: "${rules}"`,
      `metadata: { trust: { rules: ["${rules}"] } }`,
    ]) {
      govern(workspace, header);
      for (const options of [PERSON, MODEL]) {
        expect([header, await workspace.ask(toolbox, 'wipe', options)]).toEqual([header, 'needs_approval']);
        expect([header, await workspace.ask(toolbox, 'relay', options)]).toEqual([header, 'needs_approval']);
      }
      // Built-in tools have the reserved tag, which no file can claim.
      expect((await toolbox.call('workdir', {}, PERSON)).ok).toBe(true);
    }
    const run = await wield(workspace, ['call', 'wipe']);
    expect([run.status, existsSync(workspace.mark)]).toEqual([5, false]);
    expect(await workspace.ask(toolbox, 'wipe', { ...PERSON, approve: async () => 'once' })).toBe('ran');
    const explained = json(await wield(workspace, ['explain', 'wipe', '--json']));
    expect(explained).toMatchObject({ verdict: 'ask', rule: { text: '*', file: join(workspace.dir, 'SKILL.md') } });
  });

  spec('RES-44', 'apply to calls that the skill makes', async () => {
    const workspace = createRuledWorkspace();
    const toolbox = workspace.toolbox();
    const code = `  delegate:\n    code: |\n      export default ${RELAY.replace(/\n/g, '\n      ')}\n`;
    for (const [rules, expected] of [
      ['wipe($deny)', 'denied'],
      ['wipe', 'needs_approval'],
      ['other', 'ran'],
    ] as const) {
      writeSkill(workspace, 'indirect', { header: `${trust(rules)}\n  delegate: wipe` });
      writeSkill(workspace, 'direct', { header: `${trust(rules)}\n${code}` });
      for (const name of ['indirect', 'direct'])
        expect([rules, name, await workspace.ask(toolbox, name)]).toEqual([rules, name, expected]);
      expect(await workspace.ask(toolbox, 'wipe')).toBe('ran');
      // Rules of an outer skill stay in force for tools that other tools call.
      writeSkill(workspace, 'outer', { header: `${trust(rules)}\n  delegate: relay` });
      expect([rules, await workspace.ask(toolbox, 'outer')]).toEqual([rules, expected]);
    }
  });

  spec('RES-44', 'cannot allow what the configuration, a hint or another level restricts', async () => {
    const allow = trust('*($policy=allow) wipe($policy=allow)');
    for (const [user, project, expected] of [
      ['[trust]\nrules = "wipe($deny)"\n', '', 'denied'],
      ['[trust]\nrules = "wipe($policy=deny)"\n', '', 'denied'],
      ['[trust]\nrules = "wipe"\n', '', 'needs_approval'],
      ['allowed-tools = "other relay direct"\n', '', 'denied'],
      ['', '[trust]\nrules = "wipe"\n', 'needs_approval'],
      ['', 'allowed-tools = "other relay direct"\n', 'denied'],
    ] as const) {
      const workspace = createRuledWorkspace();
      workspace.config(user);
      workspace.write('.agents/config.toml', project);
      workspace.trust();
      govern(workspace, allow);
      govern(workspace, allow, '.agents/tools');
      writeSkill(workspace, 'direct', { header: `${allow}\n  delegate: wipe` });
      const toolbox = workspace.toolbox();
      for (const ref of ['wipe', 'relay', 'direct'])
        for (const options of [PERSON, MODEL])
          expect([user, project, ref, await workspace.ask(toolbox, ref, options)]).toEqual([
            user,
            project,
            ref,
            expected,
          ]);
    }
    const workspace = createRuledWorkspace();
    workspace.script('wipe', shellScript(`: > ${workspace.mark}`, '@destructive'));
    govern(workspace, allow, '.agents/tools');
    const toolbox = workspace.toolbox();
    expect(await workspace.ask(toolbox, 'wipe', MODEL)).toBe('needs_approval');
    // A nearer level does not replace the rules of one further up.
    govern(workspace, trust('wipe($policy=deny)'));
    expect(await workspace.ask(toolbox, 'wipe')).toBe('denied');
    // $inherit: false stops settings, but no rules.
    govern(workspace, `${allow}\n  $inherit: false`, '.agents/tools');
    expect(await workspace.ask(toolbox, 'wipe')).toBe('denied');
  });

  spec('RES-44 POL-9', 'that cannot be read deny, and say why', async () => {
    const workspace = createRuledWorkspace();
    const toolbox = workspace.toolbox();
    for (const [header, reason] of [
      ['metadata:\n  trust: { rule: "*" }', /unknown key "rule"/],
      ['metadata:\n  trust: { rules: "wipe(" }', /invalid rules/],
      ['metadata:\n  trust: { rules: 3 }', /not selectors/],
      ['metadata:\n  trust: "*"', /must be a map with rules/],
      ['trust: "*"', /must be a map with rules/],
      ['trust: { rules: "*" }\nmetadata:\n  trust: { rules: "*($policy=allow)" }', /must be a map/],
      // A colon makes the YAML invalid, and then it is read line by line.
      ['note: a: b\nmetadata:\n  trust:\n    rules: "*"', /not valid YAML/],
      ['note: a: b\nmetadata: { trust: { rules: "*" } }', /not valid YAML/],
    ] as const) {
      govern(workspace, header);
      expect([header, await workspace.ask(toolbox, 'wipe')]).toEqual([header, 'denied']);
      expect((await toolbox.call('wipe', {}, PERSON)).error?.message).toMatch(reason);
    }
    workspace.write('SKILL.md', '---\ntrust: { rules: "*" }\n---\n');
    expect(await workspace.ask(toolbox, 'wipe')).toBe('denied');
    govern(workspace, trust('other'));
    expect(await workspace.ask(toolbox, 'wipe')).toBe('ran');
  });

  spec('RES-44 POL-8', 'hide what they deny from models', async () => {
    const workspace = createRuledWorkspace();
    const toolbox = workspace.toolbox();
    const names = async (): Promise<readonly string[]> => (await toolbox.list(MODEL)).map(({ name }) => name);
    expect(await names()).toContain('wipe');
    govern(workspace, trust('wipe($deny)'));
    expect(await names()).not.toContain('wipe');
    expect((await toolbox.search('wipe', 5, MODEL)).map(({ name }) => name)).not.toContain('wipe');
    const close = await toolbox.call('wip', {}, MODEL);
    expect([close.error?.code, JSON.stringify(close)]).toEqual(['not_found', expect.not.stringContaining('wipe')]);
    govern(workspace, trust('wipe(path=x,$deny)'));
    expect(await names()).toContain('wipe');

    const skills = createSkillWorkspace();
    skills.skill('notes', { 'tools.json': declare([], { tool: 'note' }) });
    const other = skills.toolbox({ trust: true });
    expect((await other.list(MODEL)).map(({ name }) => name)).toContain('note');
    writeSkill(skills, 'notes', { header: trust('note($deny)') });
    expect((await other.list(MODEL)).map(({ name }) => name)).not.toContain('note');
    expect((await other.call('note', {}, MODEL)).error?.code).toBe('denied');
  });

  spec('RES-44 POL-8', 'name what they deny to no client of a server', async () => {
    const workspace = createRuledWorkspace();
    writeSkill(workspace, 'guide', { text: 'Use :tool[wipe] and :tool[relay]; see :skill[../plans].' });
    writeSkill(workspace, 'plans', { header: 'metadata:\n  params: { day: string }', text: 'Plan.' });
    const said = async (): Promise<string> => {
      // A new client, since it caches the listing.
      const client = await connectStdio(workspace, 'newer', ['--with', 'skills']);
      const { tools } = await client.listTools();
      const call = (name: string, args: Record<string, string>) =>
        client.callTool({ name, arguments: args }).catch((error: Error) => error.message);
      const answers = [
        await call('wip', {}),
        await call('read_skill', { skill_name: 'guide' }),
        await call('read_skill', { skill_name: 'plan' }),
        await call('skill-list', {}),
      ];
      return JSON.stringify([tools, answers]);
    };
    expect(await said()).toMatch(/wipe.*`wipe`.*`plans`/s);
    govern(workspace, trust('wipe($deny) plans($deny)'));
    const narrowed = await said();
    expect(narrowed).toContain('`relay`');
    // The text of a skill is its author's; what wield adds names neither.
    expect(narrowed.replaceAll(/:(?:tool|skill)\[[^\]]*\]/g, '')).not.toMatch(/wipe|plans/);
  });
});

finding('001-92 POL-15', 'context-manager need not be in allowed-tools of a skill, but can be denied', async () => {
  const workspace = createModuleWorkspace();
  const toolbox = workspace.toolbox();
  registerTool(toolbox, {
    name: 'context-manager',
    fn: ({ op }: { op: string }) => op,
    params: { type: 'object', properties: { op: { type: 'string' } } },
  });
  registerTool(toolbox, { name: 'file-read', fn: () => 'read' });
  registerTool(toolbox, { name: 'file-write', fn: () => 'written' });
  const skill = (allowed: string): string =>
    writeSkill(workspace, 'agent', {
      header: `allowed-tools: "${allowed}"\nmetadata:\n  params: { ref: string, op: string }\n  delegate:\n    code: |
      export default async ({ ref, op }, { toolbox }) => {
        const { error } = await toolbox.call(ref, op === undefined ? {} : { op });
        return error?.code ?? 'ran';
      }`,
    });
  const call = async (ref: string, op?: string): Promise<string> =>
    textOf(await toolbox.call('agent', op === undefined ? { ref } : { ref, op }, MODEL));
  skill('file-read');
  expect(await call('context-manager', 'finish')).toBe('ran');
  expect(await call('file-read')).toBe('ran');
  expect(await call('file-write')).toBe('denied');
  skill('file-read context-manager(op=finish,$deny)');
  expect(await call('context-manager', 'finish')).toBe('denied');
  expect(await call('context-manager', 'keep')).toBe('ran');
  // The user's own list is not concerned: a file could claim the name.
  workspace.config('allowed-tools = "agent file-read"\n');
  expect(await call('context-manager', 'keep')).toBe('denied');
});

spec.thorough('RES-44', 'rate limits of a skill apply to the tools it governs, and nothing else does', async () => {
  const workspace = createRuledWorkspace();
  const toolbox = workspace.toolbox();
  govern(workspace, 'metadata:\n  middleware:\n    - { use: rate-limit, calls: 2, every: 1h, per: all, for: "wipe" }');
  expect(await workspace.ask(toolbox, 'wipe')).toBe('ran');
  // An unchanged entry keeps its budget when the file is edited.
  govern(
    workspace,
    'metadata:\n  tags: [a]\n  middleware:\n    - { use: rate-limit, calls: 2, every: 1h, per: all, for: "wipe" }',
  );
  expect(await workspace.ask(toolbox, 'relay')).toBe('ran');
  expect(await workspace.ask(toolbox, 'wipe')).toBe('busy');
  expect((await toolbox.call('workdir', {}, PERSON)).ok).toBe(true);

  for (const entry of ['{ use: cache }', '{ use: retry, assume-idempotent: true }', 'trace', '{ use: rate-limit }']) {
    const file = govern(workspace, `metadata:\n  middleware: [${entry}]`);
    workspace.script('counted', shellScript('date +%N', '@readonly'));
    expect(await toolbox.catalog.problems()).toContainEqual(
      expect.objectContaining({ path: file, severity: 'warning', message: expect.stringContaining('no effect') }),
    );
    const results = [await toolbox.call('counted', {}), await toolbox.call('counted', {})];
    expect([entry, results.map(({ meta }) => meta.cached)]).toEqual([entry, [undefined, undefined]]);
  }
});

spec.thorough('RES-44', 'paths of a skill narrow where the tools it governs find others', async () => {
  const workspace = createModuleWorkspace();
  const toolbox = workspace.toolbox();
  writeSkill(workspace, 'inner', { text: 'Inner.' });
  workspace.write('skills/plain/SKILL.md', '---\nname: plain\ndescription: x\n---\nPlain.\n');
  workspace.write('outside/extra/SKILL.md', '---\nname: extra\ndescription: x\n---\nExtra.\n');
  workspace.module(
    'relay.tool.mjs',
    moduleText('relay', "async ({ ref }, { toolbox }) => (await toolbox.call(ref, {})).error?.code ?? 'ran'"),
  );
  const seen = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(
        ['inner', 'plain', 'extra', 'relay'].map(async (ref) => [
          ref,
          textOf(await toolbox.call('relay', { ref: ref === 'relay' ? 'nope' : ref }, MODEL)),
        ]),
      ),
    );
  const found = (inner: boolean, plain: boolean) => ({
    inner: inner ? 'ran' : 'not_found',
    plain: plain ? 'ran' : 'not_found',
    extra: 'not_found',
    relay: 'not_found',
  });
  expect(await seen()).toEqual(found(true, true));
  for (const [paths, inner, plain] of [
    ['[skills]', false, true],
    ['[.agents/skills, outside]', true, false],
    ['["..."]', true, true],
    ['[{ ignore: plain }]', true, false],
    ['[outside]', false, false],
    ['[{ external: outside }]', false, false],
    ['3', false, false],
  ] as const) {
    govern(workspace, `metadata:\n  paths: ${paths}`);
    expect([paths, await seen()]).toEqual([paths, found(inner, plain)]);
    // The search path of other calls is unchanged.
    expect((await toolbox.call('inner', {})).ok && (await toolbox.call('plain', {})).ok).toBe(true);
  }
  govern(workspace, 'metadata:\n  paths: [outside]');
  expect(await toolbox.catalog.problems()).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining('"outside", which is not on the search path') }),
  );
});
