// Converts a server entry of another client: references are translated, secrets become files.

import { dirname, isAbsolute, join } from 'node:path';
import { isRecord, type JsonObject } from '../core/json.js';
import { isSensitiveName } from '../core/redact.js';
import { quoteOutside } from '../core/text.js';
import { isOwnServer } from '../upstream/entries/entry.js';
import { mapTexts, type TextPosition } from '../upstream/entries/fields.js';
import { CONTAINER_SWITCHES } from '../upstream/pins/package.js';
import type { Client, ClientEnvironment, ClientFile } from './client.js';
import { toPlain } from './config-file.js';
import { createDraft, type Draft } from './read-entry.js';
import { convertUrl, findSecretArguments, holdsSecret, isSecret, splitScheme } from './secrets.js';

export interface ConvertedServer {
  readonly name: string;
  readonly kind: 'stdio' | 'http' | null;
  /** The `mcpServers` entry to write; undefined if the server cannot be imported. */
  readonly entry: JsonObject | undefined;
  /** Command line or URL for display, without secrets. */
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly env: readonly string[];
  readonly headers: readonly string[];
  /** Variables that must be set: the entry refers to them without a default. */
  readonly variables: readonly string[];
  readonly secrets: readonly Secret[];
  readonly notes: readonly string[];
}

/** A secret for a private file; `name` is its variable, header or part of the URL. */
export interface Secret {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

export interface ConvertOptions {
  readonly file: ClientFile;
  readonly environment: ClientEnvironment;
  /** Returns the file for a secret. */
  fileOf(server: string, name: string, value: string): string;
}

const HIDDEN = '[redacted]';

export function convertServer(client: Client, name: string, entry: unknown, options: ConvertOptions): ConvertedServer {
  const draft = createDraft(name);
  if (isRecord(entry)) client.readEntry(entry as JsonObject, draft);
  else draft.unusable = 'its entry is not an object';
  moveContainerSecrets(draft);
  const secrets: Secret[] = [];
  const hide = (part: string, value: string): string => {
    const path = options.fileOf(name, part, value);
    secrets.push({ name: part, value, path });
    return path;
  };
  // Text that wield would expand as a reference, but the client does not, is stored in a file too.
  const mustHide = (of: string, value: string): boolean =>
    isSecret(of, value) || value.startsWith('file:') || (client.references === undefined && value.includes('${'));
  const change = (text: string, { field, name: part = field }: TextPosition): string => {
    const of = field === 'oauth' ? `oauth.${part}` : field === 'args' ? field : part;
    const said = translateReferences(client, text, of, draft, options);
    if (field === 'url') return convertUrl(said, hide);
    if (field === 'cwd') return convertDirectory(said, draft, options);
    if (field === 'command' || field === 'args' || !mustHide(part, said)) return said;
    const { scheme, credential } = field === 'headers' ? splitScheme(said) : { scheme: '', credential: said };
    return scheme === '' ? `file:${hide(of, said)}` : `${scheme}\${file:${hide(of, credential)}}`;
  };
  const { command, args, cwd, url, oauth, ...changed } = mapTexts(draft, change);
  const hidden = findSecretArguments(args);
  assertUsable(client, draft, { command, args, cwd, url, hasSecret: hidden.length > 0 });
  const env = { ...draft.ownEnv, ...changed.env };
  const headers = { ...draft.ownHeaders, ...changed.headers };
  const { allow, deny, timeout, startTimeout, sandbox, sandboxEnabled, disabled } = draft;
  const written = toPlain({
    ...(command === undefined ? { type: draft.isSse ? 'sse' : 'http', url: url ?? '' } : { command, args }),
    env: unlessEmpty(env),
    cwd,
    headers: unlessEmpty(headers),
    oauth: unlessEmpty(oauth ?? {}),
    ...{ allow, deny, timeout, startTimeout, sandbox, sandboxEnabled, disabled },
  }) as JsonObject;
  if (draft.disabled) draft.notes.push('it is disabled there and will be disabled here');
  const usable = draft.unusable === undefined;
  return {
    name,
    kind: command !== undefined ? 'stdio' : url !== undefined ? 'http' : null,
    entry: usable ? written : undefined,
    ...(command === undefined
      ? {}
      : {
          command: holdsSecret(command) ? HIDDEN : command,
          args: args.map((argument, at) => (hidden.includes(at) ? HIDDEN : argument)),
        }),
    ...(url === undefined ? {} : { url: url.replace(/\$\{file:[^}]*\}/g, HIDDEN) }),
    env: Object.keys(env),
    headers: Object.keys(headers),
    // Paths of a sandbox have placeholders of their own.
    variables: findVariables(JSON.stringify({ ...written, sandbox: null }).replace(/\$\{\w+:-[^}]*\}/g, '')),
    secrets: usable ? secrets : [],
    notes: [...(draft.unusable === undefined ? [] : [draft.unusable]), ...draft.notes],
  };
}

interface Parts {
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly hasSecret: boolean;
}

function assertUsable(client: Client, draft: Draft, { command, args, cwd, url, hasSecret }: Parts): void {
  const words = [...(command === undefined ? [] : [command]), ...args, ...(cwd === undefined ? [] : [cwd])];
  const telling = findVariables(words.join(' ')).find(isSensitiveName);
  const odd = [...(draft.allow ?? []), ...(draft.deny ?? [])].filter((name) => !/^[\w./-]+$/.test(name));
  if (command === undefined && url === undefined) draft.unusable ??= 'it has neither a command nor a URL';
  if (command !== undefined && url !== undefined) draft.unusable ??= 'it has both a command and a URL';
  if (url !== undefined && !/^https?:\/\//i.test(url)) draft.unusable ??= 'its URL is not an HTTP URL';
  if (command !== undefined && isOwnServer(command, args)) draft.unusable ??= 'it is wield itself';
  if (hasSecret || (command !== undefined && holdsSecret(command)))
    draft.unusable ??= 'its command line contains a credential; pass it to the server in a variable, under env';
  if (telling !== undefined)
    draft.unusable ??= `${telling} would be visible in the process list; pass it to the server in a variable, under env`;
  if (words.some((word) => word.startsWith('file:') || word.includes('${file:')))
    draft.unusable ??= 'its command line has a file reference that only the client supports';
  if (client.references === undefined && [...words, draft.url ?? ''].some((word) => word.includes('${')))
    draft.unusable ??= 'its command line or URL contains ${…}, which wield would expand as a variable';
  if (odd.length > 0) draft.unusable ??= `it has invalid tool selectors: ${quoteOutside(odd.join(', '), 60)}`;
}

// A relative path in a project file is relative to the project.
function convertDirectory(cwd: string, draft: Draft, { file, environment }: ConvertOptions): string {
  if (isAbsolute(cwd) || cwd.startsWith('~') || cwd.startsWith('${')) return cwd;
  if (file.scope === 'project') return join(environment.workdir, cwd);
  draft.notes.push('cwd: relative to the directory of the client; write an absolute path');
  return cwd;
}

function findVariables(text: string): string[] {
  return [...new Set([...text.matchAll(/\$\{([A-Za-z_]\w*)(?::-[^}]*)?\}/g)].map((match) => match[1]!))];
}

function unlessEmpty(table: Readonly<Record<string, string>>): JsonObject | undefined {
  return Object.keys(table).length === 0 ? undefined : table;
}

// Translates references and placeholders of a client: inputs become variables, directories are filled in. A reference that
// only the client supports makes the server unusable.
function translateReferences(
  { references }: Client,
  value: string,
  of: string,
  draft: Draft,
  { file, environment }: ConvertOptions,
): string {
  if (references === undefined) return value;
  const unknown = (whole: string): string => {
    draft.unusable ??= `${of} refers to ${quoteOutside(whole, 60)}, which only the client supports`;
    return value;
  };
  // Not a reference of the client, so it must not read a file.
  if (value.includes('${file:')) return unknown(/\$\{file:[^}]*\}?/.exec(value)![0]);
  return references(value).replace(/\$\{([^}]*)\}/g, (whole, inner: string) => {
    if (/^[A-Za-z_]\w*(?::-.*)?$/s.test(inner) && !EDITORS.has(inner)) return whole;
    if (inner === 'workspaceFolder') {
      draft.notes.push(`${of}: ${whole} was replaced by ${environment.workdir}`);
      return environment.workdir;
    }
    if (inner === 'userHome') return environment.home;
    if (inner === 'pathSeparator' || inner === '/') return '/';
    if (inner.startsWith('input:')) {
      const input = inner.slice('input:'.length);
      const variable = toVariable(of, input);
      draft.notes.push(`${of}: the client prompts for ${quoteOutside(input, 40)}; set the variable ${variable}`);
      return `\${${variable}}`;
    }
    if (!inner.startsWith('file:')) {
      unknown(whole);
      return whole;
    }
    const path = inner.slice('file:'.length);
    return isAbsolute(path) || path.startsWith('~') ? whole : `\${file:${join(dirname(file.path), path)}}`;
  });
}

// Placeholders of editors that look like variables.
const EDITORS = new Set(['workspaceFolder', 'workspaceFolderBasename', 'userHome', 'pathSeparator', 'cwd', 'file']);

// Uses the name of the server's variable, or a name derived from the input.
function toVariable(of: string, input: string): string {
  if (/^[A-Z_][A-Z0-9_]*$/.test(of)) return of;
  const name = input.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
  return /^[A-Z_]/.test(name) ? name : `INPUT_${name}`;
}

const CONTAINER = /^(?:.*[\\/])?(?:docker|podman|nerdctl)(?:\.exe)?$/i;

// Moves secrets of `docker run -e NAME=value` to variables of the server, which `-e NAME` passes on. What follows the image
// belongs to the program in the container.
function moveContainerSecrets(draft: Draft): void {
  if (draft.command === undefined || !CONTAINER.test(draft.command)) return;
  const start = draft.args.findIndex((argument) => /^(?:run|create|exec)$/.test(argument)) + 1;
  if (start === 0) return;
  const args = [...draft.args];
  for (let at = start; at < args.length && args[at]!.startsWith('-'); at++) {
    const option = args[at]!;
    const [, joined, text] = /^(-e=?|--env=)(.+)$/s.exec(option) ?? [];
    const takesNext = joined === undefined && !CONTAINER_SWITCHES.test(option) && !/^--[^=]+=/.test(option);
    if (takesNext) at++;
    if (joined === undefined && option !== '-e' && option !== '--env') continue;
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text ?? args[at] ?? '') ?? [];
    if (name === undefined || value === undefined || value === '') continue;
    if (!isSensitiveName(name) && !isSecret(name, value) && !value.includes('${')) continue;
    draft.env[name] = value;
    args[at] = joined === undefined ? name : joined.startsWith('--') ? `--env=${name}` : `-e${name}`;
    draft.notes.push(`${name}: passed in a variable of the server, not in its command line`);
  }
  draft.args = args;
}
