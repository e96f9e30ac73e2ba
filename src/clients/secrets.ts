// Detects secrets in values of other clients, by name or by form, and replaces those in URLs.

import { isSensitiveName } from '../core/redact.js';

// Prefixes of keys of common services.
const KNOWN =
  /^(?:sk|pk|rk)[-_][\w-]{8,}|^gh[pousr]_\w{8,}|^github_pat_\w{8,}|^glpat-[\w-]{8,}|^xox[abeprs]-|^xapp-|^AKIA[0-9A-Z]{8,}|^AIza[\w-]{8,}|^eyJ[\w-]{8,}\.|^npm_\w{8,}|^hf_\w{8,}|^lin_api_|^ntn_|^secret_|^dop_v1_|^pat[-_.]\w{8,}|^fc-\w{8,}/;
const SCHEME = /^(Bearer|Basic|Token|ApiKey)\s+(\S[\s\S]*)$/i;
const REFERENCE = /\$\{[^}]*\}/g;
const URL_PARTS = /^([a-z][\w+.-]*:\/\/)(?:([^/@?#]*)@)?([^?#]*)(?:\?([^#]*))?(#[\s\S]*)?$/i;

/** Whether a string looks like a credential, whatever its name. */
function looksSecret(text: string): boolean {
  const value = text.trim();
  if (KNOWN.test(value)) return true;
  const scheme = SCHEME.exec(value);
  if (scheme !== null && !isReference(scheme[2]!) && scheme[2]!.length >= 8) return true;
  if (/^[a-z][\w+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i.test(value) && !/:\/\/[^@]*\$\{[^@]*@/.test(value)) return true;
  // Long, with letters and digits, and not a path.
  return /^[A-Za-z0-9+_=-]{32,}$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);
}

/** Whether a value is a secret in plain text. */
export function isSecret(name: string, value: string): boolean {
  if (value.trim() === '' || isReference(value)) return false;
  return isSensitiveName(name) || looksSecret(value);
}

/** Splits a value into its authorization scheme and the credential. */
export function splitScheme(value: string): { readonly scheme: string; readonly credential: string } {
  const match = SCHEME.exec(value);
  return match === null ? { scheme: '', credential: value } : { scheme: `${match[1]} `, credential: match[2]! };
}

/** Returns the indexes of arguments with a secret: on its own, after an option, or after its `=` or `:`. */
export function findSecretArguments(args: readonly string[]): number[] {
  return args.flatMap((argument, at) => {
    const option = /^--?([\w.-]+)$/.exec(args[at - 1] ?? '')?.[1];
    const follows = option !== undefined && !argument.startsWith('-') && isSecretOption(option, argument);
    return follows || holdsSecret(argument) ? [at] : [];
  });
}

/** Whether an argument contains a secret. */
export function holdsSecret(word: string): boolean {
  if (looksSecret(word)) return true;
  for (const [, name, value] of word.matchAll(/[?&]([\w.-]+)=([^&#\s]+)/g)) if (isSecret(name!, value!)) return true;
  const assigned = /^(?:--?)?([\w.-]+)\s*[=:]\s*([^/\s][\s\S]*)$/.exec(word);
  return assigned !== null && (isSecretOption(assigned[1]!, assigned[2]!) || holdsSecret(assigned[2]!));
}

// `--key-file` takes a path, and `--token-limit` a number.
function isSecretOption(option: string, value: string): boolean {
  if (/^(?:[./~]|\d{1,6}$)/.test(value) || /(?:file|path|dir|env|var|limit|count)$/i.test(option)) return false;
  return isSecret(option, value);
}

function isReference(value: string): boolean {
  return value.includes('${') && splitScheme(value).credential.replace(REFERENCE, '').trim() === '';
}

/** Replaces secrets in a URL by file references; `hide` stores a secret in a private file and returns its path. */
export function convertUrl(url: string, hide: (part: string, value: string) => string): string {
  const parts = URL_PARTS.exec(url);
  if (parts === null) return url;
  const [, scheme, user, place, query, hash = ''] = parts;
  const refer = (part: string, value: string): string => `\${file:${hide(part, value)}}`;
  const who = user === undefined ? '' : `${user.includes('${') ? user : refer('url.user', user)}@`;
  const path = place!
    .split('/')
    .map((word, at) => (at > 0 && looksSecret(word) ? refer(`url.path${at}`, word) : word))
    .join('/');
  const fields = query?.split('&').map((field) => {
    const [name = '', ...value] = field.split('=');
    return isSecret(name, value.join('=')) ? `${name}=${refer(`url.${name}`, value.join('='))}` : field;
  });
  return `${scheme}${who}${path}${fields === undefined ? '' : `?${fields.join('&')}`}${hash}`;
}
