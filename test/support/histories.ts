// Random histories of directories, configuration and registered tools, to compare resolvers.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { printing } from './search.js';

/** Directories that can be the workdir. */
export const ROOTS = ['p', 'q'] as const;
/** Directories of skills, below the workdir or home. */
const SKILL_PLACES = ['.agents/skills', 'skills', 'tools', 'lib', '~/.agents/skills', '~/shared'] as const;
const SCRIPT_PLACES = ['.agents/tools', '~/.agents/tools'] as const;
const ENTRIES = ['one', 'two', 'draft-x', 'dist'] as const;
const NAMES = ['a', 'b', 'c-d', 'F', 'workdir'] as const;
const SCRIPTS = [...NAMES, 'e.sh', '-g'] as const;

const SCRIPT_TEXTS = [
  '#!/bin/sh\n# @description one\n',
  '#!/bin/sh\n# @description two\n',
  '#!/bin/sh\n# @description one\n# @param *x int X\n',
  '#!/bin/sh\n# @param x int X\n',
  '#!/bin/sh\n# @description one\n# @hidden\n',
  'no shebang\n',
  '',
];
const DESCRIPTORS = [['a'], ['b'], ['a', 'b'], ['c-d', 'F'], ['workdir', 'a'], ['z']].flatMap((names) =>
  ['one', 'two'].map((word) => JSON.stringify(printing(word, names))),
);

/** Configurations of the user; `naive-resolver.ts` implements their meaning. */
export const CONFIGS: Readonly<Record<string, string>> = {
  none: '',
  extended: 'paths = ["...", "lib", { external = "~/shared" }]\n',
  before: 'paths = ["~/shared", "..."]\n',
  replaced: 'paths = ["lib", "skills"]\n',
  ignoring: 'paths = ["...", { ignore = "draft-*" }, { ignore = "skills/two" }]\n',
  empty: 'paths = []\n',
};

export type Step =
  | { do: 'script'; place: string; name: string; text: string; backdate: boolean }
  | { do: 'skill'; place: string; entry: string; text: string }
  | { do: 'text'; place: string; entry: string; text: string }
  | { do: 'rename' | 'link'; place: string; name: string; to: string }
  | { do: 'delete'; place: string; name: string }
  | { do: 'chmod'; place: string; name: string; mode: number }
  | { do: 'workdir'; root: string }
  | { do: 'config'; config: string }
  | { do: 'register'; name: string; word: string }
  | { do: 'unregister'; name: string }
  | { do: 'clear'; name: string | undefined }
  | { do: 'list' | 'restart' | 'findAll' }
  | { do: 'find'; ref: string };

type FileStep = Extract<Step, { place: string }>;

/** Every name that occurs in the histories, and one that never does. */
export const EVERY_NAME = [...NAMES, 'z', 'q', 'nothing'] as const;

const constant = <T extends string>(value: T) => fc.constant(value);
// Most steps use two of them, so that steps affect each other.
const skillPlace = fc.constantFrom(...SKILL_PLACES, 'skills', 'skills', 'skills', 'lib', 'lib');
const scriptPlace = fc.constantFrom(...SCRIPT_PLACES);
const name = fc.constantFrom(...NAMES);
const entry = fc.constantFrom(...ENTRIES);
const ref = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<string>(...NAMES, ...SCRIPTS, 'z', 'nothing', 'a b') },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...SKILL_PLACES),
        entry,
        fc.constantFrom('', '/tools.json'),
        fc.constantFrom('', '#a', '#z'),
      )
      .map(([place, at, file, fragment]) => `${place}/${at}${file}${fragment}`),
  },
  { weight: 1, arbitrary: fc.tuple(scriptPlace, name).map(([place, at]) => `${place}/${at}`) },
  { weight: 1, arbitrary: name.map((at) => `inline://${at}`) },
);

/** A step of a history. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: constant('script'),
      place: scriptPlace,
      name: fc.constantFrom(...SCRIPTS),
      text: fc.constantFrom(...SCRIPT_TEXTS),
      backdate: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: constant('skill'),
      place: skillPlace,
      entry,
      text: fc.constantFrom(...DESCRIPTORS, '{'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: constant('text'),
      place: skillPlace,
      entry,
      text: fc.constantFrom('---\nname: text\ndescription: One.\n---\nText.\n', 'nothing'),
    }),
  },
  ...[[skillPlace, entry] as const, [scriptPlace, fc.constantFrom(...SCRIPTS)] as const].flatMap(
    ([place, at]): fc.WeightedArbitrary<Step>[] => [
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constantFrom('rename' as const, 'link' as const),
          place,
          name: at,
          to: at,
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: constant('delete'), place, name: at }) },
      {
        weight: 1,
        arbitrary: fc.record({ do: constant('chmod'), place, name: at, mode: fc.constantFrom(0o644, 0o755) }),
      },
    ],
  ),
  { weight: 1, arbitrary: fc.record({ do: constant('workdir'), root: fc.constantFrom(...ROOTS) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: constant('config'), config: fc.constantFrom(...Object.keys(CONFIGS)) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: constant('register'),
      name: fc.constantFrom('a', 'b', 'q'),
      word: fc.constantFrom('x', 'y'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: constant('unregister'), name: fc.constantFrom('a', 'b', 'q') }) },
  { weight: 1, arbitrary: fc.record({ do: constant('clear'), name: fc.option(name, { nil: undefined }) }) },
  { weight: 4, arbitrary: fc.record({ do: constant('list') }) },
  { weight: 1, arbitrary: fc.record({ do: constant('restart') }) },
  { weight: 5, arbitrary: fc.record({ do: constant('findAll') }) },
  { weight: 4, arbitrary: fc.record({ do: constant('find'), ref }) },
);

/** Applies a step to the files. */
export function act(root: string, workdir: string, action: Step): void {
  if (!('place' in action)) return;
  const directory = action.place.startsWith('~/')
    ? join(root, 'home', action.place.slice(2))
    : join(workdir, action.place);
  actIn(directory, action);
}

function actIn(directory: string, action: FileStep): void {
  const path = join(directory, 'entry' in action ? action.entry : action.name);
  switch (action.do) {
    case 'script':
      put(path, action.text, 0o755);
      if (action.backdate) utimesSync(path, 1_000_000, 1_000_000);
      break;
    case 'skill':
      put(join(path, 'tools.json'), action.text, 0o644);
      break;
    case 'text':
      put(join(path, 'SKILL.md'), action.text, 0o644);
      break;
    case 'rename':
      if (existsSync(path)) {
        const to = join(directory, action.to);
        if (to !== path) rmSync(to, { recursive: true, force: true });
        renameSync(path, to);
      }
      break;
    case 'link':
      rmSync(path, { recursive: true, force: true });
      mkdirSync(directory, { recursive: true });
      symlinkSync(action.to, path);
      break;
    case 'delete':
      rmSync(path, { recursive: true, force: true });
      break;
    case 'chmod':
      if (existsSync(path)) chmodSync(path, lstatSync(path).isDirectory() ? 0o755 : action.mode);
      break;
  }
}

// An existing file is edited in place; anything else at the path is removed.
function put(path: string, text: string, mode: number): void {
  const parent = dirname(path);
  if (existsSync(parent) ? !lstatSync(parent).isDirectory() : isLink(parent)) rmSync(parent, { force: true });
  mkdirSync(parent, { recursive: true });
  if (existsSync(path)) {
    writeFileSync(path, text);
    return;
  }
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, text, { mode });
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** Creates two workdirs and a home with enough files for indexes on disk, including files that the steps change. */
export function prepare(root: string): string {
  for (const workdir of ROOTS) {
    for (let at = 0; at < 16; at++) {
      actIn(join(root, workdir, '.agents/tools'), scriptStep(`z${at}`));
      actIn(join(root, workdir, 'skills'), skillStep(`zz${at}`, JSON.stringify(printing('filler', [`filler_${at}`]))));
    }
    for (const at of NAMES.slice(0, 3)) actIn(join(root, workdir, '.agents/tools'), scriptStep(at));
    actIn(join(root, workdir, 'skills'), skillStep('one', DESCRIPTORS[0]!));
    actIn(join(root, workdir, 'lib'), skillStep('two', DESCRIPTORS[4]!));
  }
  actIn(join(root, 'home/.agents/skills'), skillStep('one', DESCRIPTORS[3]!));
  actIn(join(root, 'home/shared'), skillStep('two', DESCRIPTORS[5]!));
  return root;
}

function scriptStep(at: string): FileStep {
  return { do: 'script', place: '', name: at, text: SCRIPT_TEXTS[0]!, backdate: false };
}

function skillStep(at: string, text: string): FileStep {
  return { do: 'skill', place: '', entry: at, text };
}
