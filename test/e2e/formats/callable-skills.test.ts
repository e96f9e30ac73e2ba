// Skills as tools: text with arguments, delegates, and references to other tools.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { DoorOptions } from '../../../src/core/toolbox.js';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { createSkillWorkspace, declare, writeSkill } from '../../support/commands.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

const PARAMS = `metadata:
  params:
    city: { type: string, description: Where to, required: true }
    days: { type: integer, default: 3 }
    fast: boolean`;

const names = (tools: readonly { readonly name: string }[]): string[] => tools.map(({ name }) => name);

describe('a text', () => {
  spec('SKL-3', 'is returned without the frontmatter', async () => {
    const workspace = createWorkspace();
    writeSkill(workspace, 'notes', { text: '# Notes\n\nSearch {{first}}.\n' });
    const toolbox = workspace.toolbox();
    expect(names(await toolbox.list())).toEqual(['read_skill', 'notes']);
    expect(await toolbox.call('notes', {})).toMatchObject({
      ok: true,
      content: [{ type: 'text', text: '# Notes\n\nSearch {{first}}.\n' }],
    });
    expect((await toolbox.call('notes', { city: 'x' })).error?.code).toBe('invalid_input');
    expect((await wield(workspace, ['call', 'notes'])).stdout).toBe('# Notes\n\nSearch {{first}}.\n');
    const { plan } = json(await wield(workspace, ['call', 'notes', '--dry-run', '--json']));
    expect(plan).toMatchObject({ kind: 'text', file: join(workspace.dir, '.agents/skills/notes/SKILL.md') });
    expect((await wield(workspace, ['show', 'notes'])).stdout).toContain('returns the text of');
  });

  spec('SKL-3', 'is rendered with validated arguments', async () => {
    for (const header of [
      PARAMS,
      `metadata:
  params:
    type: object
    properties:
      city: { type: string }
      days: { type: integer, default: 3 }
      fast: { type: boolean }
    required: [city]`,
    ]) {
      const workspace = createWorkspace();
      writeSkill(workspace, 'trip', {
        header,
        text: 'Go to {{args.city}} for {{args.days}} days{{args.fast}}, see {{name}} and {{args.other}}.\n',
      });
      const toolbox = workspace.toolbox();
      expect(await toolbox.catalog.problems()).toEqual([]);
      expect((await toolbox.find('trip')).input.json).toMatchObject({
        type: 'object',
        required: ['city'],
        properties: { days: { type: 'integer' } },
      });
      expect(textOf(await toolbox.call('trip', { city: 'Oslo {{args.days}}' }))).toBe(
        'Go to Oslo {{args.days}} for 3 days, see {{name}} and {{args.other}}.\n',
      );
      expect(textOf(await toolbox.call('trip', { city: 'Oslo', days: 9, fast: true }))).toContain(
        'Oslo for 9 daystrue,',
      );
      expect((await toolbox.call('trip', {})).error?.code).toBe('invalid_input');
      expect((await toolbox.call('trip', { city: 'x', other: 1 })).error?.code).toBe('invalid_input');
      expect((await wield(workspace, ['call', 'trip', 'Oslo', '--days', '2'])).stdout).toContain('Oslo for 2');
    }
  });

  spec('SKL-3', 'has the tags and visibility of its metadata', async () => {
    const workspace = createWorkspace();
    writeSkill(workspace, 'notes', { header: 'metadata:\n  tags: [API, slow thing]' });
    writeSkill(workspace, 'words', { header: 'metadata:\n  tags: one, two' });
    writeSkill(workspace, 'secret', { header: 'metadata:\n  visibility: hidden' });
    const toolbox = workspace.toolbox();
    expect((await toolbox.find('notes')).traits.tags).toEqual(['api', 'slow-thing']);
    expect((await toolbox.find('words')).traits.tags).toEqual(['one', 'two']);
    expect(names(await toolbox.list())).not.toContain('secret');
    expect(await toolbox.workspace.instructions()).not.toContain('secret');
    expect((await toolbox.call('read_skill', { skill_name: 'secret' })).error).toMatchObject({
      code: 'not_found',
      hint: expect.not.stringContaining('secret'),
    });
    expect(textOf(await toolbox.call('secret', {}))).toBe('Text of secret.\n');
  });

  spec.thorough('SKL-3', 'is not offered to a model as a tool without parameters, but can be called', async () => {
    const workspace = createWorkspace();
    for (let index = 0; index < 30; index++) writeSkill(workspace, `notes-${index}`);
    writeSkill(workspace, 'trip', { header: PARAMS, text: 'To {{args.city}}.\n' });
    const client = await connectStdio(workspace, 'newer', []);
    expect(names((await client.listTools()).tools)).toEqual(['read_skill', 'trip', 'query_result', 'read_result']);
    const plain = await client.callTool({ name: 'notes-7', arguments: {} });
    expect(plain.content).toEqual([{ type: 'text', text: 'Text of notes-7.\n' }]);
    const rendered = await client.callTool({ name: 'trip', arguments: { city: 'Oslo' } });
    expect(rendered.content).toEqual([{ type: 'text', text: 'To Oslo.\n' }]);
  });

  spec('SKL-3', 'can be read by a model without trust, since nothing runs', async () => {
    const workspace = createWorkspace();
    writeSkill(workspace, 'trip', { header: PARAMS, text: 'To {{args.city}}.\n' });
    const toolbox = workspace.toolbox();
    expect(toolbox.workspace.trusted).toBe(false);
    expect(textOf(await toolbox.call('trip', { city: 'Oslo' }, MODEL))).toBe('To Oslo.\n');
    const listed = json(await wield(workspace, ['list', '--json'])).tools;
    expect(listed.find((tool: { name: string }) => tool.name === 'trip').untrusted).toBe(false);
  });

  spec('SKL-3', 'reflects edits, removal, and a change between plan and run', async () => {
    const workspace = createWorkspace();
    const file = writeSkill(workspace, 'notes');
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('notes', {}))).toBe('Text of notes.\n');
    writeSkill(workspace, 'notes', { text: 'Other.\n' });
    expect(textOf(await toolbox.call('notes', {}))).toBe('Other.\n');
    const changed = await toolbox.call('notes', {}, {
      ready: async () => writeFileSync(file, '---\nname: notes\ndescription: x\n---\nExchanged.\n'),
    } as DoorOptions);
    expect(changed.error?.code).toBe('integrity');
    rmSync(file);
    expect((await toolbox.call('notes', {})).error?.code).toBe('not_found');
  });

  spec('SKL-3', 'is shadowed by any other tool of its name', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes', {
      'tools.json': declare([{ kind: 'literal', value: 'ran' }], { tool: 'notes' }),
    });
    workspace.skill('deploy');
    workspace.script('deploy', shellScript('echo deployed'));
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('notes', {}))).toBe('["ran"]\n');
    expect(textOf(await toolbox.call('deploy', {}))).toBe('deployed\n');
    expect(
      (await toolbox.catalog.survey()).shadowed.map(({ tool, by }) => [
        tool.name,
        tool.origin.format,
        by.origin.format,
      ]),
    ).toEqual([
      ['deploy', 'skill', 'script'],
      ['notes', 'skill', 'tools-json'],
    ]);
    expect(textOf(await toolbox.call('read_skill', { skill_name: 'deploy' }))).toContain('Text of deploy.');
    expect((await wield(workspace, ['list', '--all'])).stdout).toMatch(/deploy +skill .*shadowed by file:/);
  });

  spec('SKL-3', 'with invalid metadata can be read but not called, and is a problem', async () => {
    for (const [header, severity, message] of [
      ['metadata:\n  params: 3', 'error', 'metadata.params must be a map'],
      ['metadata:\n  params: { city: town }', 'error', '"city" must be a type or a schema'],
      [
        'metadata:\n  params: { city: { type: string, required: often } }',
        'error',
        '"city": required must be true or false',
      ],
      ['metadata:\n  params: { properties: {}, type: array }', 'error', 'must be the schema of an object'],
      ['metadata:\n  params: { city: { pattern: "(" } }', 'error', 'metadata.params cannot be used'],
      ['metadata:\n  delegate: [a]', 'error', 'metadata.delegate does not name a tool'],
    ] as const) {
      const workspace = createWorkspace();
      const path = writeSkill(workspace, 'notes', { header });
      const toolbox = workspace.toolbox();
      expect(await toolbox.catalog.problems(), header).toMatchObject([
        { severity, path, message: expect.stringContaining(message), hint: expect.stringMatching(/./) },
      ]);
      expect((await toolbox.call('notes', {})).error?.code).toBe('not_found');
      expect((await toolbox.call('read_skill', { skill_name: 'notes' })).ok).toBe(true);
    }
    for (const [header, message] of [
      ['metadata:\n  tags: { a: b }', 'metadata.tags'],
      ['metadata:\n  visibility: shy', 'metadata.visibility'],
      ['metadata:\n  timeout: soon', 'metadata.timeout'],
      ['metadata:\n  $inherit: 3', 'metadata.$inherit'],
    ] as const) {
      const workspace = createWorkspace();
      writeSkill(workspace, 'notes', { header });
      expect(await workspace.toolbox().catalog.problems()).toMatchObject([
        { severity: 'warning', message: expect.stringContaining(message) },
      ]);
      expect((await workspace.toolbox().call('notes', {})).ok).toBe(true);
    }
    const workspace = createWorkspace();
    workspace.write('.agents/skills/odd/SKILL.md', '---\nname: odd notes\ndescription: x\n---\nOdd.\n');
    expect((await workspace.toolbox().catalog.problems()).map(({ message }) => message)).toContain(
      'name "odd notes" is not a tool name: the skill can be read but not called',
    );
    expect((await workspace.toolbox().call('read_skill', { skill_name: 'odd notes' })).ok).toBe(true);
  });
});

describe('a delegate', () => {
  const PRINT = 'echo "city=$WIELD_PARAM_CITY"';
  const withDelegate = (header: string, body = PRINT, ...tags: readonly string[]): Workspace => {
    const workspace = createWorkspace();
    workspace.script('book', shellScript(body, '@param *city string Where to', ...tags));
    writeSkill(workspace, 'trip', { header });
    return workspace;
  };

  spec('SKL-3', 'runs instead of the skill, with its own input schema', async () => {
    const workspace = withDelegate('metadata:\n  delegate: book');
    const toolbox = workspace.toolbox();
    expect((await toolbox.find('trip')).input.json).toMatchObject({ required: ['city'] });
    expect(textOf(await toolbox.call('trip', { city: 'Oslo' }))).toBe('city=Oslo\n');
    expect((await toolbox.call('trip', {})).error?.code).toBe('invalid_input');
    const { plan } = json(await wield(workspace, ['call', 'trip', '--city', 'x', '--dry-run', '--json']));
    expect(plan).toMatchObject({ kind: 'delegate', ref: 'book', input: { city: 'x' } });
    expect((await wield(workspace, ['call', 'trip', '--city', 'x', '--dry-run'])).stdout).toContain(
      'would call  book, which is checked again',
    );
    const run = await wield(workspace, ['call', 'trip', 'Oslo']);
    expect(run).toMatchObject({ status: 0, stdout: 'city=Oslo\n' });
  });

  spec('SKL-3', 'gets the input described by the skill, and rejects other input', async () => {
    const workspace = withDelegate(`${PARAMS}\n  delegate: book`);
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('trip', { city: 'Oslo' }))).toBe('city=Oslo\n');
    expect((await toolbox.call('trip', { city: 'Oslo', days: 2 })).error?.message).toContain('days');
  });

  spec('SKL-3', 'is a nested call: observed, decided again, one level deeper', async () => {
    const workspace = withDelegate('metadata:\n  delegate: book');
    const toolbox = workspace.toolbox();
    const seen: unknown[] = [];
    toolbox.on((event) => {
      if (event.type === 'end')
        seen.push([event.ref, event.depth, event.plan?.kind, event.verdict?.verdict, event.result.ok]);
    });
    await toolbox.call('trip', { city: 'Oslo' });
    expect(seen).toEqual([
      ['book', 1, 'process', 'allow', true],
      ['trip', 0, 'delegate', 'allow', true],
    ]);
  });

  spec('SKL-3', 'runs code, so a model needs a trusted workspace', async () => {
    const workspace = withDelegate('metadata:\n  delegate: book');
    const untrusted = await workspace.toolbox().call('trip', { city: 'Oslo' }, MODEL);
    expect(untrusted.error?.code).toBe('needs_trust');
    const trusted = await workspace.toolbox({ trust: true }).call('trip', { city: 'Oslo' }, MODEL);
    expect(textOf(trusted)).toBe('city=Oslo\n');
  });

  spec('SKL-3 RES-20', 'may be hidden, since the skill names it and not the model', async () => {
    const workspace = withDelegate('metadata:\n  delegate: book', PRINT, '@hidden');
    const toolbox = workspace.toolbox({ trust: true });
    expect((await toolbox.call('book', { city: 'Oslo' }, MODEL)).error?.code).toBe('not_found');
    expect(textOf(await toolbox.call('trip', { city: 'Oslo' }, MODEL))).toBe('city=Oslo\n');
  });

  spec('SKL-3', "that is built in and not offered stays out of a model's reach", async () => {
    const workspace = createWorkspace();
    writeSkill(workspace, 'where', { header: 'metadata:\n  delegate: workdir' });
    const toolbox = workspace.toolbox({ trust: true });
    expect((await toolbox.call('where', {}, MODEL)).error?.code).toBe('not_found');
    expect(textOf(await toolbox.call('where', {}))).toBe(workspace.dir);
    const offering = workspace.toolbox({ trust: true, offer: ['workdir'] });
    expect((await offering.call('where', {}, MODEL)).ok).toBe(true);
  });

  spec('SKL-3', 'fails and is stopped like a call of its own', async () => {
    const failing = withDelegate('metadata:\n  delegate: book', 'echo half; exit 3');
    const failed = await failing.toolbox().call('trip', { city: 'x' });
    expect(failed).toMatchObject({ ok: false, error: { code: 'tool_failed', data: { exitCode: 3 } } });
    expect(textOf(failed)).toContain('half');
    const slow = withDelegate('metadata:\n  delegate: book\n  timeout: 300ms', 'sleep 600');
    expect((await slow.toolbox().call('trip', { city: 'x' })).error).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('trip'),
    });
    const stop = new AbortController();
    const ended = slow.toolbox().call('trip', { city: 'x' }, { signal: stop.signal, timeoutMs: 60_000 });
    setTimeout(() => stop.abort(), 100);
    expect((await ended).error?.code).toBe('cancelled');
  });

  spec('SKL-3', 'that does not exist is a problem, and the skill is not listed', async () => {
    const workspace = createWorkspace();
    const path = writeSkill(workspace, 'trip', { header: 'metadata:\n  delegate: book' });
    const toolbox = workspace.toolbox();
    expect(await toolbox.catalog.problems()).toMatchObject([
      { severity: 'error', path, message: 'trip delegates to "book", which does not exist' },
    ]);
    expect(names(await toolbox.list())).toEqual(['read_skill']);
    expect((await toolbox.call('trip', {})).error?.code).toBe('invalid_ref');
    expect(json(await wield(workspace, ['check', '--json'])).findings).toMatchObject([
      { level: 'error', message: 'delegates to "book", which does not exist' },
    ]);
    workspace.script('book', shellScript('echo booked'));
    expect(await toolbox.catalog.problems()).toEqual([]);
    expect(textOf(await toolbox.call('trip', {}))).toBe('booked\n');
  });

  spec.thorough('RES-15', 'that leads back to the skill is a problem that shows the cycle', async () => {
    const workspace = createWorkspace();
    writeSkill(workspace, 'a', { header: 'metadata:\n  delegate: b' });
    writeSkill(workspace, 'b', { header: 'metadata:\n  delegate: c' });
    writeSkill(workspace, 'c', { header: 'metadata:\n  delegate: b' });
    writeSkill(workspace, 'self', { header: 'metadata:\n  delegate: self' });
    const toolbox = workspace.toolbox();
    expect((await toolbox.catalog.problems()).map(({ message }) => message)).toEqual([
      'delegates form a cycle: b → c → b',
      'delegates form a cycle: b → c → b',
      'delegates form a cycle: c → b → c',
      'delegates form a cycle: self → self',
    ]);
    expect(names(await toolbox.list())).toEqual(['read_skill']);
    expect((await toolbox.call('a', {})).error).toMatchObject({
      code: 'invalid_ref',
      data: { circle: ['b', 'c', 'b'] },
    });
    expect((await wield(workspace, ['doctor'])).stdout).toContain('b → c → b');
    writeSkill(workspace, 'c');
    expect(textOf(await toolbox.call('a', {}))).toBe('Text of c.\n');
  });

  spec('RES-15', 'that calls its own skill is limited by depth, and allowing itself is not a cycle', async () => {
    const workspace = createWorkspace();
    writeSkill(workspace, 'loop', { header: 'allowed-tools: loop again\nmetadata:\n  delegate: again' });
    let calls = 0;
    const toolbox = workspace.toolbox({
      tools: [
        {
          name: 'again',
          description: 'Calls the skill that calls it.',
          execute: async (_input: object, { toolbox: inner }) => {
            calls++;
            const result = await inner.call('loop', {});
            return result.error?.code ?? 'fine';
          },
        },
      ],
    });
    expect(await toolbox.catalog.problems()).toEqual([]);
    await toolbox.call('loop', {});
    expect(calls).toBeLessThanOrEqual(9);
    expect(calls).toBeGreaterThan(1);
  });
});

describe('references in a text', () => {
  const TEXT = 'Call :tool[find], read :skill[notes], not :tool[gone] or `:tool[find]`.\n';
  const RENDERED = 'Call `find` (Find things.), read `notes` (About notes.), not :tool[gone] or `:tool[find]`.\n';

  const withReferences = (): Workspace => {
    const workspace = createWorkspace();
    workspace.script('find', '#!/bin/sh\n# @description Find things.\n');
    workspace.script('secret', '#!/bin/sh\n# @description Secret things.\n# @hidden\n');
    writeSkill(workspace, 'notes');
    writeSkill(workspace, 'guide', { text: TEXT });
    return workspace;
  };

  spec('SKL-5', 'are resolved when it is read, called or sent to a model', async () => {
    const workspace = withReferences();
    const toolbox = workspace.toolbox({ trust: true });
    expect(textOf(await toolbox.call('guide', {}))).toBe(RENDERED);
    expect(textOf(await toolbox.call('read_skill', { skill_name: 'guide' }))).toContain(
      `---\nname: guide\ndescription: About guide.\n---\n${RENDERED}`,
    );
    workspace.config('[skills]\ncontext-mode = "full"\n');
    expect(await toolbox.workspace.instructions()).toContain(RENDERED.trim());
    workspace.script('find', '#!/bin/sh\n# @description Find it now.\n');
    expect(textOf(await toolbox.call('guide', {}))).toContain('`find` (Find it now.)');
  });

  spec('SKL-5', 'to nothing are a problem in doctor and check', async () => {
    const workspace = withReferences();
    const message = 'refers to the tool "gone", which does not exist';
    expect(json(await wield(workspace, ['doctor', '--json'])).warnings).toMatchObject([
      { severity: 'warning', path: join(workspace.dir, '.agents/skills/guide/SKILL.md'), message },
    ]);
    for (const directory of ['.', '.agents/skills/guide']) {
      const { findings, errors } = json(await wield(workspace, ['check', directory, '--json']));
      expect([findings.map((finding: { message: string }) => finding.message), errors]).toEqual([[message], 0]);
    }
  });

  spec('SKL-5 RES-20', 'do not reveal hidden tools and skills', async () => {
    const workspace = withReferences();
    writeSkill(workspace, 'quiet', { header: 'metadata:\n  visibility: hidden' });
    writeSkill(workspace, 'guide', {
      text: ':tool[secret] :skill[quiet] :tool[quiet]\n:::tool{ref="secret"}\n:::\n:tool[workdir]\n',
    });
    const toolbox = workspace.toolbox({ trust: true });
    expect(textOf(await toolbox.call('guide', {}, MODEL))).toBe(
      ':tool[secret] :skill[quiet] :tool[quiet]\n:::tool{ref="secret"}\n:::\n:tool[workdir]\n',
    );
    // They are there: an author has nothing to fix.
    expect(await toolbox.catalog.problems()).toEqual([]);
  });
});
