// Tests which clones of sources are removed.

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { InstallPaths } from '../environment.js';
import type { SourceRecord } from '../state.js';
import { removeUnusedClones } from './clones.js';

test('keeps the commits of all sources that share a clone, and removes the others', () => {
  const sources = mkdtempSync(join(tmpdir(), 'wield-clones-'));
  onTestFinished(() => rmSync(sources, { recursive: true, force: true }));
  for (const tree of [
    'shared/trees/one',
    'shared/trees/one.files',
    'shared/trees/two',
    'shared/trees/old',
    'gone/trees/x',
  ])
    mkdirSync(join(sources, tree), { recursive: true });
  const record = (commit: string) => ({ kind: 'git', directory: 'shared', commit }) as unknown as SourceRecord;
  removeUnusedClones({ sources } as InstallPaths, [record('one'), record('two')]);
  expect(readdirSync(sources)).toEqual(['shared']);
  expect(readdirSync(join(sources, 'shared/trees')).sort()).toEqual(['one', 'one.files', 'two']);
});
