// The same policy at every door: generated rule sets, compared with an independent implementation.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { createSkillWorkspace, declare, type SkillWorkspace, writeSkill } from '../support/commands.js';
import {
  DOORS,
  DOORS_BETWEEN,
  DOORS_OF_MODELS,
  type Door,
  MODEL,
  type OpenDoor,
  writeBetween,
} from '../support/doors.js';
import { rounds } from '../support/effort.js';
import {
  BETWEEN,
  flowRuleSets,
  isHidden,
  judge,
  type Probe,
  probes,
  type RuleSet,
  ruleSets,
  TOOLS,
  toFiles,
} from '../support/rule-sets.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';

const SETS = rounds(8, 200);
const SEED = 20_261_115;
// Each is similar to one name, and none is a prefix of another.
const MISSING = ['file-rea', 'file-writ', 'deplo', 'looku', 'read_skil'];

interface RuledWorkspace extends SkillWorkspace {
  /** Written by tools that ran. */
  readonly mark: string;
}

function createRuledWorkspace(): RuledWorkspace {
  const workspace = createSkillWorkspace();
  const mark = join(workspace.home, 'mark');
  const header = ['@param op string What to do', '@param force boolean Whether to insist'];
  workspace.script('file-read', shellScript(`: > ${mark}`, ...header));
  workspace.script('file-write', shellScript(`: > ${mark}`, ...header, '@tag net'));
  workspace.script('deploy', shellScript(`: > ${mark}`, ...header, '@destructive'));
  workspace.program('look-up', `#!/bin/sh\n: > ${mark}\necho found\n`);
  workspace.program('quiet', '#!/bin/sh\n');
  workspace.skill('notes', {
    'tools.json': declare([{ param: 'op', optional: true, resolveCommand: { binary: 'look-up', args: ['$param'] } }], {
      tool: 'lookup',
      binary: 'quiet',
      properties: { force: { type: 'boolean' } },
      allowlist: { quiet: [''], 'look-up': [''] },
    }),
  });
  return { ...workspace, mark };
}

function shownNames(text: string): string[] {
  return TOOLS.filter((name) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(text));
}

spec(
  'POL-1 POL-8 POL-13 POL-14',
  `${SETS} rule sets decide alike at every door, and no denied name is seen anywhere`,
  () => holdAlike(createRuledWorkspace(), DOORS, SETS),
  300_000,
);

spec.thorough(
  'POL-1 POL-8 COD-8',
  `${rounds(8, 200)} rule sets decide alike directly, through call_tool and in programs`,
  () => holdAlike(createRuledWorkspace(), DOORS_OF_MODELS, rounds(8, 200)),
  rounds(300_000, 3_000_000),
);

spec.thorough(
  'POL-1 POL-8 POL-13',
  'the same holds for calls by callbacks, modules, code in skills and delegates',
  () => {
    const workspace = createRuledWorkspace();
    writeBetween(workspace);
    return holdAlike(workspace, DOORS_BETWEEN, rounds(8, 50));
  },
  300_000,
);

spec(
  'FLW-4 FLW-5 FLW-7',
  `${SETS} rule sets decide alike at every door after untrusted content was read, and hide nothing`,
  () => holdAlike(createRuledWorkspace(), DOORS, SETS, true),
  300_000,
);

async function holdAlike(
  workspace: RuledWorkspace,
  doors: readonly Door[],
  sets: number,
  hasRead = false,
): Promise<void> {
  const open = await Promise.all(
    doors.map(async (door): Promise<[Door, OpenDoor]> => [door, await door.open(workspace)]),
  );
  if (hasRead) {
    workspace.script('page', shellScript('echo obey', '@label untrusted'));
    for (const [door, opened] of open) if (door.runs) expect(await opened.decide('page', {})).toBe('allow');
  }
  const cases = fc.sample(fc.tuple(hasRead ? flowRuleSets : ruleSets, probes), { numRuns: sets, seed: SEED });
  const seen = { allow: 0, ask: 0, deny: 0, hidden: 0, shown: 0 };
  for (const [index, [set, probe]] of cases.entries()) {
    const files = toFiles(set);
    workspace.config(files.user);
    workspace.write('.agents/config.toml', files.project);
    const visible = TOOLS.filter((name) => !isHidden(set, name));
    seen[judge(set, probe.tool, probe.input, true, hasRead)]++;
    seen.shown += visible.length;
    seen.hidden += TOOLS.length - visible.length;
    for (const [door, opened] of open) {
      if (index % door.every !== 0) continue;
      const about = { door: door.name, index, files, probe };
      rmSync(workspace.mark, { force: true });
      // A dry run and an explanation read nothing, and a person has no session.
      const read = hasRead && door.runs && door.person !== true;
      const expected = judge(set, probe.tool, probe.input, door.model, read);
      const decision = await opened.decide(probe.tool, probe.input);
      expect({ ...about, decision }).toEqual({ ...about, decision: expectedAt(door, set, probe, expected, read) });
      const ran = existsSync(workspace.mark);
      if (probe.tool !== 'read_skill' && leavesMark(probe)) {
        expect({ ...about, ran }).toEqual({ ...about, ran: door.runs && decision === 'allow' });
      }
      const shown = shownNames(await opened.say(TOOLS, MISSING));
      const wanted = set.broken && !door.model ? [...TOOLS] : visible;
      const isShut = door.shownBy !== undefined && judge(set, door.shownBy, {}, true, read) === 'deny';
      // Errors still name similar tools, but no denied ones.
      const expectedNames = isShut ? wanted.filter((name) => shown.includes(name)) : wanted;
      expect({ ...about, shown }).toEqual({ ...about, shown: expectedNames });
    }
  }
  // The generated sets must differ.
  for (const [kind, times] of Object.entries(seen)) expect([kind, times >= sets / 10]).toEqual([kind, true]);
}

function expectedAt({ through, model }: Door, set: RuleSet, { input }: Probe, expected: string, read: boolean): string {
  const outer =
    through === undefined ? 'allow' : judge(set, through.name, through.sameInput === true ? input : {}, model, read);
  return outer === 'allow' ? expected : outer;
}

// The command prints nothing; its resolver runs if there is something to resolve.
function leavesMark({ tool, input }: { readonly tool: string; readonly input: object }): boolean {
  return tool !== 'lookup' || 'op' in input;
}

spec(
  'POL-8 POL-13 RES-21',
  'built-in lists, descriptions and references in texts show a model what is allowed, and nothing else',
  async () => {
    const workspace = createRuledWorkspace();
    writeSkill(workspace, `${BETWEEN}text`, { text: TOOLS.map((name) => `:tool[${name}]\n`).join('') });
    const toolbox = workspace.toolbox({ trust: true, offer: ['skills'] });
    const ask = (name: string, input: object) => toolbox.call(name, input, { caller: MODEL });
    const sets = rounds(20, 100);
    const seen = { list: 0, describe: 0, text: 0, hidden: 0 };
    for (const [index, set] of fc.sample(ruleSets, { numRuns: sets, seed: SEED }).entries()) {
      const files = toFiles(set);
      workspace.config(files.user);
      workspace.write('.agents/config.toml', files.project);
      const visible = TOOLS.filter((name) => !isHidden(set, name));
      const about = { index, files };
      const listed = await ask('skill-list', {});
      if (listed.ok) {
        seen.list++;
        seen.hidden += TOOLS.length - visible.length;
        expect({ ...about, shown: shownNames(JSON.stringify(listed.structured)) }).toEqual({
          ...about,
          shown: visible,
        });
      }
      const described = await Promise.all(
        TOOLS.map(async (name) => ({ name, code: (await ask('skill-describe', { name })).error?.code })),
      );
      if (described.every(({ code }) => code === undefined || code === 'not_found')) {
        seen.describe++;
        const shown = described.flatMap(({ name, code }) => (code === undefined ? [name] : []));
        expect({ ...about, shown }).toEqual({ ...about, shown: visible });
      }
      const text = await ask(`${BETWEEN}text`, {});
      if (text.ok) {
        seen.text++;
        // A reference that was not resolved stays as written.
        const shown = shownNames(textOf(text).replace(/:tool\[[^\]]*\]/g, ''));
        expect({ ...about, shown }).toEqual({ ...about, shown: visible });
      }
    }
    for (const [kind, times] of Object.entries(seen)) expect([kind, times > sets / 10]).toEqual([kind, true]);
  },
  60_000,
);
