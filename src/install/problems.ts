// Problems of installed items, with what to do about them.

import { isToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import { isInterrupted } from './apply/journal.js';
import { pathsOf } from './environment.js';
import { loadInventory } from './inventory.js';
import { type ItemState, readStatus } from './status.js';
import { type ReadableToolbox, toReadOnlyEnvironment } from './toolbox-environment.js';

type Advice = readonly [message: string, hint: (name: string) => string];

const ADVICE: Readonly<Record<Exclude<ItemState, 'clean'>, Advice>> = {
  'upstream changed': ['changed in its source', () => 'wield upgrade --dry-run shows the changes'],
  'locally modified': [
    'was modified locally',
    (name) => `wield install ${name} --accept keeps the changes, --force discards them`,
  ],
  missing: ['is missing from the store', () => 'wield doctor --fix restores it'],
  'broken link': ['has a missing or changed link', () => 'wield doctor --fix links it again'],
  renamed: ['was renamed in its source', () => 'wield upgrade renames it'],
  pending: ['refers to an item that changed', () => 'wield upgrade updates it'],
  'gone upstream': ['is no longer in its source', (name) => `wield uninstall ${name} removes it`],
  unbuilt: ['is not built: its build hook was skipped', (name) => `wield install ${name} --run-hooks builds it`],
  'bad reference': [
    'refers to an item that does not exist in its source',
    () => 'report it to the author of the source',
  ],
};

/** Returns everything that is not clean (INS-26). */
export function findInstallProblems(toolbox: ReadableToolbox): Problem[] {
  const paths = pathsOf(toolbox.machine.wieldHome);
  const problems: Problem[] = [];
  const add = (path: string, message: string, hint: string): void => {
    problems.push({ severity: 'error', path, message, hint });
  };
  try {
    if (isInterrupted(paths))
      add(paths.journal, 'a change was interrupted', 'wield list --installed finishes or undoes it');
    const environment = toReadOnlyEnvironment(toolbox, {
      report: ({ text }) => add(paths.sources, text, 'fix the source, or remove it with wield remove --source'),
    });
    for (const { item, states, renamedTo } of readStatus(loadInventory(environment))) {
      for (const state of states) {
        if (state === 'clean') continue;
        const [message, hint] = ADVICE[state];
        const to = renamedTo === undefined ? '' : `: ${item.effective} → ${renamedTo}`;
        const name = `${item.kind}:${item.effective}`;
        add(item.store, `the ${item.kind} ${item.effective} ${message}${to}`, hint(name));
      }
    }
  } catch (error) {
    if (!isToolError(error)) throw error;
    add(paths.installedFile, error.message, error.hint ?? '');
  }
  return problems;
}
