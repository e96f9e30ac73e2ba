// Field readers for server entries of clients.

import { isRecord, type Json, type JsonObject } from '../core/json.js';
import { custom, formatFault, formatPath, readShape, record, type Shape, string, strings } from '../core/shape.js';
import { quoteOutside } from '../core/text.js';

/** A server in the fields of `mcpServers`, with values as the client wrote them. */
export interface Draft {
  readonly name: string;
  command?: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd?: string;
  url?: string;
  /** It is reached over the deprecated HTTP+SSE transport. */
  isSse?: true;
  headers: Record<string, string>;
  oauth?: Record<string, string>;
  allow?: readonly string[];
  deny?: readonly string[];
  timeout?: string;
  startTimeout?: string;
  /** As VS Code writes them. */
  sandbox?: Json;
  sandboxEnabled?: Json;
  disabled?: true;
  /** Variables and headers whose values are already references of wield. */
  readonly ownEnv: Record<string, string>;
  readonly ownHeaders: Record<string, string>;
  readonly notes: string[];
  /** Why it cannot be imported. */
  unusable?: string;
}

/** Reads the value of one field into the draft. */
export type FieldReader = (value: unknown, draft: Draft, field: string) => void;
export type Fields = Readonly<Record<string, FieldReader>>;

export function createDraft(name: string): Draft {
  return { name, args: [], env: {}, headers: {}, ownEnv: {}, ownHeaders: {}, notes: [] };
}

/** Reads every field; unknown fields are noted. */
export function readFields(entry: JsonObject, fields: Fields, draft: Draft): void {
  for (const [field, value] of Object.entries(entry)) {
    if (value === null) continue;
    const reader = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (reader === undefined) draft.notes.push(`${quoteOutside(field, 40)}: not imported, unknown field`);
    else reader(value, draft, field);
  }
}

// A field that must be valid for the server to be imported.
const required =
  <Key extends 'command' | 'cwd' | 'url' | 'args' | 'allow' | 'deny'>(
    key: Key,
    shape: Shape<NonNullable<Draft[Key]>>,
  ): FieldReader =>
  (value, draft, field) => {
    const { value: read, faults } = readShape(shape, value, [field]);
    if (faults.length > 0) draft.unusable ??= formatFault(faults[0]!);
    else draft[key] = read as Draft[Key];
  };

export const text = (key: 'command' | 'cwd' | 'url'): FieldReader => required(key, string);
export const texts = (key: 'args' | 'allow' | 'deny'): FieldReader => required(key, strings);

// Numbers and booleans are converted to strings.
const scalars = record(
  custom('a string', (value) => (['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined)),
);

/** A table of strings; others are noted. */
const map =
  (key: 'env' | 'headers'): FieldReader =>
  (value, draft, field) => {
    const { value: read, faults } = readShape(scalars, value, [field]);
    if (read === undefined) draft.unusable ??= formatFault(faults[0]!);
    else draft.notes.push(...faults.map((fault) => `${formatPath(fault.path)}: not imported, not a string`));
    Object.assign(draft[key], read);
  };

/** A duration in milliseconds, or in units of `unitMs`. */
export const time =
  (key: 'timeout' | 'startTimeout', unitMs = 1): FieldReader =>
  (value, draft, field) => {
    const duration = typeof value === 'number' ? Math.round(value * unitMs) : 0;
    if (duration > 0) draft[key] = duration % 1000 === 0 ? `${duration / 1000}s` : `${duration}ms`;
    else draft.notes.push(`${field}: not imported, not a duration`);
  };

const disabledWhen =
  (disabled: boolean): FieldReader =>
  (value, draft) => {
    if (value === disabled) draft.disabled = true;
  };

/** A field without effect in wield. */
export const ignored: FieldReader = () => {};

const sandbox =
  (key: 'sandbox' | 'sandboxEnabled'): FieldReader =>
  (value, draft) => {
    draft[key] = value as Json;
  };

/** A field with a different counterpart in wield. */
export const instead =
  (what: string): FieldReader =>
  (_value, draft, field) => {
    draft.notes.push(`${field}: not imported, ${what}`);
  };

export const ownRules = instead('use rules to allow calls without approval');

/** `type` or `transport`. */
export const transport: FieldReader = (value, draft, field) => {
  const word = typeof value === 'string' ? value.toLowerCase().replace(/[^a-z]/g, '') : '';
  if (word === 'sse') {
    draft.isSse = true;
    draft.notes.push('it uses the SSE transport, which is deprecated; if it has a Streamable HTTP URL, use that');
  } else if (!['stdio', 'local', 'http', 'streamablehttp', 'remote'].includes(word))
    draft.unusable ??= `${field} ${quoteOutside(JSON.stringify(value), 40)} is not known`;
};

/** `oauth`: the registration of the client. */
export const oauth: FieldReader = (value, draft, field) => {
  if (!isRecord(value)) {
    if (value !== false && value !== true) draft.notes.push(`${field}: not imported, not an object`);
    return;
  }
  const known: Record<string, string> = {
    clientId: 'clientId',
    client_id: 'clientId',
    clientSecret: 'clientSecret',
    client_secret: 'clientSecret',
    scope: 'scope',
    scopes: 'scope',
  };
  for (const [name, one] of Object.entries(value)) {
    const key = Object.hasOwn(known, name) ? known[name] : undefined;
    const words = Array.isArray(one) ? one.join(' ') : one;
    if (key !== undefined && typeof words === 'string') draft.oauth = { ...draft.oauth, [key]: words };
    else draft.notes.push(`${field}.${quoteOutside(name, 40)}: not imported`);
  }
};

// A string; a command line as an array (opencode); or an object with path, args and env (older settings of Zed).
const command: FieldReader = (value, draft, field) => {
  if (Array.isArray(value)) {
    text('command')(value[0], draft, field);
    if (value.length > 1) texts('args')(value.slice(1), draft, field);
  } else if (isRecord(value)) {
    text('command')(value.path ?? value.command, draft, `${field}.path`);
    if (value.args !== undefined) texts('args')(value.args, draft, `${field}.args`);
    if (isRecord(value.env)) map('env')(value.env, draft, `${field}.env`);
  } else text('command')(value, draft, field);
};

// The only tools that are offered: a list, in which `*` means all, or a table of booleans.
const tools: FieldReader = (value, draft, field) => {
  if (Array.isArray(value)) {
    if (!value.includes('*')) texts('allow')(value, draft, field);
    return;
  }
  const entries = isRecord(value) ? Object.entries(value) : [];
  const namesOf = (wanted: boolean): string[] => entries.flatMap(([name, one]) => (one === wanted ? [name] : []));
  if (entries.length === 0 || entries.some(([, one]) => typeof one !== 'boolean')) return ownRules(value, draft, field);
  const off = namesOf(false).filter((name) => name !== '*');
  if (namesOf(false).includes('*')) draft.allow = namesOf(true);
  else if (off.length > 0) draft.deny = off;
};

const aliases = (names: readonly string[], reader: FieldReader): Fields =>
  Object.fromEntries(names.map((name) => [name, reader]));

/** Fields of clients, in all their spellings; what has another meaning in a client is in its row. */
export const COMMON_FIELDS: Fields = {
  ...aliases(['type', 'transport', 'transportType'], transport),
  command,
  cmd: command,
  args: texts('args'),
  ...aliases(['env', 'envs', 'environment'], map('env')),
  ...aliases(['cwd', 'working_directory', 'workingDirectory'], text('cwd')),
  ...aliases(['url', 'serverUrl', 'httpUrl', 'baseUrl', 'base_url', 'uri'], text('url')),
  ...aliases(['headers', 'http_headers'], map('headers')),
  ...aliases(['tools', 'enabled_tools', 'enabledTools', 'includeTools', 'allowedTools', 'available_tools'], tools),
  ...aliases(['disabled_tools', 'disabledTools', 'excludeTools'], texts('deny')),
  oauth,
  disabled: disabledWhen(true),
  enabled: disabledWhen(false),
  description: ignored,
  name: ignored,
  autoApprove: ownRules,
  alwaysAllow: ownRules,
  trust: ownRules,
  // Of VS Code, whose files others read, too.
  sandboxEnabled: sandbox('sandboxEnabled'),
  sandbox: sandbox('sandbox'),
};
