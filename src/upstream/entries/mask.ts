// What is secret in a server entry: masked for display, with references as written, and collected when it is expanded.

import type { JsonObject } from '../../core/json.js';
import { isOpaque, isPlainText, isSensitiveName, REDACTED } from '../../core/redact.js';
import { SHORTEST_SECRET } from '../../core/secret-forms.js';
import { decodeUri, quoteOutside } from '../../core/text.js';
import { OAUTH_SECRETS, type ServerEntry, type StdioServer } from '../../core/upstream.js';
import { mapTexts, type TextPosition } from './fields.js';
import { findSecretReferences, isSecretName, parseServerValue, type ValuePart } from './value.js';

// Tokens with a recognizable prefix, whatever their name.
const TOKENS =
  /\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|xox[abprs]-[\w-]{8,}|AKIA[0-9A-Z]{12,}|AIza[\w-]{20,}|npm_\w{20,}|eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*)/g;
const PASSWORD_IN_ADDRESS = /([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/@]{0,200}:)[^\s/@]{1,500}@/gi;
const SCHEME = /^\s*(?:(?:bearer|basic|token|digest|apikey)\b\s*)?/i;
// Placeholder for a reference while a URL is split.
const MARK = /\ue000(\d+)\ue001/g;

/** Whether a value is clearly not a secret: a flag, a small number, a path, a word, a URL without credentials. */
export function isPlainValue(value: string): boolean {
  return /^https?:\/\//.test(value) && value.length <= 500 ? maskAddress(value) === value : isPlainText(value);
}

/** Returns one line: the command with its arguments, or the URL without credentials and query. */
export function describeServer(entry: ServerEntry): string {
  if (entry.kind === 'http') return quoteOutside(maskAddress(entry.url, { bare: true }), 300);
  const { command, args } = maskServer(entry) as StdioServer;
  const words = [command, ...args].map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word)));
  return quoteOutside(words.join(' '), 300);
}

/** Returns the entry in the `mcpServers` shape with secrets masked (CLI-18). */
export function toMaskedServer(entry: ServerEntry): JsonObject {
  const { name, owner, position, installed, kind, sandbox, timeoutMs, startTimeoutMs, ...fields } = maskServer(entry);
  const written: Readonly<Record<string, unknown>> = {
    ...fields,
    timeout: timeoutMs === undefined ? undefined : `${timeoutMs}ms`,
    startTimeout: startTimeoutMs === undefined ? undefined : `${startTimeoutMs}ms`,
  };
  const isEmpty = (value: unknown): boolean => typeof value === 'object' && Object.keys(value!).length === 0;
  const given = Object.entries(written).filter(([, value]) => value !== undefined && !isEmpty(value));
  return Object.fromEntries(given) as JsonObject;
}

const maskServer = (entry: ServerEntry): ServerEntry =>
  mapTexts(entry, (text, position) => maskField(text, position, entry));

function maskField(text: string, { field, name = field }: TextPosition, entry: ServerEntry): string {
  if (field === 'url') return maskAddress(text);
  if (field === 'cwd') return text;
  if (field === 'args') return maskArgument(text, (entry as StdioServer).args[Number(name) - 1]);
  if (field !== 'oauth') return maskValue(name, text, field);
  return OAUTH_SECRETS.includes(name) ? maskValue('clientSecret', text, 'oauth') : text;
}

/** A value of an entry, and the path of its key. */
export interface FoundValue {
  readonly keyPath: readonly string[];
  readonly text: string;
}

/** Returns the values of an entry that contain a secret in plain text instead of a reference (UPS-5). */
export function findLiteralSecrets(entry: ServerEntry): readonly FoundValue[] {
  return findValues(
    entry,
    (text, position) => position.field !== 'command' && maskField(text, position, entry) !== text,
  );
}

/** Returns the key paths of values that refer to a command or the keychain (SEC-1). */
export function findOwnReferences(entry: ServerEntry): readonly (readonly string[])[] {
  const isOwn = (text: string, { field }: TextPosition): boolean =>
    findSecretReferences(readParts(text, field)).length > 0;
  return findValues(entry, isOwn).map(({ keyPath }) => keyPath);
}

function findValues(entry: ServerEntry, isFound: (text: string, position: TextPosition) => boolean): FoundValue[] {
  const found: FoundValue[] = [];
  mapTexts(entry, (text, position) => {
    const { field, name } = position;
    // Only `oauth` has tables in it.
    const names = name === undefined ? [] : field === 'oauth' ? name.split('.') : [name];
    if (isFound(text, position)) found.push({ keyPath: [field, ...names], text });
    return text;
  });
  return found;
}

// The value of a flag with a secret name follows `=` or is the next argument.
const NAMED = /^(-{0,2}([\w.-]{1,100})(?:=|:\s{0,3}))(.*)$/s;

function isValueOf(flag: string | undefined, arg: string): flag is string {
  return flag !== undefined && /^--?[\w-]+$/.test(flag) && isSecretName(flag) && !arg.startsWith('-');
}

function maskArgument(arg: string, before: string | undefined): string {
  if (isValueOf(before, arg)) return maskValue(before, arg, 'args');
  if (/^https?:\/\//.test(arg)) return maskAddress(arg);
  const [, prefix = '', name = '', value = arg] = NAMED.exec(arg) ?? [];
  return `${prefix}${maskValue(name, value, 'args')}`;
}

function maskValue(name: string, text: string, field: string): string {
  return readParts(text, field)
    .map((part) => maskPart(part, isSecretName(name)))
    .join('');
}

function maskPart(part: ValuePart, isSecret: boolean): string {
  if (part.kind === 'text') return maskText(part.written, isSecret);
  if (part.kind !== 'variable' || part.fallback === undefined) return part.written;
  const rest = part.fallback.map((piece) => maskPart(piece, isSecret || isSecretName(part.name))).join('');
  return `${part.written.slice(0, part.written.indexOf(':-') + 2)}${rest}}`;
}

function maskText(text: string, isSecret: boolean): string {
  if (!isSecret) return text.replace(TOKENS, REDACTED).replace(PASSWORD_IN_ADDRESS, `$1${REDACTED}@`);
  const scheme = SCHEME.exec(text)![0];
  const rest = text.slice(scheme.length);
  return /^(?:true|false)?$/.test(rest.trim()) || isPathToFile(rest) ? text : `${scheme}${REDACTED}`;
}

// `GOOGLE_APPLICATION_CREDENTIALS=/home/ada/key.json` is a path, not a secret.
function isPathToFile(text: string): boolean {
  return /^(?:~|\.{1,2})?\/(?:[\w.@ -]{1,100}\/){1,40}[\w.@ -]{0,100}\.\w{1,8}$/.test(text);
}

/** Masks literal credentials in a URL; `bare` drops all credentials and the query. */
export function maskAddress(url: string, { bare = false } = {}): string {
  const parts = readParts(url, 'url');
  const marked = parts
    .map((part, at) => (part.kind === 'text' ? part.written.replace(/[\ue000\ue001]/g, '') : `\ue000${at}\ue001`))
    .join('');
  const [, scheme = '', user = '', address = '', query = '', rest = ''] =
    /^([a-z]+:\/\/)?([^/?#]*@)?([^?#]*)(\?[^#]*)?(#.*)?/is.exec(marked)!;
  const path = address
    .split('/')
    .map((step) => (isOpaque(step) || step.replace(TOKENS, '') !== step ? REDACTED : step))
    .join('/');
  const end = isPlainValue(rest.slice(1)) ? rest : `#${REDACTED}`;
  const masked = bare ? `${scheme}${path}` : `${scheme}${maskUser(user)}${path}${maskQuery(query)}${end}`;
  return masked.replace(MARK, (_mark, at: string) => {
    const part = parts[Number(at)]!;
    // A default may itself be a URL.
    return maskPart(part, /:-.*[?@]/s.test(part.written));
  });
}

const isReferences = (text: string): boolean => text.replace(MARK, '') === '';

function maskUser(user: string): string {
  if (user === '') return '';
  const pieces = user.slice(0, -1).split(':');
  return `${pieces.map((piece) => (isReferences(piece) ? piece : REDACTED)).join(':')}@`;
}

function maskQuery(query: string): string {
  if (query === '') return '';
  const pairs = query.slice(1).split('&');
  const masked = pairs.map((pair) => {
    const at = pair.indexOf('=');
    const [name, value] = at === -1 ? ['', pair] : [pair.slice(0, at), pair.slice(at + 1)];
    const isPlain = isReferences(value) || (!isSecretName(name) && isPlainValue(value.replace(MARK, '')));
    return isPlain ? pair : `${at === -1 ? '' : `${name}=`}${REDACTED}`;
  });
  return `?${masked.join('&')}`;
}

// A value that cannot be parsed is treated as plain text.
function readParts(text: string, field: string): readonly ValuePart[] {
  try {
    return parseServerValue(text, field);
  } catch {
    return [{ kind: 'text', text, written: text }];
  }
}

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
        if (isValueOf(args[at - 1], arg)) add(arg, true);
        const [, , name, value] = NAMED.exec(arg) ?? [];
        if (name !== undefined && isSecretName(name)) addCredentials(value!, add);
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
