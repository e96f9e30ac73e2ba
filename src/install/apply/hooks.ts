// Hooks: commands that a source wants run, shown before they run, approved by digest, bounded like any process.

import { ToolError } from '../../core/error.js';
import { formatDuration, quoteOutside, sanitize } from '../../core/text.js';
import { digestParts } from '../../files/digest.js';
import { readTextFile } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import { baseEnvironment, searchPath } from '../../process/environment.js';
import { createGuard } from '../../process/guard.js';
import { findLimiter, limitLauncher } from '../../process/limits.js';
import { runProcess } from '../../process/spawn.js';
import type { InstallContext, Paths } from '../environment.js';
import { parseState } from '../manifest/installed.js';
import type { ItemKind } from '../manifest/item-name.js';

export interface Hook {
  /** SHA-256 over everything that decides what would happen: source, bytes, command. */
  readonly digest: string;
  readonly source: string;
  readonly commit: string | null;
  /** The item it belongs to; null: the source itself. */
  readonly item: string | null;
  readonly kind: ItemKind | null;
  readonly event: 'install' | 'uninstall' | 'build';
  /** The text that `/bin/sh -c` gets. */
  readonly run: string;
  /** Where it runs, for people. */
  readonly where: string;
}

const TIME_LIMIT_MS = 15 * 60_000;
const TAIL = 2000;
let guard: (() => void) | undefined;

/** A hook with its digest; `bytes` is the hash of what it would run among (A31). */
export function toHook(facts: Omit<Hook, 'digest'>, location: string, bytes: string): Hook {
  const { item, kind, event, run } = facts;
  return { ...facts, digest: digestParts(['hook', location, kind ?? '', item ?? '', event, run, bytes]) };
}

/** Which hooks may run: those approved before, and those that are approved now. */
export async function consentTo(
  hooks: readonly Hook[],
  paths: Paths,
  context: Pick<InstallContext, 'approveHooks' | 'report'>,
): Promise<ReadonlySet<string>> {
  const known = loadApproved(paths);
  const open = hooks.filter(({ digest }) => !known.has(digest));
  if (open.length > 0) {
    if (await context.approveHooks(open)) {
      for (const { digest } of open) known.add(digest);
      const document = { version: 1, approved: [...known].sort() };
      writeFileAtomic(paths.hooksFile, `${JSON.stringify(document, null, 1)}\n`);
    } else {
      for (const { item, source, event, run } of open)
        context.report({
          kind: 'note',
          text: `skipped the ${event} hook of ${item ?? source}: ${quoteOutside(run, 200)}`,
        });
    }
  }
  return new Set(hooks.map(({ digest }) => digest).filter((digest) => known.has(digest)));
}

function loadApproved({ hooksFile }: Paths): Set<string> {
  const text = readTextFile(hooksFile);
  if (text === undefined) return new Set();
  const { approved } = parseState(text, hooksFile, 1);
  return new Set(Array.isArray(approved) ? approved.filter((one) => typeof one === 'string') : []);
}

/** Runs a hook in a directory. Throws `tool_failed` with the end of what it said (HOOK-3). */
export async function runHook(hook: Hook, directory: string, context: InstallContext): Promise<void> {
  const { world, limits, signal, report } = context;
  const { event, run, item, source } = hook;
  const path = searchPath(world);
  // Where we are killed, what a hook started ends with us: it must not write into what is undone.
  guard ??= createGuard(world);
  guard();
  report({ kind: 'progress', text: `running the ${event} hook of ${item ?? source}` });
  const outcome = await runProcess(
    {
      // HOOK-5: the text is one argument, and nothing is put into it.
      argv: [...limitLauncher(limits, () => findLimiter(world.platform, path)), '/bin/sh', '-c', run],
      cwd: directory,
      environment: {
        ...baseEnvironment(world, []),
        WIELD_SOURCE: source,
        WIELD_ITEM: item ?? '',
        WIELD_EVENT: event,
      },
      stdin: '',
      timeoutMs: TIME_LIMIT_MS,
      outputBytes: limits.outputBytes,
      signal,
    },
    world,
  );
  if (outcome.ending === 'exit' && outcome.exitCode === 0) return;
  if (outcome.ending === 'cancelled')
    throw new ToolError('cancelled', `the ${event} hook of ${item ?? source} was stopped`, {
      hint: 'run the command again',
    });
  const how =
    outcome.ending === 'timeout'
      ? `did not end within ${formatDuration(TIME_LIMIT_MS)}`
      : outcome.ending === 'capped'
        ? 'wrote more than it may'
        : `failed with ${outcome.signal ?? `status ${outcome.exitCode}`}`;
  const said = sanitize(`${outcome.stdout}${outcome.stderr}`).trim().slice(-TAIL);
  throw new ToolError(
    'tool_failed',
    `the ${event} hook of ${item ?? source} ${how}${said === '' ? '' : `:\n${said}`}`,
    {
      hint: 'nothing was changed; tell the author of the source',
      data: { item, source, event, run, exitCode: outcome.exitCode },
    },
  );
}
