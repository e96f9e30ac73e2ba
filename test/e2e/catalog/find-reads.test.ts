// Tests of which files find and list read.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { clearAllCaches, clearToolCache } from '../../../src/helpers.js';
import { json, wield } from '../../support/cli.js';
import { rounds } from '../../support/effort.js';
import { opensOf, wieldOpens } from '../../support/opens.js';
import { createSkillWorkspace, MODEL, type SkillWorkspace, writeSkill } from '../../support/search.js';
import { spec } from '../../support/spec.js';
import { LATER } from '../../support/workspace.js';

const MANY = rounds(1000, 10_000);

const saying = (word: string): string => `#!/bin/sh\n# @description Says ${word}.\necho ${word}\n`;
const below = (workspace: SkillWorkspace, opened: readonly string[]): string[] => [
  ...new Set(opened.filter((path) => path.startsWith(workspace.dir))),
];
const indexes = (workspace: SkillWorkspace, opened: readonly string[]): string[] => [
  ...new Set(opened.filter((path) => path.startsWith(workspace.env.WIELD_HOME!) && path.endsWith('.index'))),
];

spec.thorough(
  'RES-4 RES-7 RES-13',
  `finding one of ${MANY} declared names reads one index and the files of one entry`,
  async () => {
    const workspace = createSkillWorkspace();
    const skills = join(workspace.dir, '.agents/skills');
    // Ten tools per skill, none named like its skill.
    for (let at = 0; at < MANY / 10; at++) {
      const names = Array.from({ length: 10 }, (_, digit) => `declared_${at * 10 + digit}`);
      writeSkill(join(skills, `entry${at}`), `w${at}`, names);
    }
    expect(json(await wield(workspace, ['list', '--json'], { now: LATER })).tools).toHaveLength(MANY);
    const { run, opened } = await wieldOpens(workspace, ['call', 'declared_711']);
    expect(run.stdout).toBe('["say","w71"]\n');
    expect(indexes(workspace, opened)).toHaveLength(1);
    expect([...new Set(below(workspace, opened).map(dirname))]).toEqual([join(skills, 'entry71')]);

    // Not in the index: only the changed file is read, and then indexed.
    writeSkill(join(skills, 'entry5'), 'changed', ['another']);
    const missed = await wieldOpens(workspace, ['call', 'another']);
    expect(missed.run.stdout).toBe('["say","changed"]\n');
    expect([...new Set(below(workspace, missed.opened).map(dirname))]).toEqual([join(skills, 'entry5')]);

    // A name that no tool has: hints consider every tool, but list them once, even if the files have just been written.
    const changed = join(writeSkill(join(skills, 'entry6'), 'changed', ['other']), 'tools.json');
    const { result, opened: reads } = await opensOf(() => wield(workspace, ['call', 'declared_51']));
    expect(result.status).toBe(3);
    expect(reads.filter((path) => path === changed).length).toBeLessThan(20);
  },
  240_000,
);

spec(
  'RES-4 SCR-15',
  `finding one of ${MANY} scripts reads that script`,
  async () => {
    const workspace = createSkillWorkspace();
    const tools = join(workspace.dir, '.agents/tools');
    mkdirSync(tools, { recursive: true });
    for (let at = 0; at < MANY; at++) writeFileSync(join(tools, `tool${at}`), saying(`w${at}`), { mode: 0o755 });
    const { run, opened } = await wieldOpens(workspace, ['call', 'tool711']);
    expect(run.stdout).toBe('w711\n');
    expect(below(workspace, opened)).toEqual([join(tools, 'tool711')]);
    expect(indexes(workspace, opened)).toEqual([]);
  },
  240_000,
);

describe('a toolbox', () => {
  function createSettled() {
    const workspace = createSkillWorkspace();
    for (let at = 0; at < 20; at++) {
      workspace.script(`script${at}`, saying(`s${at}`));
      writeSkill(join(workspace.dir, 'skills', `entry${at}`), `w${at}`, [`declared_${at}`]);
    }
    let later = 60_000;
    const wait = (milliseconds: number): void => {
      later += milliseconds;
    };
    return { workspace, toolbox: workspace.toolbox({ now: () => Date.now() + later }), wait };
  }
  const read = async (workspace: SkillWorkspace, work: () => Promise<unknown>): Promise<string[]> => {
    const { opened } = await opensOf(work);
    return below(workspace, opened).filter((path) => path.endsWith('tools.json') || path.includes('script'));
  };

  spec('RES-23 SKL-2', 'compares the files of all skills once to read one', async () => {
    const workspace = createSkillWorkspace();
    for (const name of ['one', 'other'])
      workspace.write(`.agents/skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: Does ${name}.\n---\n`);
    // Files that changed just now are read by every comparison.
    const toolbox = workspace.toolbox({ now: () => 0, trust: true });
    const call = () => toolbox.call('read_skill', { skill_name: 'one' }, { caller: MODEL });
    await call();
    const { result, opened } = await opensOf(call);
    expect(result).toMatchObject({ ok: true });
    expect(opened.filter((path) => path.endsWith('other/SKILL.md'))).toHaveLength(1);
  });

  spec('RES-23 RES-14', 'reads nothing again for hits, misses and lists', async () => {
    const { workspace, toolbox, wait } = createSettled();
    const look = async () => {
      await toolbox.list();
      await toolbox.find('declared_3');
      await toolbox.find('script3');
      await toolbox.find('nothing').catch(() => {});
      await toolbox.find('./skills/entry4').catch(() => {});
    };
    expect((await read(workspace, look)).length).toBeGreaterThanOrEqual(40);
    await read(workspace, look);
    expect(await read(workspace, look)).toEqual([]);
    wait(3_600_000);
    expect(await read(workspace, look)).toEqual([]);
    // Only the changed file is read, regardless of the time.
    const changed = join(writeSkill(join(workspace.dir, 'skills/entry7'), 'new', ['fresh']), 'tools.json');
    expect(new Set(await read(workspace, look))).toEqual(new Set([changed]));
    expect((await toolbox.find('fresh')).description).toBe('Says new.');
    await expect(toolbox.find('declared_7')).rejects.toMatchObject({ code: 'not_found' });
  });

  spec('RES-23', 'caches search paths separately', async () => {
    const { workspace, toolbox } = createSettled();
    const names = async () => (await toolbox.list()).map(({ name }) => name);
    const all = await names();
    workspace.config('paths = ["...", { ignore = "entry1*" }]\n');
    const some = await names();
    expect(some).toEqual(all.filter((name) => !/^declared_1/.test(name)));
    await expect(toolbox.find('declared_12')).rejects.toMatchObject({ code: 'not_found' });
    workspace.config('');
    expect(await names()).toEqual(all);
    const other = await wield(workspace, ['list', '--json']);
    expect(json(other).tools.map((tool: { name: string }) => tool.name)).toEqual(all);
  });

  spec('RES-14', 'clears the list, index and file of one tool, and nothing of other directories', async () => {
    const { workspace, toolbox } = createSettled();
    const look = async () => {
      await toolbox.list();
      await toolbox.find('declared_3');
    };
    await look();
    await look();
    expect(await read(workspace, look)).toEqual([]);
    clearToolCache(toolbox, 'nothing');
    expect(await read(workspace, look)).toEqual([]);
    clearToolCache(toolbox, 'declared_3');
    const again = await read(workspace, look);
    expect(again.filter((path) => path.endsWith('tools.json'))).toHaveLength(20);
    expect(again.filter((path) => path.includes('script'))).toEqual([]);
    clearAllCaches(toolbox);
    expect((await read(workspace, look)).length).toBeGreaterThanOrEqual(40);
  });
});
