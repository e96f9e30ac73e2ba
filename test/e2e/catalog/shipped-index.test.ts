// Tests of the index that a library ships: it saves reading, but never changes what is found or runs.

import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { seal } from '../../../src/files/cache.js';
import { textOf } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { forgeCacheFile, readCacheFile } from '../../support/cache-file.js';
import { json, wield } from '../../support/cli.js';
import { opensOf } from '../../support/opens.js';
import { sleep } from '../../support/processes.js';
import { createSkillWorkspace, MODEL, printing, type SkillWorkspace, writeSkill } from '../../support/search.js';
import { spec } from '../../support/spec.js';
import { LATER } from '../../support/workspace.js';

// Skills that are tools, each with one more tool in its tools.json.
const COUNT = 20;

interface Library {
  readonly workspace: SkillWorkspace;
  readonly directory: string;
  readonly file: string;
  /** A toolbox of a machine that never saw the library. */
  open(): NodeToolbox;
}

// Files that changed within the last seconds are read, whatever an index says, so the clock is ahead.
const createSettledLibrary = (): Promise<Library> => createLibrary(LATER);

async function createLibrary(now?: () => number): Promise<Library> {
  const workspace = createSkillWorkspace();
  const directory = join(workspace.home, 'library');
  for (let at = 0; at < COUNT; at++) {
    const skill = writeSkill(join(directory, `entry${at}`), `w${at}`, [`tool_${at}`]);
    writeFileSync(join(skill, 'SKILL.md'), `---\nname: entry${at}\ndescription: About ${at}.\n---\nText ${at}.\n`);
  }
  const made = json(await wield(workspace, ['index', directory, '--json']));
  expect(made).toMatchObject({ ok: true, directory, entries: COUNT, tools: 2 * COUNT });
  let machines = 0;
  const open = () =>
    workspace.toolbox({
      paths: [{ external: directory }],
      now,
      env: { ...workspace.env, WIELD_HOME: join(workspace.home, `state${machines++}`) },
    });
  return { workspace, directory, file: made.file, open };
}

/** Changes what the index says. */
function forge(file: string, change: (document: Record<string, Record<string, ForgedEntry>>) => void): void {
  forgeCacheFile(file, (text) => {
    const document = JSON.parse(text);
    change(document);
    return JSON.stringify(document);
  });
}

interface ForgedEntry {
  states: unknown;
  tools: Record<string, unknown>[];
  skills: Record<string, unknown>[];
}

const descriptions = async (toolbox: NodeToolbox) =>
  Object.fromEntries((await toolbox.list({ hidden: true })).map((tool) => [tool.name, tool.description]));
const say = async (toolbox: NodeToolbox, ref: string): Promise<string> => {
  const result = await toolbox.call(ref, {});
  return result.error?.code ?? textOf(result).trim();
};

describe('wield index', () => {
  spec('RES-22', 'writes the index of a directory, and --clean removes it', async () => {
    const { workspace, directory, file } = await createLibrary();
    expect(file).toBe(join(directory, '.wield-index'));
    expect(readFileSync(file, 'utf8')).not.toContain(workspace.home);
    const again = await wield(workspace, ['index'], { cwd: directory });
    expect(again.stdout).toBe(`  written  ${file}  ${COUNT} entries, ${2 * COUNT} tools\n`);
    expect(json(await wield(workspace, ['index', directory, '--clean', '--json']))).toMatchObject({
      ok: true,
      file,
      removed: true,
    });
    expect(existsSync(file)).toBe(false);
    expect((await wield(workspace, ['index', directory, '--clean'])).stdout).toBe('  nothing to remove\n');
    expect((await wield(workspace, ['index', join(directory, 'nothing')])).status).toBe(3);
    writeFileSync(join(workspace.dir, 'file'), '');
    expect((await wield(workspace, ['index', 'file'])).status).toBe(3);
  });
});

describe('a library with an index', () => {
  spec('RES-22', 'is listed without reading its files, with the same result', async () => {
    const { workspace, directory, open } = await createSettledLibrary();
    const toolbox = open();
    const fromDisk = async (from: NodeToolbox) =>
      (await from.list()).filter(({ origin }) => origin.owner === 'library');
    const { result, opened } = await opensOf(() => fromDisk(toolbox));
    expect(result).toHaveLength(2 * COUNT);
    expect(opened.filter((path) => path.startsWith(join(directory, 'entry')))).toEqual([]);
    await wield(workspace, ['index', directory, '--clean']);
    const look = ({ name, description, input, origin, traits, action }: (typeof result)[number]) => ({
      name,
      description,
      input: input.json,
      origin,
      traits,
      action,
    });
    const truth = open();
    expect(result.map(look)).toEqual((await fromDisk(truth)).map(look));
    expect((await toolbox.catalog.survey()).skills).toEqual((await truth.catalog.survey()).skills);
  });

  spec('RES-22 RES-14', 'reflects every change of its files', async () => {
    const { directory, open } = await createLibrary();
    await sleep(10);
    writeSkill(join(directory, 'entry3'), 'edited', ['renamed']);
    writeSkill(join(directory, 'new'), 'new', ['added']);
    const found = await descriptions(open());
    expect(found).toMatchObject({ renamed: 'Says edited.', added: 'Says new.', tool_4: 'Says w4.' });
    expect(Object.keys(found)).not.toContain('tool_3');
    expect(await say(open(), 'tool_3')).toBe('not_found');
    expect(await say(open(), 'renamed')).toBe('["say","edited"]');
  });

  spec('RES-22', 'is read if the index is corrupt, truncated, empty or of another version', async () => {
    const { file, open } = await createSettledLibrary();
    const good = readFileSync(file);
    const text = good.toString('utf8');
    const truth = await descriptions(open());
    expect(Object.keys(truth)).toHaveLength(2 * COUNT + 1);
    const damages: [string, Buffer | string][] = [
      ['empty', ''],
      ['garbage', Buffer.from([0xff, 0x00, 0xfe, 0x0a])],
      ['half', good.subarray(0, good.length / 2)],
      ['another version', text.replace(/^wield-index\t.*/, 'wield-index\t999')],
      ['a word changed', text.replace('Says w5.', 'Says w6.')],
      ['no JSON', seal('x', readCacheFile(file).label)],
    ];
    for (const [what, damage] of damages) {
      writeFileSync(file, damage);
      expect([what, await descriptions(open())]).toEqual([what, truth]);
    }
    for (const wrong of [null, 3, [], { tools: 3 }, { states: [], tools: [{}], skills: [] }]) {
      writeFileSync(file, good);
      forge(file, (document) => {
        document['tools-json']!.entry5 = wrong as never;
      });
      expect([wrong, await descriptions(open())]).toEqual([wrong, truth]);
    }
  });

  spec.thorough('RES-22 RES-13', 'that was tampered with still runs its own files and finds nothing else', async () => {
    const { workspace, directory, file, open } = await createSettledLibrary();
    const states = (document: Record<string, Record<string, ForgedEntry>>, entry: string) =>
      document['tools-json']![entry]!;
    forge(file, (document) => {
      states(document, 'entry1').tools[0]!.description = 'Forged.';
      states(document, 'entry2').tools = [];
      states(document, 'entry3').tools[0]!.name = 'tool_4';
      states(document, 'entry5').tools[0]!.action = { kind: 'process', runs: 'script', file: '/bin/false' };
      states(document, 'entry6').tools[0]!.traits = {
        tags: ['Meta'],
        hidden: false,
        terminal: false,
        destructive: false,
        examples: [],
      };
      document.skill!.entry7!.skills[0]!.file = '/etc/passwd';
      document.skill!.entry7!.skills[0]!.directory = '/etc';
      document['tools-json']!['../../evil'] = states(document, 'entry8');
    });
    const forged = await descriptions(open());
    // Accepted for listings, otherwise this test would prove nothing.
    expect(forged).toMatchObject({ tool_1: 'Forged.' });
    expect(Object.keys(forged)).not.toContain('tool_2');
    for (let at = 0; at < COUNT; at++) {
      const toolbox = open();
      await toolbox.list();
      expect([at, await say(toolbox, `tool_${at}`)]).toEqual([at, `["say","w${at}"]`]);
      expect((await toolbox.find(`tool_${at}`)).description).toBe(`Says w${at}.`);
    }
    const reader = open();
    const skill = await reader.call('read_skill', { skill_name: 'entry7' }, { caller: MODEL });
    expect(textOf(skill)).toContain('Text 7.');
    // A script of the removed name does not take its place.
    workspace.script('tool_2', '#!/bin/sh\n# @description Evil.\necho evil\n');
    expect(await say(open(), 'tool_2')).toBe('["say","w2"]');
    // A call reads the files; from then on the machine's own index is used, which is correct.
    const machine = open();
    await say(machine, 'tool_1');
    expect(await descriptions(machine)).toMatchObject({ tool_1: 'Says w1.', tool_2: 'Says w2.' });
    expect(directory).toBe(join(file, '..'));
  });

  spec('RES-22', 'is used only for files of the recorded size and time', async () => {
    const { directory, open } = await createLibrary();
    const path = join(directory, 'entry9/tools.json');
    writeFileSync(path, JSON.stringify(printing('w8', ['tool_9'])));
    expect((await descriptions(open())).tool_9).toBe('Says w8.');
    utimesSync(path, 1, 1);
    expect((await descriptions(open())).tool_9).toBe('Says w8.');
  });

  spec('RES-22', 'is used for libraries only, not for a checkout', async () => {
    const { workspace, directory, file } = await createSettledLibrary();
    forge(file, (document) => {
      document['tools-json']!.entry1!.tools[0]!.description = 'Forged.';
    });
    const toolbox = workspace.toolbox({ paths: [directory] });
    expect((await descriptions(toolbox)).tool_1).toBe('Says w1.');
  });
});
