// Collects the secrets of an expanded server.

import { isOpaque, isSensitiveName } from '../../core/redact.js';
import { SHORTEST_SECRET } from '../../core/secret-forms.js';
import { decodeUri } from '../../core/text.js';
import { OAUTH_SECRETS } from '../../core/upstream.js';
import type { TextPosition } from './fields.js';
import { isPlainValue } from './mask.js';
import { isSecretName } from './value.js';

/** An expanded value with the parts that came from references. */
export interface ExpandedValue {
  readonly value: string;
  /** `name` is the variable; undefined for a file, a command and the keychain. */
  readonly pieces: readonly { readonly value: string; readonly name: string | undefined }[];
}

/** Collects values that must not be shown. A value that is clearly not a secret counts only if its name is secret. */
export function createSecretCollector() {
  const found = new Set<string>();
  const add = (value: string, isSure: boolean): void => {
    const text = value.trim();
    if (text.length >= SHORTEST_SECRET && (isSure || !isPlainValue(text))) found.add(text);
  };
  // The content of a file, and what a command or the keychain has, is always a secret.
  const addPieces = (pieces: ExpandedValue['pieces'], isSure = false): void => {
    for (const { value, name } of pieces) add(value, isSure || name === undefined || isSensitiveName(name));
  };
  const addNamed = (name: string, { value, pieces }: ExpandedValue): void => {
    const isSure = isSensitiveName(name);
    addPieces(pieces, isSure);
    if (pieces.length > 0 || isSure) add(value, isSure);
    if (/^(?:proxy-)?authorization$/i.test(name)) addCredentials(value, add);
  };
  const addAddress = (value: string): void => {
    if (!URL.canParse(value)) return;
    const url = new URL(value);
    for (const text of [url.username, url.password]) {
      add(text, true);
      add(decodeUri(text), true);
    }
    for (const [name, text] of url.searchParams) add(text, isSensitiveName(name));
    for (const step of url.pathname.split('/')) if (isOpaque(step)) add(step, true);
  };
  return {
    /** Adds what is secret in a string of an entry. */
    add({ field, name = '' }: TextPosition, expanded: ExpandedValue): void {
      if (field === 'env' || field === 'headers') addNamed(name, expanded);
      if (field === 'oauth' && OAUTH_SECRETS.includes(name)) addNamed('clientSecret', expanded);
      if (field === 'args' || field === 'url') addPieces(expanded.pieces);
      if (field === 'url') addAddress(expanded.value);
    },
    /** Adds values of flags with a secret name. */
    addArguments(args: readonly string[]): void {
      for (const [at, arg] of args.entries()) {
        const before = args[at - 1] ?? '';
        if (/^--?[\w-]+$/.test(before) && isSecretName(before) && !arg.startsWith('-')) add(arg, true);
        const named = /^-{0,2}([\w.-]{1,100})(?:=|:\s{0,3})(.*)$/s.exec(arg);
        if (named !== null && isSecretName(named[1]!)) addCredentials(named[2]!, add);
      }
    },
    all: (): readonly string[] => [...found],
  };
}

// Adds the credentials after `Bearer` or `Basic`, and the password encoded in the latter.
function addCredentials(value: string, add: (value: string, isSure: boolean) => void): void {
  const [, scheme = '', rest = ''] = /^\s*(?:(\w+)\s+)?(.*)$/s.exec(value)!;
  add(rest, true);
  if (scheme.toLowerCase() !== 'basic') return;
  const pair = Buffer.from(rest, 'base64').toString('utf8');
  if (pair.includes(':')) add(pair.slice(pair.indexOf(':') + 1), true);
}
