// Identifies programs by their place and their bytes, with the interpreters that run them (POL-25).

import { basename, dirname, join } from 'node:path';
import { isToolError, orNothing } from '../core/error.js';
import type { FileIdentity } from '../core/origin.js';
import type { World } from '../core/snapshot.js';
import { digestFile, digestParts } from '../files/digest.js';
import { isSettled, readHead, readStateFile, sameIdentity, statIdentity } from '../files/read.js';
import { realPath } from '../files/within.js';
import { writeFileAtomic } from '../files/write.js';
import { findInterpreter } from './environment.js';

/** A program by the name that it is called by; `file` is undefined if it was not found. */
export interface NamedProgram {
  readonly name: string;
  readonly file: string | undefined;
}

export interface ProgramContext {
  /** The search path of the processes that are started. */
  readonly path: readonly string[];
  readonly world: World;
  /** Where hashes of large programs are kept; undefined: in this process only. */
  readonly wieldHome?: string | undefined;
}

// An interpreter can be a script itself.
const MAX_INTERPRETERS = 4;
const HEAD_BYTES = 256;
// Hashing these takes longer than starting them.
const LARGE_BYTES = 4 * 1024 * 1024;
const SHA256 = /^[0-9a-f]{64}$/;

/** Returns a line for the search path, for each program and for each interpreter behind it, without duplicates. */
export function identifyPrograms(programs: readonly NamedProgram[], context: ProgramContext): string[] {
  const lines = new Set<string>();
  const add = ({ name, file }: NamedProgram, depth = 0): void => {
    if (file === undefined) {
      lines.add(`program ${name}: not found`);
      return;
    }
    // A version manager gives every shell its own link to a directory.
    const located = join(realPath(dirname(file)) ?? dirname(file), basename(file));
    const real = realPath(file) ?? file;
    lines.add(`program ${located}${real === located ? '' : ` -> ${real}`} ${digestProgram(real, context)}`);
    if (depth < MAX_INTERPRETERS) for (const found of interpretersOf(file, context)) add(found, depth + 1);
  };
  for (const program of programs) add(program);
  const directories = context.path.flatMap((directory) => realPath(directory) ?? []);
  return [`PATH ${[...new Set(directories)].join(':')}`, ...[...lines].sort()];
}

/** Returns the program that a `#!` line names, and the one that it finds on the search path. */
export function shebangPrograms(shebang: string, file: string, { path }: Pick<ProgramContext, 'path'>): NamedProgram[] {
  const [first = ''] = shebang.split(/\s+/);
  let interpreter: string | undefined;
  try {
    interpreter = findInterpreter(shebang, file, path);
  } catch (error) {
    if (!isToolError(error)) throw error;
  }
  const named = { name: shebang, file: interpreter };
  return first === interpreter ? [named] : [{ name: first, file: realPath(first) && first }, named];
}

function interpretersOf(file: string, context: ProgramContext): NamedProgram[] {
  const head = readHead(file, HEAD_BYTES);
  if ('fault' in head) return [];
  const [, shebang] = /^#!([^\n]*)/.exec(head.bytes.toString('utf8')) ?? [];
  return shebang === undefined ? [] : shebangPrograms(shebang.trim(), file, context);
}

const known = new Map<string, { readonly identity: FileIdentity; readonly digest: string }>();

function digestProgram(file: string, { world, wieldHome }: ProgramContext): string {
  const identity = statIdentity(file);
  const before = known.get(file);
  if (identity !== undefined && before !== undefined && sameIdentity(before.identity, identity)) return before.digest;
  const kept =
    identity === undefined || identity.size < LARGE_BYTES || wieldHome === undefined
      ? undefined
      : join(wieldHome, 'cache', 'programs', digestParts([file, formatState(identity)]));
  const stored = kept === undefined ? undefined : readKept(kept);
  const hashed = stored === undefined ? digestFile(file, []) : { digest: stored, identity: identity! };
  // A program that may be run but not read.
  if ('fault' in hashed) return `state ${identity === undefined ? 'unknown' : formatState(identity)}`;
  const digest = `sha256 ${hashed.digest}`;
  if (!isSettled(hashed.identity, world.now())) return digest;
  known.set(file, { identity: hashed.identity, digest });
  // Hashed again by the next process if it cannot be written.
  if (kept !== undefined && stored === undefined && sameIdentity(hashed.identity, identity))
    orNothing(() => writeFileAtomic(kept, hashed.digest));
  return digest;
}

function formatState({ device, inode, size, changedMs, mode }: FileIdentity): string {
  return [device, inode, size, changedMs, mode].join('-');
}

// Hashed again if the file is damaged, or another user could have written it.
function readKept(path: string): string | undefined {
  const text = orNothing(() => readStateFile(path, 64));
  return text !== undefined && SHA256.test(text) ? text : undefined;
}
