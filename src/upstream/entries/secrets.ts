// Which values of a server are secrets.

import { SHORTEST_SECRET } from '../../core/redact.js';
import { isTelling } from '../../core/telling.js';
import type { Expanded } from './expand.js';
import { isOpaque, isPlainValue } from './text.js';
import { isSecretName } from './value.js';

export type SecretCollector = ReturnType<typeof createSecretCollector>;

/** Collects what must be shown nowhere; what is plainly no secret is left out, unless its name tells of one. */
export function createSecretCollector() {
  const found = new Set<string>();
  const add = (value: string, isSure: boolean): void => {
    const text = value.trim();
    if (text.length >= SHORTEST_SECRET && (isSure || !isPlainValue(text))) found.add(text);
  };
  // What a file holds is there because it is a secret.
  const addPieces = (pieces: Expanded['pieces'], isSure = false): void => {
    for (const { value, name } of pieces) add(value, isSure || name === undefined || isTelling(name));
  };
  return {
    addPieces,
    /** The value of a variable or a header. */
    addNamed(name: string, { value, pieces }: Expanded): void {
      const isSure = isTelling(name);
      addPieces(pieces, isSure);
      if (pieces.length > 0 || isSure) add(value, isSure);
      if (/^(?:proxy-)?authorization$/i.test(name)) addCredentials(value, add);
    },
    /** Values that follow a telling flag. */
    addArguments(args: readonly string[]): void {
      for (const [at, arg] of args.entries()) {
        const before = args[at - 1] ?? '';
        if (/^--?[\w-]+$/.test(before) && isSecretName(before) && !arg.startsWith('-')) add(arg, true);
        const named = /^-{0,2}([\w.-]{1,100})(?:=|:\s{0,3})(.*)$/s.exec(arg);
        if (named !== null && isSecretName(named[1]!)) addCredentials(named[2]!, add);
      }
    },
    addAddress({ value, pieces }: Expanded): void {
      addPieces(pieces);
      const url = new URL(value);
      for (const text of [url.username, url.password]) {
        add(text, true);
        add(decode(text), true);
      }
      for (const [name, text] of url.searchParams) add(text, isTelling(name));
      for (const step of url.pathname.split('/')) if (isOpaque(step)) add(step, true);
    },
    all: (): readonly string[] => [...found],
  };
}

// `Bearer …` and `Basic …`: what follows is the secret, and what it encodes.
function addCredentials(value: string, add: (value: string, isSure: boolean) => void): void {
  const [, scheme = '', rest = ''] = /^\s*(?:(\w+)\s+)?(.*)$/s.exec(value)!;
  add(rest, true);
  if (scheme.toLowerCase() !== 'basic') return;
  const pair = Buffer.from(rest, 'base64').toString('utf8');
  if (pair.includes(':')) add(pair.slice(pair.indexOf(':') + 1), true);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
