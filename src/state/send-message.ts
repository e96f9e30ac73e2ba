// Sends a message about a waiting call: to the input of a command, or signed to an address (IDN-11).

import type { NotifySettings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { loadCrypto } from '../files/digest.js';
import { expandHome } from '../files/home.js';
import { baseEnvironment, findProgram, searchPath } from '../process/environment.js';
import { runProcess } from '../process/spawn.js';
import { MAX_BYTES, type PostOptions, post, readCredential, TIMEOUT_MS } from './post.js';

/** Sends a message once. Throws if it is not accepted. */
export async function sendMessage(
  body: string,
  { command, url, secret }: NotifySettings,
  options: PostOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const { world, signal } = options;
  if (command !== undefined) return runCommand(command, body, world, signal);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (secret !== undefined) {
    const key = await readCredential({ name: 'approvals.notify', url: url!, secret }, options);
    const time = Math.floor(world.now() / 1000);
    const signature = loadCrypto().createHmac('sha256', key).update(`${time}.${body}`).digest('hex');
    headers['wield-signature'] = `t=${time},v1=${signature}`;
  }
  await post(url!, { headers, body, signal }, options);
}

async function runCommand(command: readonly string[], body: string, world: World, signal: AbortSignal): Promise<void> {
  const [name = '', ...args] = command;
  const path = searchPath(world);
  const program = findProgram(expandHome(name, world.home), path);
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
