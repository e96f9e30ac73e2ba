// Sends a message about a waiting call: to the input of a command, or signed to an address (IDN-11).

import { createHmac } from 'node:crypto';
import { dirname } from 'node:path';
import { toToolError } from '../core/error.js';
import { addSecrets, type KnownSecrets } from '../core/redact.js';
import type { NotifySettings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import type { CreateFetch } from '../net/fetch.js';
import { baseEnvironment, findProgram, searchPath } from '../process/environment.js';
import { runProcess } from '../process/spawn.js';
import { expandCredentials } from '../upstream/entries/expand.js';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 64 * 1024;

export interface SendOptions {
  /** The file of the settings, which references are relative to. */
  readonly file: string;
  readonly world: World;
  /** The key of signatures is added. */
  readonly secrets: KnownSecrets;
  readonly createFetch: CreateFetch;
  readonly signal: AbortSignal;
}

/** Sends a message once. Throws if it is not accepted. */
export async function sendMessage(
  body: string,
  { command, url, secret }: NotifySettings,
  { world, file, secrets, createFetch, signal }: SendOptions,
): Promise<void> {
  if (command !== undefined) return runCommand(command, body, world, signal);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (secret !== undefined) {
    const given = { name: 'approvals.notify', url: url!, values: [secret], file };
    const { values, secrets: found } = await expandCredentials(given, { world, workdir: dirname(file) });
    addSecrets(secrets, found);
    const time = Math.floor(world.now() / 1000);
    const signature = createHmac('sha256', values[0]!).update(`${time}.${body}`).digest('hex');
    headers['wield-signature'] = `t=${time},v1=${signature}`;
  }
  // Another origin is not followed, so that a redirect leads to no address inside.
  const fetch = createFetch({ url: url!, confidential: true, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
  const response = await fetch(url!, { method: 'POST', headers, body, signal }).catch((error: unknown) => {
    throw new Error(withoutPath(toToolError(error).message, url!));
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`status ${response.status}`);
}

// The path of an address may be its secret.
function withoutPath(message: string, url: string): string {
  const { pathname } = new URL(url);
  return pathname === '/' ? message : message.replaceAll(pathname, '/…');
}

async function runCommand(command: readonly string[], body: string, world: World, signal: AbortSignal): Promise<void> {
  const [name = '', ...args] = command;
  const path = searchPath(world);
  const program = findProgram(
    name.replace(/^~(?=\/)/, () => world.home ?? '~'),
    path,
  );
  if (program === undefined) throw new Error(`command not found: ${name}`);
  const { ending, exitCode } = await runProcess(
    {
      argv: [program, ...args],
      cwd: world.home ?? '/',
      environment: baseEnvironment(world, []),
      stdin: body,
      timeoutMs: TIMEOUT_MS,
      outputBytes: MAX_BYTES,
      signal,
    },
    world,
  );
  if (ending !== 'exit' || exitCode !== 0) throw new Error(ending === 'exit' ? `exit status ${exitCode}` : ending);
}
