// Runs a server whose longest turn of the event loop is measured.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { patience } from './patience.js';
import { type StdioServer, serveStdio } from './server.js';
import type { Workspace } from './workspace.js';

const LOOP_DELAY = fileURLToPath(new URL('loop-delay.mjs', import.meta.url));

export interface Measured {
  readonly server: StdioServer;
  /** The longest turn of the event loop since the last call, in units of loop-delay.mjs: each a few milliseconds of work. */
  busy(): Promise<number>;
}

export async function serveMeasured(workspace: Workspace, args: readonly string[] = []): Promise<Measured> {
  const file = join(workspace.home, 'loop-delay');
  const env = { NODE_OPTIONS: `--import "${LOOP_DELAY}"`, LOOP_DELAY_FILE: file };
  const server = serveStdio(workspace, { env, ...(args.length === 0 ? {} : { args }) });
  await server.initialize();
  let resets = 0;
  const read = (): readonly number[] =>
    existsSync(file) ? (/^(\d+) (.+)\n$/.exec(readFileSync(file, 'utf8')) ?? []).slice(1).map(Number) : [];
  return {
    server,
    async busy() {
      // Answered in a later turn than that of the call, so that one has been measured.
      await server.request(`turn ${++resets}`, 'ping');
      const [, longest = 0] = read();
      server.child.kill('SIGUSR2');
      await expect.poll(() => read()[0], { timeout: patience(60_000) }).toBe(resets);
      return longest;
    },
  };
}

/** The smallest of some measurements: the machine may be busy, but what blocks blocks every time. */
export async function leastBusy(
  busy: Measured['busy'],
  most: number,
  attempt: (id: string) => Promise<void>,
): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < 4 && least >= most; index++) {
    await busy();
    await attempt(`${index}`);
    least = Math.min(least, await busy());
  }
  return least;
}
