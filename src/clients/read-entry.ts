// Reads an entry of a client's configuration field by field: each has a meaning, or a line that says it has none here.

import { isRecord, type JsonObject } from '../core/json.js';
import { quoteOutside } from '../core/text.js';

/** What is known of a server so far, in the words of `mcpServers`; values are still as the client wrote them. */
export interface Draft {
  readonly name: string;
  command?: string;
  args: string[];
  env: Record<string, string>;
  cwd?: string;
  url?: string;
  headers: Record<string, string>;
  oauth?: Record<string, string>;
  allow?: string[];
  deny?: string[];
  timeoutMs?: number;
  startTimeoutMs?: number;
  disabled?: true;
  /** Variables and headers that are references in our words already. */
  readonly ownEnv: Record<string, string>;
  readonly ownHeaders: Record<string, string>;
  readonly notes: string[];
  /** Why it cannot be used here. */
  unusable?: string;
}

/** Takes the value of one field into the draft. */
export type FieldReader = (value: unknown, draft: Draft, field: string) => void;
export type Fields = Readonly<Record<string, FieldReader>>;

export function createDraft(name: string): Draft {
  return { name, args: [], env: {}, headers: {}, ownEnv: {}, ownHeaders: {}, notes: [] };
}

/** Reads every field by its reader; what has none is noted. */
export function readFields(entry: JsonObject, fields: Fields, draft: Draft): void {
  for (const [field, value] of Object.entries(entry)) {
    if (value === null) continue;
    const reader = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (reader === undefined)
      draft.notes.push(`${quoteOutside(field, 40)}: not carried over, wield does not know it`);
    else reader(value, draft, field);
  }
}

export const text =
  (key: 'command' | 'cwd' | 'url'): FieldReader =>
  (value, draft, field) => {
    if (typeof value === 'string') draft[key] = value;
    else draft.unusable ??= `${field} is no text`;
  };

export const texts =
  (key: 'args' | 'allow' | 'deny'): FieldReader =>
  (value, draft, field) => {
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) draft[key] = [...value];
    else draft.unusable ??= `${field} is no list of texts`;
  };

/** Numbers and truth values become the text that a process or a header gets. */
export const map =
  (key: 'env' | 'headers'): FieldReader =>
  (value, draft, field) => {
    if (!isRecord(value)) {
      draft.unusable ??= `${field} is no object`;
      return;
    }
    for (const [name, one] of Object.entries(value)) {
      if (['string', 'number', 'boolean'].includes(typeof one)) draft[key][name] = String(one);
      else draft.notes.push(`${field}.${quoteOutside(name, 40)}: not carried over, it is no text`);
    }
  };

/** A time in milliseconds, or in another unit of so many. */
export const time =
  (key: 'timeoutMs' | 'startTimeoutMs', unitMs = 1): FieldReader =>
  (value, draft, field) => {
    if (typeof value === 'number' && value > 0) draft[key] = Math.round(value * unitMs);
    else draft.notes.push(`${field}: not carried over, it is no time`);
  };

export const disabledWhen =
  (disabled: boolean): FieldReader =>
  (value, draft) => {
    if (value === disabled) draft.disabled = true;
  };

/** A field that means nothing here. */
export const ignored: FieldReader = () => {};

/** A field that has its counterpart elsewhere. */
export const instead =
  (what: string): FieldReader =>
  (_value, draft, field) => {
    draft.notes.push(`${field}: not carried over, ${what}`);
  };

export const ownRules = instead('which calls run without asking is said by your own rules');

/** `type` or `transport`: the older transport over server-sent events alone is not spoken. */
export const transport: FieldReader = (value, draft, field) => {
  const word = typeof value === 'string' ? value.toLowerCase().replace(/[^a-z]/g, '') : '';
  if (word === 'sse')
    draft.unusable ??= 'it speaks the older SSE transport; ask for its Streamable HTTP address';
  else if (!['stdio', 'local', 'http', 'streamablehttp', 'remote'].includes(word))
    draft.unusable ??= `${field} ${quoteOutside(JSON.stringify(value), 40)} is unknown`;
};

/** `oauth`: what a client is registered as. */
export const oauth: FieldReader = (value, draft, field) => {
  if (!isRecord(value)) {
    if (value !== false && value !== true) draft.notes.push(`${field}: not carried over, it is no object`);
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
    else draft.notes.push(`${field}.${quoteOutside(name, 40)}: not carried over`);
  }
};

/** The fields that nearly every client has under these names. */
export const COMMON_FIELDS: Fields = {
  type: transport,
  transport,
  command: text('command'),
  args: texts('args'),
  env: map('env'),
  cwd: text('cwd'),
  url: text('url'),
  headers: map('headers'),
  oauth,
  disabled: disabledWhen(true),
  enabled: disabledWhen(false),
  description: ignored,
  name: ignored,
  autoApprove: ownRules,
  alwaysAllow: ownRules,
  trust: ownRules,
};
