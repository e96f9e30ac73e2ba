// What is wrong with installed items and their sources, with the command that mends each.

import { isToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import { isLocked } from '../files/lock.js';
import { isInterrupted } from './apply/commit.js';
import { pathsOf } from './environment.js';
import { loadInventory } from './plan/plans.js';
import { lookingContext } from './search.js';
import { type ItemState, readStatus } from './status.js';

const SAID: Readonly<Record<ItemState, readonly [message: string, hint: string]>> = {
  clean: ['is as installed', ''],
  'upstream changed': ['is other upstream than what is installed', 'wield upgrade --dry-run shows how'],
  'locally modified': [
    'was changed where it is installed',
    'wield install NAME --accept keeps the changes, --force drops them',
  ],
  missing: ['is missing from the store', 'wield install NAME --force puts it back'],
  'broken link': ['is not linked where it should be', 'wield install NAME --force links it again'],
  renamed: ['has another name now', 'wield upgrade renames it'],
  pending: ['refers to something that moved', 'wield upgrade renews it'],
  'gone upstream': ['is no longer offered by its source', 'wield uninstall NAME removes it'],
  unbuilt: ['is not built: its build was skipped', 'wield install NAME --run-hooks builds it'],
  'bad reference': ['refers upstream to something that is not there', 'tell the author of its source'],
};

/** Everything about installed items that is worth a word (INS-26). */
export function findInstallProblems(options: Parameters<typeof lookingContext>[0]): Problem[] {
  const paths = pathsOf(options.wieldHome);
  const problems: Problem[] = [];
  const tell = (path: string, message: string, hint: string): void => {
    problems.push({ severity: 'error', path, message, hint });
  };
  try {
    if (isInterrupted(paths) && !isLocked(paths.lock))
      tell(
        paths.journal,
        'a change was interrupted',
        'wield list --installed settles it, as any next change does',
      );
    const context = lookingContext(options);
    const inventory = loadInventory(
      {
        ...context,
        report: ({ text }) => tell(paths.sources, text, 'mend the source, or wield remove-source it'),
      },
      paths,
    );
    for (const { item, states, renamedTo } of readStatus(inventory)) {
      for (const state of states.filter((one) => one !== 'clean')) {
        const [message, hint] = SAID[state];
        const to = renamedTo === undefined ? '' : `: ${item.effective} → ${renamedTo}`;
        tell(
          item.store,
          `the ${item.kind} ${item.effective} ${message}${to}`,
          hint.replaceAll('NAME', `${item.kind}:${item.effective}`),
        );
      }
    }
  } catch (error) {
    if (!isToolError(error)) throw error;
    tell(paths.installedFile, error.message, error.hint ?? '');
  }
  return problems;
}
