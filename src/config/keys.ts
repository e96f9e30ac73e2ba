// The table of configuration keys; settings, the reference page and the JSON Schema of the file follow from it.

import { isNarrowing, type MiddlewareSettings, middlewareEntry } from '../core/middleware-settings.js';
import { isToolName } from '../core/name.js';
import { readPaths } from '../core/search-path.js';
import type { Settings } from '../core/settings.js';
import { DEFAULT_SETTINGS } from '../core/settings.js';
import {
  boolean,
  custom,
  described,
  duration,
  integer,
  oneOf,
  type Shape,
  size,
  stringOrStrings,
  strings,
  table,
  text,
} from '../core/shape.js';
import { formatBytes, formatDuration } from '../core/text.js';
import { MODES } from '../core/view.js';
import { SERVER_SCHEMA } from '../upstream/entries/fields.js';
import { maskAddress } from '../upstream/entries/mask.js';
import { openApiTable } from './openapi.js';
import { sandboxRule, sandboxTable } from './sandbox.js';

/**
 * How a lower layer can change the value of a higher one: lower a ceiling, replace it, set it if no higher layer does
 * and the workspace is trusted, add a value or entries that only narrow, extend a list, add entries with other names, or
 * not at all.
 */
export type Lowering = 'lowers' | 'replaces' | 'adds' | 'narrows' | 'joins' | 'extends' | 'own' | 'ignored';

type Section = 'limits' | 'results' | 'code' | 'skills' | 'env' | 'view' | 'audit' | 'model';
type SettingName =
  | { [S in Section]: `${S}.${keyof NonNullable<Settings[S]> & string}` }[Section]
  | Exclude<keyof Settings, Section>;

interface Value {
  /** One word for the reference page. */
  readonly word: string;
  readonly shape: Shape<unknown>;
  /** Formats a default. */
  readonly format?: (value: number) => string;
}

export interface Key extends Value {
  /** How the project's file can change it. The user's file can also raise what no managed file limits. */
  readonly project: Lowering;
  /** The setting that it becomes, which has the default; absent if the value is converted further. */
  readonly setting?: SettingName;
  /** Markdown, with links as from the reference page. */
  readonly description: string;
  /** `rules` are selectors that decide what may run, `server` is an upstream server with its own reader. */
  readonly kind?: 'rules' | 'server';
  /** It restricts calls: an invalid value, or a misspelled name, denies everything (POL-9). */
  readonly restricts?: boolean;
  /** Masks secrets in the value (CLI-18). */
  readonly mask?: (value: unknown) => unknown;
  /** Whether a project may add this value. */
  readonly narrows?: (parsed: unknown) => boolean;
}

const FLAG: Value = { word: 'true or false', shape: boolean };
const COUNT: Value = { word: 'number', shape: integer(1, 'a whole number above 0') };
const SIZE: Value = { word: 'size', shape: size, format: formatBytes };
const DURATION: Value = { word: 'duration', shape: duration, format: formatDuration };
const SECONDS: Value = {
  word: 'duration',
  shape: { ...duration, read: (...given) => toSeconds(duration.read(...given)) },
};
const TEXT: Value = { word: 'text', shape: text('a text', /./s) };
const MODE: Value = { word: 'all, search, code or auto', shape: oneOf(...MODES) };
const VARIABLES: Value = { word: 'names', shape: described(strings, 'an array of names of variables') };
const DIRECTORIES: Value = { word: 'directories', shape: described(strings, 'an array of directories') };
const PARAMETERS: Value = { word: 'names', shape: described(strings, 'an array of names of parameters') };
const SELECTORS = {
  word: 'selectors',
  shape: described(stringOrStrings, 'selectors, as text or an array of text'),
  kind: 'rules',
  project: 'narrows',
  restricts: true,
} as const;

function toSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.max(1, Math.ceil(milliseconds / 1000));
}

/** A key that limits calls. */
function limit(value: Value, setting: SettingName, description: string): Key {
  return { ...value, project: 'lowers', restricts: true, setting, description };
}

/** A key that a project cannot set. */
function own(value: Value, setting: SettingName | undefined, description: string, more: Partial<Key> = {}): Key {
  return { ...value, project: 'ignored', ...(setting === undefined ? {} : { setting }), description, ...more };
}

const RESTRICTS = { restricts: true } as const;
const FREE = { restricts: false } as const;

/** All keys; `*` is the name of a tool, a server or a profile. */
export const KEYS: Readonly<Record<string, Key>> = {
  repair: { ...FLAG, project: 'replaces', setting: 'repair', description: 'Repair common mistakes in input' },
  'allowed-tools': { ...SELECTORS, description: 'The tools that may be called; see [Rules](#rules)' },
  'trust.rules': { ...SELECTORS, description: 'Which calls run, ask first or are denied' },
  mode: {
    ...MODE,
    project: 'replaces',
    setting: 'view.mode',
    description: 'How models are shown the tools; see [many tools](../guides/many-tools.md)',
  },
  'profiles.*.tools': { ...SELECTORS, description: 'The tools of this profile' },
  'profiles.*.rules': { ...SELECTORS, description: 'Rules of this profile, where they are stricter' },
  'profiles.*.mode': { ...MODE, project: 'replaces', description: 'Instead of `mode`' },
  'profiles.*.env': {
    ...VARIABLES,
    project: 'narrows',
    restricts: true,
    description: 'Of the variables that are passed, only these',
  },
  'limits.timeout': limit(DURATION, 'limits.timeoutMs', 'Time limit of tools without their own'),
  'limits.output': limit(SIZE, 'limits.outputBytes', 'Maximum output of a tool, both streams together'),
  'limits.memory': limit(
    SIZE,
    'limits.memoryBytes',
    'Address space of a process (Linux); heap of the host of a module',
  ),
  'limits.cpu': limit(SECONDS, 'limits.cpuSeconds', 'CPU time of a process (Linux)'),
  'limits.files': limit(COUNT, 'limits.openFiles', 'Open files of a process (Linux)'),
  'limits.processes': limit(COUNT, 'limits.processes', 'Processes of the user (Linux)'),
  'limits.concurrent': limit(COUNT, 'limits.concurrent', 'Concurrent calls in total'),
  'limits.concurrent-per-tool': limit(COUNT, 'limits.concurrentPerTool', 'Concurrent calls of one tool'),
  'limits.concurrent-per-group': limit(COUNT, 'limits.concurrentPerGroup', 'Concurrent calls of one group'),
  'limits.queue': limit(COUNT, 'limits.queue', 'Queued calls; one more fails with `busy`'),
  'limits.calls-per-minute': limit(
    COUNT,
    'limits.callsPerMinute',
    'Calls of one caller, in a fleet at all fronts together; one more fails with `busy`',
  ),
  'results.inline': {
    ...limit(COUNT, 'results.inline', 'Characters of an inline result; a longer one becomes a handle'),
    ...FREE,
  },
  'results.keep': {
    ...limit(DURATION, 'results.keepMs', 'How long a stored result is kept after its last use'),
    ...FREE,
  },
  'results.total': {
    ...limit(SIZE, 'results.totalBytes', 'Stored results of a workdir, least recently read removed first'),
    ...FREE,
  },
  'results.schemas': {
    ...FLAG,
    project: 'replaces',
    setting: 'results.schemas',
    description: 'Send output schemas to models; false: a large result is only its handle, without structured content',
  },
  'code.calls': limit(COUNT, 'code.calls', 'Calls of a [program](../guides/code-mode.md)'),
  'code.parallel': limit(COUNT, 'code.parallel', 'Concurrent ones'),
  'code.cpu': limit(DURATION, 'code.cpuMs', 'Its own processor time'),
  'code.memory': limit(SIZE, 'code.memoryBytes', 'Its memory'),
  'code.timeout': limit(DURATION, 'code.timeoutMs', 'From start to end, without waiting for approvals'),
  'env.pass': own(VARIABLES, 'env.pass', 'Variables passed to every script; a name may end in `*`'),
  'skills.allow-scripts': {
    ...FLAG,
    project: 'adds',
    description: 'Resolvers of a `tools.json` may run scripts of their skill; also `allowScripts`',
  },
  'skills.context-mode': {
    word: 'full or readOnDemand',
    shape: oneOf('full', 'readOnDemand'),
    project: 'replaces',
    setting: 'skills.contextMode',
    description: 'How [skills](../concepts/skills.md) are presented to a model; also `contextMode`',
  },
  'tools.*.timeout': {
    ...DURATION,
    project: 'lowers',
    restricts: true,
    description: "Time limit of this tool; the user's overrides its `@timeout`",
  },
  'tools.*.env.pass': own(VARIABLES, undefined, 'Variables passed to this tool'),
  'tools.*.runOn': own({ ...TEXT, word: 'tag' }, undefined, 'Tag of the workers that it runs on', RESTRICTS),
  'tools.*.name': own(
    {
      word: 'name',
      shape: custom(
        'the name of a tool',
        (value) => (typeof value === 'string' && isToolName(value) ? value : undefined),
        { type: 'string' },
      ),
    },
    undefined,
    'Another [name](../guides/many-tools.md#another-face) of this tool for models',
  ),
  'tools.*.description': own(TEXT, undefined, 'Another description for models'),
  'tools.*.hide': own(PARAMETERS, undefined, 'Parameters that models do not see', RESTRICTS),
  'tools.*.fixed': own(
    { word: 'table', shape: described(table, 'a table of parameters and their values') },
    undefined,
    'Values of parameters that models do not see',
    RESTRICTS,
  ),
  'builtin.offer': own(
    { word: 'names', shape: described(strings, 'an array of names or groups of built-in tools') },
    'offer',
    'Built-in tools to offer to models, by name or group',
  ),
  paths: {
    word: 'search path',
    shape: custom('an array of directories, { external = "…" } and { ignore = "…" }', readPaths, {
      type: 'array',
      items: { anyOf: [{ type: 'string' }, { type: 'object' }] },
    }),
    project: 'extends',
    restricts: true,
    setting: 'paths',
    description: 'Directories searched for skills and their tools, [in order](#the-search-path)',
  },
  'workdir.roots': own(DIRECTORIES, 'roots', 'Where the tool `workdir` may change to; empty: the first workdir'),
  'install.homes': own(DIRECTORIES, 'homes', 'Agent directories for links of installed items; empty: `~/.claude`'),
  'audit.contents': own(FLAG, 'audit.contents', 'Record inputs and outputs, redacted, in the [audit log](audit.md)'),
  'audit.required': own(FLAG, 'audit.required', 'Refuse calls that cannot be recorded', RESTRICTS),
  'audit.rotate': own(SIZE, 'audit.rotateBytes', 'Size at which a new log file is started'),
  'audit.keep': own(COUNT, 'audit.keep', 'Number of full log files to keep'),
  middleware: {
    word: 'tables',
    shape: middlewareEntry,
    project: 'joins',
    restricts: true,
    narrows: (parsed) => isNarrowing(parsed as MiddlewareSettings),
    description: '[Retries, caches and rate limits](#middleware)',
  },
  'sandbox.*': {
    word: 'table',
    shape: sandboxTable,
    project: 'narrows',
    restricts: true,
    description: 'A [sandbox profile](#sandboxes)',
  },
  'sandbox.rules': {
    word: 'tables',
    shape: sandboxRule,
    project: 'narrows',
    restricts: true,
    description: 'The profiles of tools, also written `[[sandbox]]`',
  },
  'openapi.*': own(
    { word: 'table', shape: openApiTable },
    undefined,
    'An [OpenAPI document](../guides/openapi.md): `spec`, `server`, `include`, `exclude`, `auth`',
    RESTRICTS,
  ),
  'mcpServers.*': {
    word: 'table',
    shape: { ...table, schema: SERVER_SCHEMA },
    kind: 'server',
    project: 'own',
    description: 'An upstream [server](servers.md)',
  },
  'mcp.servers': {
    word: 'tables',
    shape: { ...table, schema: SERVER_SCHEMA },
    kind: 'server',
    project: 'own',
    description: 'The same as an array, each entry with a `name`',
  },
  'mcp.disabled': {
    word: 'names',
    shape: described(strings, 'an array of names of servers'),
    project: 'narrows',
    restricts: true,
    description: 'Disabled servers',
  },
  'model.provider': own(
    { word: 'anthropic, openai or ollama', shape: oneOf('anthropic', 'openai', 'ollama') },
    'model.provider',
    'API of the [model](#model)',
  ),
  'model.name': own(
    { ...TEXT, shape: described(TEXT.shape, 'the name of a model') },
    'model.name',
    'The name of the model',
  ),
  'model.url': own(
    { word: 'address', shape: text('an address such as "http://127.0.0.1:11434"', /^https?:\/\/[^\s@]+$/) },
    'model.url',
    "Base URL, instead of the provider's",
    { mask: (value) => maskAddress(String(value)) },
  ),
  'model.key': own(
    { word: 'name', shape: text('the name of a variable that holds the key', /^[A-Za-z_][A-Za-z0-9_]*$/) },
    'model.keyVariable',
    'Variable with the API key',
  ),
};

/** Formats a value as written in a file. */
export function formatValue(key: string, value: unknown): string {
  const { format } = KEYS[key]!;
  return JSON.stringify(typeof value === 'number' && format !== undefined ? format(value) : value);
}

/** Defaults by key. */
export const DEFAULT_VALUES: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...Object.entries(KEYS).flatMap(([name, { setting }]): [string, unknown][] => {
    const value = setting === undefined ? undefined : findSetting(DEFAULT_SETTINGS, setting);
    return value === undefined ? [] : [[name, value]];
  }),
  ['skills.allow-scripts', false],
]);

function findSetting(settings: Settings, setting: SettingName): unknown {
  return setting.split('.').reduce<unknown>((value, step) => (value as Record<string, unknown>)?.[step], settings);
}

/** Returns the settings with one changed. */
export function withSetting(settings: Settings, setting: SettingName, value: unknown): Settings {
  const [section, name] = setting.split('.') as [keyof Settings, string?];
  if (name === undefined) return { ...settings, [section]: value };
  return { ...settings, [section]: { ...(settings[section] as object | undefined), [name]: value } };
}
