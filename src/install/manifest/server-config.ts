// What a person configures of an installed server (`user_config`), and how its entry is filled with that.

import { resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { JsonObject } from '../../core/json.js';
import { isSensitiveName } from '../../core/redact.js';
import {
  anything,
  boolean,
  converted,
  type Infer,
  number,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  string,
} from '../../core/shape.js';
import { quoteOutside } from '../../core/text.js';
import { expandHome } from '../../files/home.js';
import { findReferences } from '../../upstream/entries/value.js';

/** An option with all its fields; null for those that are not there. */
export interface ConfigOption extends Required<Omit<Infer<typeof OPTION>, 'default' | 'min' | 'max'>> {
  readonly default: readonly string[] | null;
  readonly min: number | null;
  readonly max: number | null;
}

export interface ServerTemplate {
  /** An entry in which `${user_config.KEY}` is a value of the person. */
  readonly entry: JsonObject;
  /** Entries of systems that differ. */
  readonly overrides: Readonly<Record<string, JsonObject>>;
  readonly options: Readonly<Record<string, ConfigOption>>;
}

/** Values as they are written into an entry: text in which `${` begins a reference. */
export type ConfigValues = Readonly<Record<string, readonly string[]>>;

const FLAG = optional(boolean);
const OPTION = object(
  {
    type: oneOf('string', 'number', 'boolean', 'directory', 'file'),
    title: optional(string),
    description: optional(string),
    required: FLAG,
    multiple: FLAG,
    /** Its value is kept in a private file, and the entry refers to it. */
    sensitive: FLAG,
    default: optional(anything),
    min: optional(number),
    max: optional(number),
  },
  { unknown: 'drop', nullIsMissing: true },
);
const KEY = /^(?!(?:__proto__|constructor|prototype)$)[A-Za-z_][\w.-]{0,63}$/;
const PLACEHOLDER = /\$\{user_config\.([A-Za-z_][\w.-]*)\}/g;

/** `user_config`: what a person configures of a server. */
export const USER_CONFIG: Shape<Readonly<Record<string, ConfigOption>>> = converted(
  record(OPTION, { findFault: (key) => (KEY.test(key) ? undefined : 'is not a valid name') }),
  (table) => Object.fromEntries(Object.entries(table).map(([key, option]) => [key, toOption(key, option)])),
);

function toOption(key: string, option: Infer<typeof OPTION>): ConfigOption {
  const { type, title = key, description = '', required = false, multiple = false } = option;
  const { sensitive = false, default: fallback = [], min = null, max = null } = option;
  const texts = [fallback].flat().map((one) => toFallback(String(one)));
  return {
    type,
    title,
    description,
    required,
    multiple,
    sensitive: sensitive || (type === 'string' && isSensitiveName(key)),
    default: texts.length === 0 || (texts.length === 1 && texts[0] === '') ? null : texts,
    min,
    max,
  };
}

// A default may name the usual directories.
function toFallback(text: string): string {
  const [, name, rest = ''] = /^\$\{(HOME|DESKTOP|DOCUMENTS|DOWNLOADS)\}(.*)$/s.exec(text) ?? [];
  if (name === undefined) return literal(text);
  const directory = name === 'HOME' ? '' : `/${name[0]}${name.slice(1).toLowerCase()}`;
  return `\${userHome}${directory}${literal(rest)}`;
}

/** Text in which nothing is a reference. */
export function literal(text: string): string {
  return text.replaceAll('${', () => '$${');
}

/** Returns the keys of required options without a value. */
export function missingOf({ options }: ServerTemplate, values: ConfigValues): string[] {
  return Object.keys(options).filter((key) => options[key]!.required && valueFor(options, values, key) === null);
}

// Own properties only: an option may be called toString (INS-72).
function valueFor(options: ServerTemplate['options'], values: ConfigValues, key: string): readonly string[] | null {
  if (Object.hasOwn(values, key)) return values[key]!;
  return Object.hasOwn(options, key) ? options[key]!.default : null;
}

/**
 * Fills in an entry. An argument or variable whose value is optional and absent is left out. Throws
 * `invalid_definition` for a reference that no sensitive value is: text of a manifest is text (INS-71).
 */
export function fillEntry(template: ServerTemplate, values: ConfigValues, platform: string): JsonObject {
  const { options, overrides } = template;
  const entry = Object.hasOwn(overrides, platform) ? overrides[platform]! : template.entry;
  const find = (key: string): readonly string[] | null => valueFor(options, values, key);
  // Undefined if a value is absent.
  const fill = (text: string): string | undefined => {
    let isAbsent = false;
    const filled = text.replace(PLACEHOLDER, (_, key: string) => {
      const found = find(key);
      isAbsent ||= found === null;
      return found?.join(',') ?? '';
    });
    return isAbsent ? undefined : filled;
  };
  const args = (entry.args as readonly string[]).flatMap((arg) => {
    const [, key] = /^\$\{user_config\.([A-Za-z_][\w.-]*)\}$/.exec(arg) ?? [];
    return key === undefined ? (fill(arg) ?? []) : (find(key) ?? []);
  });
  const env = Object.entries(entry.env as Record<string, string>).flatMap(([name, text]) => {
    const filled = fill(text);
    return filled === undefined ? [] : [[name, filled] as const];
  });
  const command = fill(entry.command as string) ?? '';
  const allowed = allowedReferences(template, values);
  for (const text of [command, ...args]) assertText(text, 'args', allowed);
  for (const [, text] of env) assertText(text, 'env', allowed);
  return { ...entry, command, args, env: Object.fromEntries(env) };
}

function allowedReferences({ options }: ServerTemplate, values: ConfigValues): ReadonlySet<string> {
  const secrets = Object.entries(values).filter(([key]) => Object.hasOwn(options, key) && options[key]!.sensitive);
  const given = secrets.flatMap(([, texts]) => texts.flatMap((text) => findReferences(text, 'env')));
  return new Set(['${userHome}', '${CLAUDE_PLUGIN_ROOT}', ...given]);
}

function assertText(text: string, field: 'args' | 'env', allowed: ReadonlySet<string>): void {
  const foreign = findReferences(text, field).find((reference) => !allowed.has(reference));
  if (foreign === undefined) return;
  throw new ToolError('invalid_definition', `"${quoteOutside(foreign, 80)}" would be read from this machine`, {
    hint: 'only a secret may be a reference: ${VAR}, or file:~/path',
  });
}

/** Checks a text that a person gave for an option, and returns how it is written into the entry. Throws `usage`. */
export function checkValue(
  key: string,
  option: ConfigOption,
  text: string,
  { cwd, home }: { readonly cwd: string; readonly home: string | undefined },
): string {
  const refuse = (what: string): ToolError =>
    new ToolError('usage', `${quoteOutside(key, 60)} must be ${what}`, { hint: quoteOutside(option.description, 200) });
  const { type, min, max } = option;
  if (text === '') throw refuse('set');
  if (type === 'boolean' && !/^(?:true|false)$/.test(text)) throw refuse('true or false');
  if (type === 'number') {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value)) throw refuse('a number');
    if (value < (min ?? value) || value > (max ?? value)) throw refuse(`from ${min ?? '…'} to ${max ?? '…'}`);
  }
  if (type !== 'directory' && type !== 'file') return literal(text);
  return literal(resolve(cwd, expandHome(text, home)));
}

/** Whether a person's text is a reference and not the value itself: `${TOKEN}`, `file:~/token`. */
export function isReference(text: string): boolean {
  return /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$|^file:(?:\/(?!\/)|~\/).+$|^\$\{file:[^}]+\}$/s.test(text);
}
