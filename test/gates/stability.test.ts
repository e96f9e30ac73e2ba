// Gate: what the last recorded release has, this version has too: exports, flags, exit statuses, members of JSON documents and
// keys of files. `npm run record-release` records this version.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { VERBS } from '../../src/cli/verbs.js';
import { ERROR_CODES } from '../../src/core/error.js';
import { mapValues } from '../../src/core/json.js';
import { wield } from '../support/cli.js';
import {
  IS_RECORDING,
  type JsonShape,
  lostOf,
  missingOf,
  RELEASE_FILE,
  type Release,
  readRelease,
  shapeOf,
} from '../support/release.js';
import { share } from '../support/share.js';
import { ROOT } from '../support/sources.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const SKILL = '---\nname: review\ndescription: Reviews a file.\n---\n\nRead it.\n';
const COUNT = '#!/bin/sh\n# @description Counts.\n# @param *text string What to count\necho 1\n';

// Each prints one document; in order, because later ones show what earlier ones did.
const COMMANDS = [
  'version',
  'init',
  'list',
  'show hello',
  'call hello --name Ada',
  'call hello --name Ada --dry-run',
  'call nothing',
  'call hello --nme Ada',
  'search hello',
  'explain hello',
  'check',
  'tokens',
  'trust --list',
  'new double --yes',
  'remove double --yes',
  'remove --undo',
  'audit',
  'approvals',
  'config',
  'doctor',
  'connect cursor --yes',
  'mcp add other --yes -- sh -c true',
  'mcp list',
  'add ./source',
  'install --all --yes',
  'list --installed',
  'list --outdated',
  'verify',
  'show --source source',
  'upgrade --yes',
  'upgrade --fetch-only',
  'hooks list',
  'uninstall count --yes',
] as const;

/** Runs the commands in one workspace. */
async function readDocuments(): Promise<Readonly<Record<string, JsonShape>>> {
  const workspace: Workspace = createWorkspace();
  workspace.write('source/skills/review/SKILL.md', SKILL);
  workspace.write('source/tools/count/count', COUNT, 0o755);
  const documents: Record<string, JsonShape> = {};
  for (const command of COMMANDS) {
    if (command === 'check') workspace.script('faulty', '#!/bin/sh\n# @param name strng Whom to greet\n');
    const { stdout } = await wield(workspace, ['--json', ...command.split(' ')]);
    documents[command] = shapeOf(JSON.parse(stdout));
  }
  return documents;
}

/** Flags that the help of each command names. */
async function readHelp(): Promise<Readonly<Record<string, readonly string[]>>> {
  const workspace = createWorkspace();
  const commands = VERBS.flatMap(({ name, modes }) => [
    [name],
    ...Object.keys(modes).map((mode) => [name, `--${mode}`]),
  ]);
  const help: Record<string, readonly string[]> = {};
  for (const command of commands) {
    const { stdout } = await wield(workspace, [...command, '--help']);
    help[command.join(' ')] = [...new Set(stdout.match(/(?<![\w-])--[a-z][\w-]*/g) ?? [])].sort();
  }
  return help;
}

/** Keys of the files that users write, with those of their parts. */
function readFiles(): Readonly<Record<string, readonly string[]>> {
  const names = readdirSync(join(ROOT, 'schemas')).sort();
  const keysOf = (value: unknown, path: string): string[] => {
    if (value === null || typeof value !== 'object') return [];
    const { properties, ...rest } = value as { properties?: Record<string, unknown> };
    const own = Object.entries(properties ?? {}).flatMap(([key, one]) => [
      `${path}${key}`,
      ...keysOf(one, `${path}${key}.`),
    ]);
    return [...own, ...Object.values(rest).flatMap((one) => keysOf(one, path))];
  };
  return Object.fromEntries(
    names.map((name) => [
      name,
      [...new Set(keysOf(JSON.parse(readFileSync(join(ROOT, 'schemas', name), 'utf8')), ''))].sort(),
    ]),
  );
}

async function readExports(): Promise<Release['exports']> {
  const entries = Object.entries<{ default: string }>(manifest.exports).filter(([entry]) => !entry.endsWith('.json'));
  const read = async ([entry, { default: file }]: (typeof entries)[number]) => {
    const source = file.replace('./dist/', 'src/').replace(/\.js$/, '.ts');
    return [entry.replace(/^\./, 'wield'), Object.keys(await import(join(ROOT, source))).sort()] as const;
  };
  return Object.fromEntries(await Promise.all(entries.map(read)));
}

const present = share(
  async (): Promise<Release> => ({
    version: manifest.version,
    exports: await readExports(),
    codes: mapValues(ERROR_CODES, ({ exit }) => exit),
    help: await readHelp(),
    json: await readDocuments(),
    files: readFiles(),
  }),
);

describe('compared with the last recorded release', () => {
  spec('PKG-7', 'exports, flags and keys of files are still there', () => {
    const now = present();
    if (IS_RECORDING) writeFileSync(RELEASE_FILE, `${JSON.stringify(now, undefined, 1)}\n`);
    const before = readRelease();
    expect(missingOf(before.exports, now.exports)).toEqual([]);
    expect(missingOf(before.help, now.help)).toEqual([]);
    expect(missingOf(before.files, now.files)).toEqual([]);
  });

  spec('PKG-7', 'errors have the same exit statuses', () => {
    expect(present().codes).toMatchObject(readRelease().codes);
  });

  spec('PKG-7', 'JSON documents have the same members, of the same types', () => {
    const { json } = present();
    const before = readRelease().json;
    expect(Object.entries(before).flatMap(([command, shape]) => lostOf(shape, json[command], command))).toEqual([]);
    for (const shape of Object.values(json)) expect(shape).toMatchObject({ ok: 'boolean', schema: 'number' });
  });
});

describe('the comparison', () => {
  spec('PKG-7', 'finds what is missing or has another type, and accepts what is new', () => {
    const before = shapeOf({
      ok: true,
      items: [
        { name: 'a', size: 1 },
        { name: 'b', size: null, extra: 1 },
      ],
      note: null,
    });
    const same = { ok: true, added: {}, items: [{ name: 'c', size: 3, more: [] }], note: 'now' };
    expect(lostOf(before, shapeOf(same), 'list')).toEqual([]);
    expect(lostOf(before, shapeOf({ ...same, items: [] }), 'list')).toEqual([]);
    expect(lostOf(before, shapeOf({ ...same, items: [{ name: 3, size: 3 }] }), 'list')).toEqual([
      'list.items[].name was string and is "number"',
    ]);
    expect(lostOf(before, shapeOf({ ...same, items: [{ name: 'c' }] }), 'list')).toEqual([
      'list.items[].size is missing',
    ]);
    expect(lostOf(before, shapeOf({ items: {}, note: 1 }), 'list')).toEqual([
      'list.ok is missing',
      'list.items[] is missing',
    ]);
    expect(missingOf({ list: ['--json', '--tag'], add: ['--yes'] }, { list: ['--json', '--new'] })).toEqual([
      'list: --tag',
      'add: --yes',
    ]);
  });
});
