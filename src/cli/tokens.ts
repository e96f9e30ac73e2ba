// The bearer tokens of `wield serve --http`: from a file, which is read again when it changes, or a variable.

import { isDeepStrictEqual } from 'node:util';
import { ToolError, toToolError } from '../core/error.js';
import type { FileIdentity } from '../core/origin.js';
import { count } from '../core/text.js';
import { readTextFile, statIdentity } from '../files/read.js';
import { resolvePath } from './io.js';
import { printWarning } from './print.js';
import type { Terminal } from './terminal.js';
import { usageError, type VerbCall } from './verb.js';

const MIN_TOKEN = 16;
const MAX_BYTES = 64 * 1024;
const GENERATE = 'generate one: openssl rand -hex 32';

/** Returns a function that returns the tokens that are valid now; undefined if none are required (SRV-95). */
export function openTokens({ flags, env, terminal }: VerbCall): (() => readonly string[]) | undefined {
  const named = flags.get('token-file');
  if (named === undefined) {
    const tokens = env.WIELD_TOKEN ? parseTokens(env.WIELD_TOKEN, 'WIELD_TOKEN') : undefined;
    return tokens && (() => tokens);
  }
  return openTokenFile(resolvePath(terminal.io, String(named)), terminal);
}

/**
 * Returns a function that returns the tokens of a file, which is read again when it changes. At the start of a server it
 * throws if there are none; later the file lets nobody in (SRV-95).
 */
export function openTokenFile(file: string, terminal: Terminal, isStart = true): () => readonly string[] {
  let tokens: readonly string[] = [];
  let seen: FileIdentity | 'missing' | undefined;
  const read = (): void => {
    tokens = [];
    const text = readTextFile(file, MAX_BYTES);
    if (text === undefined) throw new ToolError('io', `file not found: ${file}`, { hint: `${GENERATE} > ${file}` });
    tokens = parseTokens(text, file);
  };
  const identify = (): FileIdentity | 'missing' => statIdentity(file) ?? 'missing';
  if (isStart) {
    seen = identify();
    read();
  }
  return () => {
    const now = identify();
    if (isDeepStrictEqual(now, seen)) return tokens;
    seen = now;
    try {
      read();
      terminal.err(`  read ${count(tokens.length, 'token')} from ${file}\n`);
    } catch (error) {
      printWarning(terminal, `${toToolError(error).message}: it lets nobody in`);
    }
    return tokens;
  };
}

// One token per line, so that a new one is valid before the old one is removed.
function parseTokens(text: string, where: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const tokens = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (tokens.length === 0) throw new ToolError('io', `no token in ${where}`, { hint: GENERATE });
  // The token itself is not repeated.
  for (const token of tokens) {
    const at = tokens.length === 1 ? where : `line ${lines.indexOf(token) + 1} of ${where}`;
    if (/\s/.test(token)) throw usageError(`the token in ${at} contains a space`, 'write one token per line');
    if (token.length < MIN_TOKEN)
      throw usageError(`the token in ${at} is shorter than ${MIN_TOKEN} characters`, GENERATE);
  }
  return tokens;
}
