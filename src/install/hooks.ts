// Hooks: shell commands of a source or an item; approved by digest, and run as bounded processes.

import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import { digestParts } from '../files/digest.js';
import { readStateFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import type { Hook, InstallEnvironment, InstallPaths } from './environment.js';
import { parseState } from './manifest/installed.js';

/** Adds the digest that approvals are stored by; `bytes` is the hash of the files the command runs on (A31). */
export function toHook(facts: Omit<Hook, 'digest'>, location: string, bytes: string): Hook {
  const { item, kind, event, run } = facts;
  return { ...facts, digest: digestParts(['hook', location, kind ?? '', item ?? '', event, run, bytes]) };
}

/** The error for files that changed after a hook was approved for them (HOOK-6). */
export function changedError(what: string): ToolError {
  return new ToolError('integrity', `${what} changed after its hook was approved; the hook was not run`, {
    hint: 'find out why, then run the command again',
  });
}

/** Returns the digests of the hooks that may run: those approved before, and those approved now. */
export async function approveHooks(
  hooks: readonly Hook[],
  environment: InstallEnvironment,
): Promise<ReadonlySet<string>> {
  const { paths, report } = environment;
  const approved = loadApproved(paths);
  const pending = pendingHooks(hooks, paths);
  if (pending.length > 0 && (await environment.approveHooks(pending))) {
    for (const { digest } of pending) approved.add(digest);
    const document = { version: 1, approved: [...approved].sort() };
    writeFileAtomic(paths.hooksFile, `${JSON.stringify(document, null, 1)}\n`);
  } else
    for (const { item, source, event, run } of pending)
      report({ kind: 'note', text: `skipped the ${event} hook of ${item ?? source}: ${quoteOutside(run, 200)}` });
  return new Set(hooks.map(({ digest }) => digest).filter((digest) => approved.has(digest)));
}

/** Returns the hooks that are not approved yet. */
export function pendingHooks(hooks: readonly Hook[], paths: InstallPaths): readonly Hook[] {
  const approved = loadApproved(paths);
  return hooks.filter(({ digest }) => !approved.has(digest));
}

function loadApproved({ hooksFile }: InstallPaths): Set<string> {
  const text = readStateFile(hooksFile);
  if (text === undefined) return new Set();
  const { approved } = parseState(text, hooksFile, 1);
  return new Set(Array.isArray(approved) ? approved.filter((one) => typeof one === 'string') : []);
}
