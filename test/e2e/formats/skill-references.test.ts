// References in skills: names, paths relative to the skill, and URIs.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { writeSkill } from '../../support/commands.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from '../../support/modules.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

interface ReferenceWorkspace extends ModuleWorkspace {
  /** Every way to write a reference to a script, from `.agents/skills/guide`. */
  readonly toScript: readonly string[];
}

/** A script, a module with two tools, a skill with code and a skill of text, around a skill that refers to them. */
function createReferenceWorkspace(): ReferenceWorkspace {
  const workspace = createModuleWorkspace();
  const script = workspace.script('find', shellScript('echo found'));
  workspace.module(
    'note.tool.mjs',
    ['note_read', 'note_write']
      .map((name) => moduleText(name, `() => '${name} ran'`).replace('const tool', `const ${name}`))
      .join('\n'),
  );
  writeSkill(workspace, 'notes', { text: 'Read them.\n', header: 'allowed-tools: a b' });
  writeSkill(workspace, 'coded', {
    header: "metadata:\n  delegate:\n    code: export default () => 'code ran'",
  });
  mkdirSync(join(workspace.home, 'bin'));
  writeFileSync(join(workspace.home, 'bin/mine'), shellScript('echo mine'), { mode: 0o755 });
  const toScript = ['find', '../../tools/find', script, pathToFileURL(script).href];
  return { ...workspace, toScript };
}

describe('references in skills', () => {
  spec.thorough('RES-41', '`delegate` accepts a name, a path relative to the skill, or a URI, with #name', async () => {
    const workspace = createReferenceWorkspace();
    const toolbox = workspace.toolbox();
    const answers: readonly (readonly [string, string])[] = [
      ...workspace.toScript.map((ref) => [ref, 'found\n'] as const),
      ['./own', 'own\n'],
      ['own.d/../own', 'own\n'],
      ['~/bin/mine', 'mine\n'],
      ['note_read', 'note_read ran'],
      ['../../tools/note.tool.mjs#note_write', 'note_write ran'],
      ['inline://coded', 'code ran'],
      ['../coded', 'code ran'],
      ['../notes/SKILL.md', 'Read them.\n'],
    ];
    workspace.write('.agents/skills/guide/own', shellScript('echo own'), 0o755);
    // A file of the workdir that the same path would mean from there.
    workspace.write('own', shellScript('echo workdir'), 0o755);
    for (const [ref, answer] of answers) {
      writeSkill(workspace, 'guide', { header: `metadata:\n  delegate: ${ref}` });
      expect([ref, await toolbox.catalog.problems()]).toEqual([ref, []]);
      expect([ref, textOf(await toolbox.call('guide', {}))]).toEqual([ref, answer]);
      expect([ref, textOf(await toolbox.call('guide', {}, MODEL))]).toEqual([ref, answer]);
    }
    writeSkill(workspace, 'guide', { header: 'metadata:\n  delegate: ./own' });
    for (const cwd of [workspace.dir, join(workspace.dir, '.agents')])
      expect((await wield(workspace, ['call', 'guide'], { cwd })).stdout).toBe('own\n');
    for (const ref of ['./gone', '../../tools/note.tool.mjs', 'inline://gone', '../../tools/note.tool.mjs#gone']) {
      writeSkill(workspace, 'guide', { header: `metadata:\n  delegate: ${ref}` });
      expect([ref, (await toolbox.call('guide', {})).error?.code]).toEqual([ref, 'invalid_ref']);
      const { findings } = json(await wield(workspace, ['check', '--json']));
      expect(findings).toMatchObject([{ level: 'error', message: `delegates to "${ref}", which does not exist` }]);
    }
  });

  spec('RES-41 RES-15', 'a delegate that leads back by a path is a cycle', async () => {
    const workspace = createReferenceWorkspace();
    writeSkill(workspace, 'guide', { header: 'metadata:\n  delegate: ../other/SKILL.md' });
    writeSkill(workspace, 'other', { header: 'metadata:\n  delegate: ../guide' });
    expect((await workspace.toolbox().call('guide', {})).error).toMatchObject({
      code: 'invalid_ref',
      data: { circle: ['guide', 'other', 'guide'] },
    });
  });

  spec('RES-41', '`$inherit` accepts the same', async () => {
    const workspace = createReferenceWorkspace();
    const toolbox = workspace.toolbox();
    const notes = join(workspace.dir, '.agents/skills/notes');
    const file = pathToFileURL(join(notes, 'SKILL.md')).href;
    for (const ref of ['notes', '../notes', '../notes/SKILL.md', notes, file, `[coded, ../notes]`]) {
      writeSkill(workspace, 'guide', { header: `allowed-tools: b c\nmetadata:\n  $inherit: ${ref}` });
      const { permissions } = await toolbox.catalog.cascade('guide');
      expect([ref, permissions]).toEqual([
        ref,
        [
          ['b', 'c'],
          ['a', 'b'],
        ],
      ]);
    }
    writeSkill(workspace, 'coded', {
      header: "allowed-tools: d\nmetadata:\n  delegate:\n    code: export default () => 'code ran'",
    });
    writeSkill(workspace, 'guide', { header: 'metadata:\n  $inherit: inline://coded' });
    expect((await toolbox.catalog.cascade('guide')).permissions).toEqual([['d']]);
    writeSkill(workspace, 'guide', { header: 'metadata:\n  $inherit: ./notes' });
    expect((await toolbox.catalog.problems()).map(({ message }) => message)).toEqual([
      'guide inherits from "./notes", which does not exist',
    ]);
    expect((await toolbox.call('guide', {})).error?.code).toBe('invalid_ref');
    writeSkill(workspace, 'notes', { header: 'metadata:\n  $inherit: ../guide' });
    writeSkill(workspace, 'guide', { header: 'metadata:\n  $inherit: ../notes' });
    expect((await toolbox.call('guide', {})).error).toMatchObject({
      data: { circle: ['guide', 'notes', 'guide'] },
    });
  });

  spec.thorough(
    'RES-41 SKL-5',
    '`:tool[]` and `:skill[]` accept the same, when called, read and sent to a model',
    async () => {
      const workspace = createReferenceWorkspace();
      workspace.config('[skills]\ncontext-mode = "full"\n');
      const toolbox = workspace.toolbox();
      const refs = [
        ...workspace.toScript.map((ref) => [`:tool[${ref}]`, '`find` (Made by a test.)']),
        [':tool[../../tools/note.tool.mjs#note_read]', '`note_read` (About note_read.)'],
        [':tool[inline://coded]', '`coded` (About coded.)'],
        [':skill[notes]', '`notes` (About notes.)'],
        [':skill[../notes]', '`notes` (About notes.)'],
        [':skill[../notes/SKILL.md]', '`notes` (About notes.)'],
        [':skill[inline://coded]', '`coded` (About coded.)'],
        [':::tool{ref="../../tools/find"}', '`find`: Made by a test.'],
      ] as const;
      const text = refs.map(([written]) => `${written}\n`).join('');
      const rendered = refs.map(([, becomes]) => `${becomes}\n`).join('');
      writeSkill(workspace, 'guide', { text });
      await toolbox.list();
      expect(await toolbox.catalog.problems()).toEqual([]);
      expect(textOf(await toolbox.call('guide', {}))).toBe(rendered);
      expect(textOf(await toolbox.call('read_skill', { skill_name: 'guide' }))).toContain(rendered);
      expect(await toolbox.workspace.instructions()).toContain(rendered.trim());
      expect(json(await wield(workspace, ['check', '--json'])).findings).toEqual([]);
      writeSkill(workspace, 'guide', { text: ':tool[./find] :skill[./notes] :tool[~/bin/mine]\n' });
      expect((await toolbox.catalog.problems()).map(({ message }) => message)).toEqual([
        'refers to the tool "./find", which does not exist',
        'refers to the skill "./notes", which does not exist',
      ]);
      // What lies elsewhere is there, and nothing that a model finds.
      expect(textOf(await toolbox.call('guide', {}, MODEL))).toBe(':tool[./find] :skill[./notes] :tool[~/bin/mine]\n');
    },
  );
});
