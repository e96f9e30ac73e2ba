// Reads secrets from where a person keeps them: the output of a command of a password manager, or the keychain of the system.

import { basename } from 'node:path';
import { ToolError } from '../core/error.js';
import { redactText } from '../core/redact.js';
import type { World } from '../core/snapshot.js';
import { formatBytes, quoteOutside } from '../core/text.js';
import { findProgram, isNeverPassed, pathOutside } from './environment.js';
import { keychainOf } from './keychain.js';
import { runProcess } from './spawn.js';

/** Where a secret is; `written` is the text of the reference. */
export type SecretReference =
  | { readonly kind: 'command'; readonly argv: readonly string[]; readonly written: string }
  | { readonly kind: 'keychain'; readonly name: string; readonly written: string };

export interface SecretContext {
  readonly world: World;
  readonly workdir: string;
}

const TIMEOUT_MS = 5000;
/** The largest secret that can be read, with a line break. */
export const MAX_SECRET_BYTES = 64 * 1024;
const SHOWN_STDERR = 300;

// Of each process, known by its environment.
const kept = new WeakMap<World['env'], Map<string, Promise<string>>>();

/** Reads a secret, once per process. Throws `unavailable`, which says which command failed and how, without the secret. */
export function readSecret(reference: SecretReference, context: SecretContext): Promise<string> {
  const { env } = context.world;
  const known = kept.get(env) ?? new Map<string, Promise<string>>();
  kept.set(env, known);
  const key = JSON.stringify(reference);
  const reading = known.get(key) ?? readNow(reference, context);
  known.set(key, reading);
  // The next call tries again.
  reading.catch(() => known.delete(key));
  return reading;
}

async function readNow(reference: SecretReference, context: SecretContext): Promise<string> {
  const read = async (argv: readonly string[]): Promise<string> =>
    (await runSecretCommand(argv, context)).stdout.replace(/\r?\n$/, '');
  if (reference.kind === 'command') return read(reference.argv);
  const { name } = reference;
  try {
    return await read(keychainOf(context.world.platform).read(name));
  } catch (error) {
    throw new ToolError('unavailable', `cannot read "${name}" in the keychain: ${(error as Error).message}`, {
      hint: `if it is not there: wield secrets set ${name}; if the keychain is locked, unlock it`,
    });
  }
}

export interface SecretCommandOptions {
  readonly stdin?: string;
  /** What it may print. */
  readonly maxBytes?: number;
}

/**
 * Runs a command that handles secrets and returns what it printed: without a shell, without what only wield may know, and
 * never a program of the workdir. Throws `unavailable`.
 */
export async function runSecretCommand(
  argv: readonly string[],
  { world, workdir }: SecretContext,
  { stdin = '', maxBytes = MAX_SECRET_BYTES }: SecretCommandOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const [name = '', ...args] = argv;
  const failed = (how: string, hint: string): ToolError =>
    new ToolError('unavailable', `the command ${quoteOutside(argv.join(' '), 200)} ${how}`, { hint });
  const program = findProgram(name, pathOutside(workdir, world));
  if (program === undefined) throw failed('was not found', `install ${quoteOutside(name, 60)}, or add it to PATH`);
  const outcome = await runProcess(
    {
      argv: [program, ...args],
      cwd: world.home ?? '/',
      environment: environmentOf(world),
      stdin,
      timeoutMs: TIMEOUT_MS,
      outputBytes: maxBytes,
    },
    world,
  );
  if (outcome.ending === 'timeout')
    throw failed(`took longer than ${TIMEOUT_MS / 1000} s`, 'unlock the password manager, and try again');
  if (outcome.ending === 'capped')
    throw failed(`printed more than ${formatBytes(maxBytes)}`, 'let it print the secret only');
  const [stdout, stderr] = [outcome.stdout.toString('utf8'), outcome.stderr.toString('utf8')];
  if (outcome.exitCode === 0) return { stdout, stderr };
  // Its own name, such as `secret-tool: `, would look like that of a secret.
  const own = `${basename(program)}: `;
  const plain = stderr.trim();
  const text = plain.startsWith(own) ? plain.slice(own.length) : plain;
  const shown = redactText(text, [stdout.trim(), stdin], SHOWN_STDERR);
  const said = shown === '' ? '' : `: ${quoteOutside(shown, SHOWN_STDERR)}`;
  throw failed(`ended with status ${outcome.exitCode ?? outcome.signal}${said}`, 'run it in a terminal to see why');
}

function environmentOf({ env }: World): Record<string, string> {
  const entries = Object.entries(env).filter(([name, value]) => value !== undefined && !isNeverPassed(name));
  return Object.fromEntries(entries) as Record<string, string>;
}
