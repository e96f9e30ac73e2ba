// Tests of stored tool lists: every part of an approved definition is checked before it is used, and failures replace none.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import type { World } from '../../core/snapshot.js';
import { createListingFiles, type Listing, type StoredTool } from './listing-file.js';

const WORLD = { now: Date.now, debug: () => {} } as unknown as World;
const TRAITS = { tags: [], examples: [] };
const APPROVED = { description: 'Before.', traits: TRAITS, input: { type: 'object' }, output: { type: 'object' } };
const TOOL = {
  name: 'far_one',
  remoteName: 'one',
  description: 'Now.',
  traits: TRAITS,
  definition: 'd',
  input: { type: 'object' },
  approved: APPROVED,
} as unknown as StoredTool;

const LISTING: Listing = { at: 1, version: { kind: 'legacy' }, faults: [], tools: [TOOL] };

function createDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'wield-listings-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Stores a tool, changes its approved definition in the file, and loads it. */
function load(approved: unknown): StoredTool | undefined {
  const directory = createDirectory();
  const files = createListingFiles(directory, WORLD);
  files.save('server', LISTING);
  const [name] = readdirSync(directory);
  const path = join(directory, name!);
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(JSON.stringify(APPROVED), () => JSON.stringify(approved)),
  );
  return (files.load('server') as Listing | undefined)?.tools[0];
}

spec('UPS-3 POL-21', 'a stored definition whose approved part is damaged is not used', () => {
  expect(load(APPROVED)).toMatchObject({ name: 'far_one', approved: APPROVED });
  expect(load({ ...APPROVED, output: undefined })).toMatchObject({ approved: { description: 'Before.' } });
  const damaged: readonly unknown[] = [
    null,
    [],
    'text',
    {},
    { ...APPROVED, description: 1 },
    { ...APPROVED, traits: {} },
    { ...APPROVED, traits: { tags: 'a', examples: [] } },
    { ...APPROVED, traits: { tags: [] } },
    { ...APPROVED, input: 'object' },
    { ...APPROVED, input: undefined },
    { ...APPROVED, output: [] },
    { ...APPROVED, output: 'object' },
  ];
  for (const approved of damaged) expect(load(approved), JSON.stringify(approved)).toBeUndefined();
});

spec('UPS-127', 'a failed start never replaces a tool list that another process stored meanwhile', () => {
  const directory = createDirectory();
  const [one, other] = [createListingFiles(directory, WORLD), createListingFiles(directory, WORLD)];
  const failure = { at: 1, count: 1, message: 'it failed', hint: 'start it again' };
  one.saveFailure('server', failure);
  expect(other.load('server')).toMatchObject(failure);
  // Both looked before: there was no list.
  other.save('server', LISTING);
  expect(readdirSync(directory)).toHaveLength(1);
  one.saveFailure('server', failure);
  for (const files of [one, other]) expect(files.load('server')).toMatchObject({ tools: [TOOL] });
  one.removeFailure('server');
  for (const files of [one, other]) expect(files.load('server')).toMatchObject({ tools: [TOOL] });
});
