// Tries programs out: whether a launcher works, and which version one has.

import { existsSync } from 'node:fs';
import type { World } from '../../core/snapshot.js';
import { removeFile } from '../../files/remove.js';
import { searchPath } from '../environment.js';
import { readProc } from '../proc.js';
import { runProcess } from '../spawn.js';

const PROBE_MS = 15_000;

export interface Trial {
  /** Why the program cannot be started with these arguments; null if it can. */
  readonly fault: string | null;
  /** The machine may have been too busy: another attempt can have another result. */
  readonly isUncertain: boolean;
}

/** Starts something with a launcher. */
export async function tryLauncher(launcher: readonly string[], world: World, filter?: string): Promise<Trial> {
  return toTrial(await run([...launcher, '/bin/sh', '-c', ':'], world, filter));
}

/** How the fault of a launcher begins that starts programs without restricting them. */
export const UNPROVEN = 'it does not';

// With builtins only. Redirections that fail end a shell, so each has its own.
const ATTEMPTS = `
(read -r line < "$1") 2>/dev/null && echo read
(: > "$1.new") 2>/dev/null
(while read -r line; do case "$line" in *"|"*) ;; *) echo "network \${line%%:*}"; esac; done < /proc/net/dev) 2>/dev/null
:`;
// The kernel may create these in every network namespace.
const IN_EVERY_NETWORK = /^(?:lo|sit0|tunl0|ip6tnl0|gre0|gretap0|erspan0|ip_vti0|ip6_vti0|ip6gre0|teql0)$/;

/** Starts a shell that tries what a sandbox must prevent: reads a hidden file, writes beside it, lists networks. */
export async function proveLauncher(
  launcher: readonly string[],
  canary: string,
  world: World,
  { filter, isOffline = false }: { readonly filter?: string | undefined; readonly isOffline?: boolean } = {},
): Promise<Trial> {
  const outcome = await run([...launcher, '/bin/sh', '-c', ATTEMPTS, 'sh', canary], world, filter);
  // It may have written into a private directory.
  const isWritten = existsSync(`${canary}.new`);
  removeFile(`${canary}.new`);
  const trial = toTrial(outcome);
  if (trial.fault !== null) return trial;
  const done = outcome!.stdout.toString('utf8').trim().split('\n');
  const isOnline = readDevices().some((name) => done.includes(`network ${name}`));
  const fault = done.includes('read')
    ? 'hide files'
    : isWritten
      ? 'prevent writing'
      : isOffline && isOnline
        ? 'separate the network'
        : undefined;
  return fault === undefined ? trial : { fault: `${UNPROVEN} ${fault}`, isUncertain: false };
}

function readDevices(): string[] {
  const names = [...(readProc('/proc/net/dev') ?? '').matchAll(/^\s*([^\s|:]+):/gm)].map(([, name]) => name!);
  return names.filter((name) => !IN_EVERY_NETWORK.test(name));
}

function toTrial(outcome: Awaited<ReturnType<typeof run>>): Trial {
  if (outcome === undefined) return { fault: 'it could not be started', isUncertain: true };
  if (outcome.ending !== 'exit') return { fault: `no answer within ${PROBE_MS / 1000} s`, isUncertain: true };
  if (outcome.exitCode === null) return { fault: 'it was killed', isUncertain: true };
  if (outcome.exitCode === 0) return { fault: null, isUncertain: false };
  const [line = ''] = outcome.stderr.toString('utf8').trim().split('\n');
  const reason = line.replace(/^(?:bwrap|setpriv|unshare): /, '').slice(0, 200);
  return { fault: reason || `status ${outcome.exitCode}`, isUncertain: false };
}

export async function readVersion(program: string, world: World): Promise<string | null> {
  const outcome = await run([program, '--version'], world);
  return /\d+(?:\.\d+)+/.exec(outcome?.stdout.toString('utf8') ?? '')?.[0] ?? null;
}

async function run(argv: readonly string[], world: World, filter?: string) {
  const environment = { PATH: searchPath(world).join(':') };
  const limits = { stdin: '', timeoutMs: PROBE_MS, outputBytes: 4096 };
  return runProcess({ argv, filter, cwd: '/', environment, ...limits }, world).catch(() => undefined);
}
