// Runs a hook as a bounded process.

import { ToolError } from '../../core/error.js';
import { formatDuration, sanitize } from '../../core/text.js';
import { baseEnvironment, searchPath } from '../../process/environment.js';
import { createGuard } from '../../process/guard.js';
import { findLimiter, limitLauncher } from '../../process/limits.js';
import { runProcess } from '../../process/spawn.js';
import type { InstallEnvironment } from '../environment.js';
import type { Hook } from './hook.js';

const TIMEOUT_MS = 15 * 60_000;
const SHOWN_OUTPUT = 2000;
let guard: (() => void) | undefined;

/** Throws `tool_failed` with the end of the output if the hook fails (HOOK-3). */
export async function runHook(hook: Hook, directory: string, environment: InstallEnvironment): Promise<void> {
  const { world, limits, signal, report } = environment;
  const { event, run, item, source } = hook;
  const name = `the ${event} hook of ${item ?? source}`;
  const path = searchPath(world);
  // If wield is killed, the hook ends too: it must not write into files that recovery restores.
  guard ??= createGuard(world);
  guard();
  report({ kind: 'progress', text: `running ${name}` });
  const outcome = await runProcess(
    {
      // HOOK-5: the command is one argument; nothing is interpolated.
      argv: [...limitLauncher(limits, () => findLimiter(world.platform, path)), '/bin/sh', '-c', run],
      cwd: directory,
      environment: {
        ...baseEnvironment(world, []),
        WIELD_SOURCE: source,
        WIELD_ITEM: item ?? '',
        WIELD_EVENT: event,
      },
      stdin: '',
      timeoutMs: TIMEOUT_MS,
      outputBytes: limits.outputBytes,
      signal,
    },
    world,
  );
  if (outcome.ending === 'exit' && outcome.exitCode === 0) return;
  if (outcome.ending === 'cancelled')
    throw new ToolError('cancelled', `${name} was cancelled`, { hint: 'run the command again' });
  const failure =
    outcome.ending === 'timeout'
      ? `timed out after ${formatDuration(TIMEOUT_MS)}`
      : outcome.ending === 'capped'
        ? 'exceeded the output limit'
        : `failed with ${outcome.signal ?? `status ${outcome.exitCode}`}`;
  const output = sanitize(`${outcome.stdout}${outcome.stderr}`).trim().slice(-SHOWN_OUTPUT);
  throw new ToolError('tool_failed', `${name} ${failure}${output === '' ? '' : `:\n${output}`}`, {
    hint: 'nothing was changed; report it to the author of the source',
    data: { item, source, event, run, exitCode: outcome.exitCode },
  });
}
