// Approval of hooks, stored by digest in hooks.json.

import { quoteOutside } from '../../core/text.js';
import { readTextFile } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import type { InstallEnvironment, InstallPaths } from '../environment.js';
import { parseState } from '../manifest/installed.js';
import type { Hook } from './hook.js';

/** Returns the digests of the hooks that may run: those approved before, and those approved now. */
export async function approveHooks(
  hooks: readonly Hook[],
  environment: InstallEnvironment,
): Promise<ReadonlySet<string>> {
  const { paths, report } = environment;
  const approved = loadApproved(paths);
  const pending = hooks.filter(({ digest }) => !approved.has(digest));
  if (pending.length > 0 && (await environment.approveHooks(pending))) {
    for (const { digest } of pending) approved.add(digest);
    const document = { version: 1, approved: [...approved].sort() };
    writeFileAtomic(paths.hooksFile, `${JSON.stringify(document, null, 1)}\n`);
  } else
    for (const { item, source, event, run } of pending)
      report({
        kind: 'note',
        text: `skipped the ${event} hook of ${item ?? source}: ${quoteOutside(run, 200)}`,
      });
  return new Set(hooks.map(({ digest }) => digest).filter((digest) => approved.has(digest)));
}

function loadApproved({ hooksFile }: InstallPaths): Set<string> {
  const text = readTextFile(hooksFile);
  if (text === undefined) return new Set();
  const { approved } = parseState(text, hooksFile, 1);
  return new Set(Array.isArray(approved) ? approved.filter((one) => typeof one === 'string') : []);
}
