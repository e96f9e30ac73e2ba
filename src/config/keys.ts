// The keys of the configuration: their values, and how a lower layer may change them.

import { isRecord } from '../core/json.js';
import type { MiddlewareSettings } from '../core/middleware-settings.js';
import { findMiddlewareFault, isNarrowing, parseMiddleware } from '../core/middleware-settings.js';
import { isToolName } from '../core/name.js';
import { readPaths } from '../core/search-path.js';
import { formatBytes, formatDuration, parseBytes, parseDuration } from '../core/text.js';
import { MODES } from '../core/view.js';
import { maskAddress } from '../upstream/entries/mask.js';
import { findOpenApiFault, parseOpenApiTable } from './openapi.js';
import { findRuleFault, findSandboxFault, parseSandboxRule, parseSandboxTable, sandboxLeaves } from './sandbox.js';

/**
 * How a lower layer can change the value of a higher one: lower a ceiling, replace it, set it if no higher layer does
 * and the workspace is trusted, add a value or entries that only narrow, extend a list, add entries with other names, or
 * not at all.
 */
export type Lowering = 'lowers' | 'replaces' | 'adds' | 'narrows' | 'joins' | 'extends' | 'own' | 'ignored';

export interface Key {
  readonly expected: string;
  /** Parses the value to internal units; undefined if it is invalid. */
  readonly parse: (value: unknown, path?: readonly string[]) => unknown;
  /** How the project's file can change it. The user's file can also raise what no managed file limits. */
  readonly project: Lowering;
  /** It decides what may run: an invalid value denies everything (POL-9). */
  readonly rules?: true;
  /** It restricts calls: an invalid value, or a misspelled name, denies everything (POL-9). */
  readonly restricts?: true | undefined;
  /** It is an upstream server with its own parser. */
  readonly server?: true;
  /** Masks secrets in the value (CLI-18). */
  readonly mask?: (value: unknown) => unknown;
  /** Describes what is wrong with an invalid value, if `expected` is not enough. */
  readonly findFault?: (value: unknown, path?: readonly string[]) => string | undefined;
  /** Whether a project may add this value. */
  readonly narrows?: (parsed: unknown) => boolean;
}

const integer = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
const bytes = (value: unknown): number | undefined => (typeof value === 'string' ? parseBytes(value) : integer(value));
const duration = (value: unknown): number | undefined =>
  typeof value === 'string'
    ? parseDuration(value)
    : typeof value === 'number'
      ? parseDuration(String(value))
      : undefined;
const seconds = (value: unknown): number | undefined => {
  const milliseconds = duration(value);
  return milliseconds === undefined ? undefined : Math.max(1, Math.ceil(milliseconds / 1000));
};
const boolean = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);
const contextMode = (value: unknown): string | undefined =>
  value === 'full' || value === 'readOnDemand' ? value : undefined;
const mode = (value: unknown): string | undefined => MODES.find((known) => known === value);
const toolName = (value: unknown): string | undefined =>
  typeof value === 'string' && isToolName(value) ? value : undefined;
const strings = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value : undefined;
const texts = (value: unknown): readonly string[] | undefined => (typeof value === 'string' ? [value] : strings(value));

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const provider = (value: unknown): string | undefined =>
  value === 'anthropic' || value === 'openai' || value === 'ollama' ? value : undefined;
const webAddress = (value: unknown): string | undefined =>
  typeof value === 'string' && /^https?:\/\/[^\s@]+$/.test(value) ? value : undefined;
const variable = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value) ? value : undefined;

const A_COUNT = {
  expected: 'a whole number above 0',
  parse: integer,
  project: 'lowers',
  restricts: true,
} as const;
const A_SIZE = { expected: 'a size such as "16M"', parse: bytes, project: 'lowers', restricts: true } as const;
const A_DURATION = {
  expected: 'a duration such as "30s"',
  parse: duration,
  project: 'lowers',
  restricts: true,
} as const;
// Of results, and of files of the audit log.
const FREE = { restricts: undefined } as const;
const SELECTORS = {
  expected: 'selectors, as text or an array of text',
  parse: texts,
  project: 'narrows',
  rules: true,
  restricts: true,
} as const;
const VARIABLES = { expected: 'an array of names of variables', parse: strings, project: 'ignored' } as const;

const A_MODE = { expected: '"all", "search", "code" or "auto"', parse: mode, project: 'replaces' } as const;
const A_SERVER = {
  parse: (value: unknown) => (isRecord(value) ? value : undefined),
  project: 'own',
  server: true,
} as const;

/** All keys; `*` is the name of a tool, a server or a profile. */
export const KEYS: Readonly<Record<string, Key>> = {
  repair: { expected: 'true or false', parse: boolean, project: 'replaces' },
  'allowed-tools': SELECTORS,
  'trust.rules': SELECTORS,
  mode: A_MODE,
  'profiles.*.tools': SELECTORS,
  'profiles.*.rules': SELECTORS,
  'profiles.*.mode': A_MODE,
  'profiles.*.env': { ...VARIABLES, project: 'narrows', restricts: true },
  'limits.timeout': A_DURATION,
  'limits.output': A_SIZE,
  'limits.memory': A_SIZE,
  'limits.cpu': { expected: 'a duration such as "60s"', parse: seconds, project: 'lowers', restricts: true },
  'limits.files': A_COUNT,
  'limits.processes': A_COUNT,
  'limits.concurrent': A_COUNT,
  'limits.concurrent-per-tool': A_COUNT,
  'limits.concurrent-per-group': A_COUNT,
  'limits.queue': A_COUNT,
  'limits.calls-per-minute': A_COUNT,
  'results.inline': { ...A_COUNT, ...FREE },
  'results.keep': { ...A_DURATION, ...FREE },
  'results.total': { ...A_SIZE, ...FREE },
  'results.schemas': { expected: 'true or false', parse: boolean, project: 'replaces' },
  'code.calls': A_COUNT,
  'code.parallel': A_COUNT,
  'code.cpu': A_DURATION,
  'code.memory': A_SIZE,
  'code.timeout': A_DURATION,
  'env.pass': VARIABLES,
  'skills.allow-scripts': { expected: 'true or false', parse: boolean, project: 'adds' },
  'skills.context-mode': { expected: '"full" or "readOnDemand"', parse: contextMode, project: 'replaces' },
  'tools.*.timeout': A_DURATION,
  'tools.*.env.pass': VARIABLES,
  'tools.*.runOn': { expected: 'a text', parse: text, project: 'ignored', restricts: true },
  'tools.*.name': { expected: 'the name of a tool', parse: toolName, project: 'ignored' },
  'tools.*.description': { expected: 'a text', parse: text, project: 'ignored' },
  'tools.*.hide': { expected: 'an array of names of parameters', parse: strings, project: 'ignored', restricts: true },
  'tools.*.fixed': {
    expected: 'a table of parameters and their values',
    parse: (value) => (isRecord(value) ? value : undefined),
    project: 'ignored',
    restricts: true,
  },
  'builtin.offer': { expected: 'an array of names or groups of built-in tools', parse: strings, project: 'ignored' },
  paths: {
    expected: 'an array of directories, { external = "…" } and { ignore = "…" }',
    parse: readPaths,
    project: 'extends',
    restricts: true,
  },
  'workdir.roots': { expected: 'an array of directories', parse: strings, project: 'ignored' },
  'install.homes': { expected: 'an array of directories', parse: strings, project: 'ignored' },
  'audit.contents': { expected: 'true or false', parse: boolean, project: 'ignored' },
  'audit.required': { expected: 'true or false', parse: boolean, project: 'ignored', restricts: true },
  'audit.rotate': { ...A_SIZE, ...FREE, project: 'ignored' },
  'audit.keep': { ...A_COUNT, ...FREE, project: 'ignored' },
  middleware: {
    expected: 'an array of tables: [[middleware]]',
    parse: parseMiddleware,
    findFault: findMiddlewareFault,
    project: 'joins',
    restricts: true,
    narrows: (parsed) => isNarrowing(parsed as MiddlewareSettings),
  },
  'sandbox.*': {
    expected: 'a table: [sandbox.NAME]',
    parse: parseSandboxTable,
    findFault: findSandboxFault,
    project: 'narrows',
    restricts: true,
  },
  'sandbox.rules': {
    expected: 'an array of tables: [[sandbox]]',
    parse: parseSandboxRule,
    findFault: findRuleFault,
    project: 'narrows',
    restricts: true,
  },
  'openapi.*': {
    expected: 'a table: [openapi.NAME]',
    parse: parseOpenApiTable,
    findFault: findOpenApiFault,
    project: 'ignored',
    restricts: true,
  },
  'mcpServers.*': { ...A_SERVER, expected: 'a table: [mcpServers.NAME]' },
  'mcp.servers': { ...A_SERVER, expected: 'an array of tables: [[mcp.servers]]' },
  'mcp.disabled': { expected: 'an array of names of servers', parse: strings, project: 'narrows', restricts: true },
  'model.provider': { expected: '"anthropic", "openai" or "ollama"', parse: provider, project: 'ignored' },
  'model.name': { expected: 'the name of a model', parse: text, project: 'ignored' },
  'model.url': {
    expected: 'an address such as "http://127.0.0.1:11434"',
    parse: webAddress,
    project: 'ignored',
    mask: (value) => maskAddress(String(value)),
  },
  'model.key': { expected: 'the name of a variable that holds the key', parse: variable, project: 'ignored' },
};

// Arrays of tables: each table is a separate value.
const ARRAYS: readonly string[] = ['middleware', 'mcp.servers'];

// An older spelling.
const ALIASES: Readonly<Record<string, string>> = {
  'skills.allowScripts': 'skills.allow-scripts',
  'skills.contextMode': 'skills.context-mode',
};

// Tables of which no key restricts calls.
const FREE_TABLES = ['results', 'model', 'install', 'skills'];

/** Whether an unknown key may have been meant to restrict calls: each one outside of tables that restrict nothing (POL-9). */
export function mayRestrict(path: readonly string[], close: string | undefined): boolean {
  if (path.length < 2 || !FREE_TABLES.includes(path[0]!)) return true;
  return close !== undefined && KEYS[close]!.restricts === true;
}

/** Returns the canonical spelling of a path. */
export function canonicalPath(path: readonly string[]): readonly string[] {
  const name = path.join('.');
  return Object.hasOwn(ALIASES, name) ? ALIASES[name]!.split('.') : path;
}

/** Returns the key in the table: the name of a tool, a server or a profile becomes `*`. */
export function keyName(path: readonly string[]): string {
  const steps = canonicalPath(path);
  if (steps[0] === 'middleware' && steps.length < 4) return 'middleware';
  if (steps[0] === 'mcp' && steps[1] === 'servers' && steps.length < 4) return 'mcp.servers';
  if (steps[0] === 'sandbox' && steps.length > 1) return steps[1] === 'rules' ? 'sandbox.rules' : 'sandbox.*';
  if (steps[0] === 'openapi' && steps.length > 1) return 'openapi.*';
  const isNamed = steps[0] === 'tools' || steps[0] === 'mcpServers' || steps[0] === 'profiles';
  return steps.map((step, index) => (index === 1 && isNamed ? '*' : step)).join('.');
}

/** Returns the leaves of a document with their paths. The tables of an array of tables are leaves, counted from 1. */
export function leaves(document: unknown, path: readonly string[] = []): { path: readonly string[]; value: unknown }[] {
  if (path.length === 1 && path[0] === 'sandbox') return sandboxLeaves(document);
  if (Array.isArray(document) && ARRAYS.includes(path.join('.')))
    return document.map((value, at) => ({ path: [...path, String(at + 1)], value }));
  if (!isRecord(document) || (path.length > 0 && Object.hasOwn(KEYS, keyName(path))))
    return [{ path, value: document }];
  return Object.entries(document).flatMap(([key, value]) => leaves(value, [...path, key]));
}

/** Formats a value as written in a file. */
export function formatValue(key: string, value: unknown): string {
  if (typeof value !== 'number') return JSON.stringify(value);
  const { parse } = KEYS[key]!;
  if (parse === duration) return JSON.stringify(formatDuration(value));
  return parse === bytes ? JSON.stringify(formatBytes(value)) : String(value);
}
