// `wield doctor --clean`: removes caches, expired data and unreferenced objects.

import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { orNothing } from '../../core/error.js';
import { count, formatBytes } from '../../core/text.js';
import { isAbandonedContender } from '../../files/lock.js';
import { statOrNothing } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { toFileError } from '../../files/state.js';
import { isWithin } from '../../files/within.js';
import { findAbandoned, isAbandoned } from '../../files/write.js';
import { recoverIfIdle } from '../../install/lock.js';
import { toRecoveryEnvironment } from '../../install/toolbox-environment.js';
import { ASKS } from '../consent.js';
import { report } from '../print.js';
import type { Verb } from '../verb.js';

export const clean: Verb = {
  usage: 'doctor --clean [--dry-run] [--json]',
  summary: 'Remove caches, expired approvals and results, unreferenced documents and temporary files.',
  examples: ['wield doctor --clean --dry-run', 'wield doctor --clean'],
  // Does not ask: nothing that it removes is needed (CLI-31).
  flags: ASKS,
  async run(call) {
    const { toolbox, signal, dryRun } = call;
    if (!dryRun) await recoverIfIdle(toRecoveryEnvironment(toolbox(), signal));
    const {
      machine: { wieldHome, world },
      workspace: { workdir },
      state: { approvals, configuration, stores },
    } = toolbox();
    const stale = approvals.stale().map(({ path }) => path);
    const cache = join(wieldHome, 'cache');
    const abandoned = findFiles(wieldHome).filter(
      (path) => !isWithin(cache, path) && (isAbandoned(path) || isAbandonedContender(path)),
    );
    const outside = findOutside(world.home, workdir);
    const found = [...new Set([...findFiles(cache), ...stale, ...abandoned, ...outside])].map((path) => ({
      path,
      bytes: statOrNothing(path)?.size ?? 0,
    }));
    if (!dryRun) for (const { path } of found) remove(path);
    const expired = stores.results.clean(configuration().settings.results, { dryRun });
    const unreachable = await stores.documents.clean({ dryRun });
    const cached = found.reduce((sum, file) => sum + file.bytes, 0);
    const bytes = cached + expired.bytes + unreachable.bytes;
    const what = [
      ...(found.length === 0 ? [] : [count(found.length, 'file')]),
      ...(expired.results === 0 ? [] : [count(expired.results, 'result')]),
      ...(unreachable.files === 0 ? [] : [`${count(unreachable.files, 'object')} of the store`]),
    ];
    const document = { dryRun, removed: found, results: expired.results, objects: unreachable.files, bytes };
    return report(
      call,
      document,
      what.length === 0
        ? '  nothing to remove\n'
        : `  ${dryRun ? 'would remove' : 'removed'}  ${what.join(', ')}, ${formatBytes(bytes)}\n`,
    );
  },
};

// Servers, documents, settings and locks are written beside files of others.
function findOutside(home: string | undefined, workdir: string): string[] {
  const agents = [...(home === undefined ? [] : [join(home, '.agents')]), join(workdir, '.agents')];
  const directories = [...agents, ...agents.map((directory) => join(directory, 'tools')), workdir];
  return directories.flatMap(findAbandoned).filter((path) => basename(path).startsWith('.wield-'));
}

function findFiles(directory: string): string[] {
  return (
    orNothing(() =>
      readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    ) ?? []
  );
}

function remove(path: string): void {
  try {
    removeFile(path);
  } catch (error) {
    throw toFileError(error, 'write', path);
  }
}
