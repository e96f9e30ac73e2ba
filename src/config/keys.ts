// The table of configuration keys; settings, the reference page and the JSON Schema of the file follow from it.

import { allowedServers, allowedSources, signers } from '../core/allowance.js';
import { isNarrowing, type MiddlewareSettings, middlewareEntry } from '../core/middleware-settings.js';
import { isToolName, TOOL_NAME_PATTERN } from '../core/name.js';
import { searchPath } from '../core/search-path.js';
import type { Settings, ToolSettings } from '../core/settings.js';
import { DEFAULT_SETTINGS } from '../core/settings.js';
import {
  boolean,
  checked,
  converted,
  described,
  duration,
  integer,
  oneOf,
  type Shape,
  size,
  string,
  stringOrStrings,
  strings,
  table,
  text,
} from '../core/shape.js';
import { formatBytes, formatDuration } from '../core/text.js';
import { type Alias, MODES } from '../core/view.js';
import { RULE_TEST } from '../policy/rule-tests.js';
import { maskAddress } from '../upstream/entries/mask.js';
import { caFile, exceptions, proxyAddress, proxyList } from './net.js';
import { openApiTable, reference } from './openapi.js';
import { approverList, auditSinks, maskReceivers, notifyTable } from './receivers.js';
import { findProfileNameFault, sandboxRule, sandboxTable } from './sandbox.js';
import { authTable, tokensTable } from './serve.js';

/**
 * How a lower layer can change the value of a higher one: lower a ceiling, replace it, set it if no higher layer does
 * and the workspace is trusted, add a value or entries that only narrow, extend a list, add entries with other names, or
 * not at all.
 */
export type Lowering = 'lowers' | 'replaces' | 'adds' | 'narrows' | 'joins' | 'extends' | 'own' | 'ignored';

type Section =
  | 'net'
  | 'serve'
  | 'approvals'
  | 'limits'
  | 'results'
  | 'code'
  | 'skills'
  | 'env'
  | 'view'
  | 'audit'
  | 'metrics'
  | 'model'
  | 'tasks';
type SettingName =
  | { [S in Section]: `${S}.${keyof NonNullable<Settings[S]> & string}` }[Section]
  | Exclude<keyof Settings, Section>
  | `tools.*.${keyof ToolSettings}`
  | `view.aliases.*.${keyof Alias}`
  | 'env.from.*'
  | 'tools.*.from.*';

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
  /** Whether the setting has the list of each file; that of another key that narrows has the entries of all. */
  readonly perFile?: boolean;
  /** Markdown, with links as from the reference page. */
  readonly description: string;
  /** `rules` are selectors that decide what may run, `server` is an upstream server with its own reader. */
  readonly kind?: 'rules' | 'server';
  /** It restricts calls: an invalid value, or a misspelled name, denies everything (POL-9). */
  readonly restricts?: boolean;
  /** Masks secrets in the value (CLI-18). */
  readonly mask?: (value: unknown) => unknown;
  /** Returns what is wrong with the last step of its path, which a user chooses. */
  readonly findNameFault?: (name: string, value: unknown) => string | undefined;
  /** Whether a project may add this value. */
  readonly narrows?: (parsed: unknown) => boolean;
}

let known: Readonly<Record<string, Key>> | undefined;

/** All keys; `*` is the name of a tool, a server or a profile. Made on first use: most runs read no file. */
export function keys(): Readonly<Record<string, Key>> {
  known ??= createKeys();
  return known;
}

/** Formats a value as written in a file. */
export function formatValue(key: string, value: unknown): string {
  const { format } = keys()[key]!;
  return JSON.stringify(typeof value === 'number' && format !== undefined ? format(value) : value);
}

/** Returns the default of a key; undefined if it has none. */
export function defaultOf(name: string): unknown {
  if (name === 'skills.allow-scripts') return false;
  const { setting, project, perFile } = keys()[name] ?? {};
  const isCollected = project === 'narrows' || perFile === true;
  return setting === undefined || isCollected ? undefined : findSetting(DEFAULT_SETTINGS, setting);
}

function findSetting(settings: Settings, setting: SettingName): unknown {
  return setting.split('.').reduce<unknown>((value, step) => (value as Record<string, unknown>)?.[step], settings);
}

function isRelativePath(path: string): boolean {
  return path !== '' && !/^[/~]|\\|\0/.test(path) && !path.split('/').includes('..');
}

function names(of: string): Value {
  return { word: 'names', shape: described(strings, `an array of ${of}`) };
}

function key(
  value: Value,
  project: Lowering,
  setting: SettingName | null,
  description: string,
  more: Partial<Key> = {},
): Key {
  return { ...value, project, ...(setting === null ? {} : { setting }), description, ...more };
}

const RESTRICTS = { restricts: true } as const;
const limit = (value: Value, setting: SettingName | null, description: string): Key =>
  key(value, 'lowers', setting, description, RESTRICTS);
const own = (value: Value, setting: SettingName | null, description: string, more?: Partial<Key>): Key =>
  key(value, 'ignored', setting, description, more);

function createKeys(): Readonly<Record<string, Key>> {
  const FLAG: Value = { word: 'true or false', shape: boolean };
  const COUNT: Value = { word: 'number', shape: integer(1, 'a whole number above 0') };
  const SIZE: Value = { word: 'size', shape: size, format: formatBytes };
  const DURATION: Value = { word: 'duration', shape: duration, format: formatDuration };
  const SECONDS: Value = { word: 'duration', shape: converted(duration, (ms) => Math.max(1, Math.ceil(ms / 1000))) };
  const TEXT: Value = { word: 'text', shape: text('a text', /[\s\S]/) };
  const TAG: Value = { ...TEXT, word: 'tag' };
  const MODE: Value = { word: 'all, search, code or auto', shape: oneOf(...MODES) };
  const ENCODING: Value = { word: 'auto or off', shape: oneOf('auto', 'off') };
  const SELECTORS: Value = {
    word: 'selectors',
    shape: described(stringOrStrings, 'selectors, as text or an array of text'),
  };
  const VARIABLES = names('names of variables');
  const REFERENCE: Value = { word: 'reference', shape: reference };
  const DIRECTORIES: Value = { ...names('directories'), word: 'directories' };
  const TOOL_NAME: Value = {
    word: 'name',
    shape: checked(
      described(string, 'the name of a tool'),
      (name, fail) => {
        if (!isToolName(name)) fail([], 'must be the name of a tool');
      },
      { pattern: TOOL_NAME_PATTERN },
    ),
  };
  const FIXED: Value = { word: 'table', shape: described(table, 'a table of parameters and their values') };
  const PATHS: Value = { word: 'search path', shape: searchPath };
  const SERVER: Value = { word: 'table', shape: table };
  const CONTEXT_MODE: Value = { word: 'full or readOnDemand', shape: oneOf('full', 'readOnDemand') };
  const PROVIDER: Value = { word: 'anthropic, openai or ollama', shape: oneOf('anthropic', 'openai', 'ollama') };
  const MODEL: Value = { ...TEXT, shape: described(TEXT.shape, 'the name of a model') };
  const ADDRESS: Value = {
    word: 'address',
    shape: text('an address such as "http://127.0.0.1:11434"', /^https?:\/\/[^\s@]+$/),
  };
  const VARIABLE: Value = {
    word: 'name',
    shape: text('the name of a variable that holds the key', /^[A-Za-z_][A-Za-z0-9_]*$/),
  };

  const TASK_FILES: Value = {
    word: 'paths',
    shape: checked(
      described(strings, 'an array of paths'),
      (paths, fail) => {
        for (const [at, path] of paths.entries())
          if (!isRelativePath(path)) fail([at], 'must be a path in the workdir', 'write it relative to the workdir');
      },
      { items: { type: 'string', pattern: '^(?![/~])(?!(?:[\\s\\S]*/)?\\.\\.(?:/|$))[^\\\\\\x00]+$' } },
    ),
  };
  const TASK_GLOBS: Value = { ...names('globs of names'), word: 'globs' };
  const rules = (description: string): Key =>
    key(SELECTORS, 'narrows', null, description, { kind: 'rules', ...RESTRICTS });

  return {
    repair: key(FLAG, 'replaces', 'repair', 'Repair common mistakes in input'),
    'allowed-tools': rules('The tools that may be called; see [Rules](#rules)'),
    'trust.rules': rules('Which calls run, ask first or are denied'),
    'trust.tests': key(
      { word: 'tables', shape: RULE_TEST },
      'narrows',
      null,
      'What rules must decide, as [`[[trust.tests]]`](../guides/company-policy.md#tests-of-rules); one that fails denies everything',
      RESTRICTS,
    ),
    'labels.*': rules('The tools that have this [label](flow.md): `untrusted`, `private`, `egress` or another name'),
    'flow.trifecta': key(
      { word: 'ask, deny or off', shape: oneOf('ask', 'deny', 'off') },
      'narrows',
      null,
      'What an egress tool needs once a session has read [private and untrusted content](flow.md#the-preset)',
      RESTRICTS,
    ),
    mode: key(
      MODE,
      'replaces',
      'view.mode',
      'How models are shown the tools; see [many tools](../guides/many-tools.md)',
    ),
    'profiles.*.tools': rules('The tools of this profile'),
    'profiles.*.rules': rules('Rules of this profile, where they are stricter'),
    'profiles.*.mode': key(MODE, 'replaces', null, 'Instead of `mode`'),
    'profiles.*.env': key(VARIABLES, 'narrows', null, 'Of the variables that are passed, only these', RESTRICTS),
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
    'limits.background': limit(
      COUNT,
      'limits.background',
      'Processes of one session in the [background](../guides/background.md); one more fails with `busy`',
    ),
    'limits.listing': limit(DURATION, 'limits.listingMs', 'Wait of a listing for MCP servers that were never listed'),
    'results.inline': key(
      COUNT,
      'lowers',
      'results.inline',
      'Characters of an inline result; a longer one becomes a handle',
    ),
    'results.keep': key(DURATION, 'lowers', 'results.keepMs', 'How long a stored result is kept after its last use'),
    'results.total': key(
      SIZE,
      'lowers',
      'results.totalBytes',
      'Stored results of a workdir, least recently read removed first',
    ),
    'results.schemas': key(
      FLAG,
      'replaces',
      'results.schemas',
      'Send output schemas to models; false: a large result is only its handle, without structured content',
    ),
    'results.encode': key(
      ENCODING,
      'replaces',
      'results.encode',
      'Uniform JSON in texts for models as [tables](../guides/context.md#tables-in-place-of-json); auto: where nothing is lost and 15 % are saved',
    ),
    'results.plain-clients': key(
      { ...names('names of clients'), word: 'names' },
      'replaces',
      'results.plainClients',
      'MCP clients whose programs read texts, so that they get JSON; a name may end in `*`',
    ),
    'code.calls': limit(COUNT, 'code.calls', 'Calls of a [program](../guides/code-mode.md)'),
    'code.parallel': limit(COUNT, 'code.parallel', 'Concurrent ones'),
    'code.cpu': limit(DURATION, 'code.cpuMs', 'Its own processor time'),
    'code.memory': limit(SIZE, 'code.memoryBytes', 'Its memory'),
    'code.timeout': limit(DURATION, 'code.timeoutMs', 'From start to end, without waiting for approvals'),
    'env.pass': own(VARIABLES, 'env.pass', 'Variables passed to every script; a name may end in `*`'),
    'env.*': own(
      REFERENCE,
      'env.from.*',
      'Where the value of this variable is, which is passed to every script; see [secrets](../guides/secrets.md)',
    ),
    'skills.allow-scripts': key(
      FLAG,
      'adds',
      null,
      'Resolvers of a `tools.json` may run scripts of their skill; also `allowScripts`',
    ),
    'skills.context-mode': key(
      CONTEXT_MODE,
      'replaces',
      'skills.contextMode',
      'How [skills](../concepts/skills.md) are presented to a model; also `contextMode`',
    ),
    'tools.*.timeout': limit(
      DURATION,
      'tools.*.timeoutMs',
      "Time limit of this tool; the user's overrides its `@timeout`",
    ),
    'tools.*.env.pass': own(VARIABLES, 'tools.*.pass', 'Variables passed to this tool'),
    'tools.*.env.*': own(
      REFERENCE,
      'tools.*.from.*',
      'Where the value of this variable is, which is passed to this tool',
    ),
    'tools.*.encode': own(ENCODING, 'tools.*.encode', 'Instead of `results.encode`'),
    'tools.*.runOn': own(TAG, 'tools.*.runOn', 'Tag of the workers that it runs on', RESTRICTS),
    'tools.*.name': own(
      TOOL_NAME,
      'view.aliases.*.name',
      'Another [name](../guides/many-tools.md#aliases) of this tool for models',
    ),
    'tools.*.description': own(TEXT, 'view.aliases.*.description', 'Another description for models'),
    'tools.*.hide': own(
      names('names of parameters'),
      'view.aliases.*.hide',
      'Parameters that models do not see',
      RESTRICTS,
    ),
    'tools.*.fixed': own(FIXED, 'view.aliases.*.fixed', 'Values of parameters that models do not see', RESTRICTS),
    'builtin.offer': own(
      names('names or groups of built-in tools'),
      'offer',
      'Built-in tools to offer to models, by name or group',
    ),
    paths: key(
      PATHS,
      'extends',
      'paths',
      'Directories searched for skills and their tools, [in order](#the-search-path)',
      RESTRICTS,
    ),
    'workdir.roots': own(DIRECTORIES, 'roots', 'Where the tool `workdir` may change to; empty: the first workdir'),
    'install.homes': own(DIRECTORIES, 'homes', 'Agent directories for links of installed items; empty: `~/.claude`'),
    'audit.contents': own(FLAG, 'audit.contents', 'Record inputs and outputs, redacted, in the [audit log](audit.md)'),
    'audit.required': own(FLAG, 'audit.required', 'Refuse calls that cannot be recorded', RESTRICTS),
    'audit.rotate': own(SIZE, 'audit.rotateBytes', 'Size at which a new log file is started'),
    'audit.keep': own(COUNT, 'audit.keep', 'Number of full log files to keep'),
    'audit.sinks': own(
      { word: 'tables', shape: auditSinks },
      'audit.sinks',
      'Where its lines are [sent](audit.md#sending-it-elsewhere): `file`, `url` with `secret`, `syslog` or `otlp`, and `full`',
      { mask: maskReceivers, ...RESTRICTS },
    ),
    'metrics.users': own(FLAG, 'metrics.users', 'Count calls by user too in [metrics](../guides/telemetry.md#metrics)'),
    middleware: key(
      { word: 'tables', shape: middlewareEntry },
      'joins',
      null,
      '[Retries, caches and rate limits](#middleware)',
      { ...RESTRICTS, narrows: (parsed) => isNarrowing(parsed as MiddlewareSettings) },
    ),
    'sandbox.*': key({ word: 'table', shape: sandboxTable }, 'narrows', null, 'A [sandbox profile](#sandboxes)', {
      ...RESTRICTS,
      findNameFault: findProfileNameFault,
    }),
    'sandbox.rules': key(
      { word: 'tables', shape: sandboxRule },
      'narrows',
      null,
      'The profiles of tools, also written `[[sandbox]]`',
      RESTRICTS,
    ),
    'openapi.*': own(
      { word: 'table', shape: openApiTable },
      null,
      'An [OpenAPI document](../guides/openapi.md): `spec`, `server`, `include`, `exclude`, `auth`',
      RESTRICTS,
    ),
    'tasks.from': key(
      TASK_FILES,
      'replaces',
      'tasks.from',
      'Files whose [tasks](tasks.md) are tools, such as `package.json` and `Makefile`',
    ),
    'tasks.include': key(TASK_GLOBS, 'replaces', 'tasks.include', 'Only these tasks: globs of their names', RESTRICTS),
    'tasks.exclude': key(TASK_GLOBS, 'narrows', 'tasks.exclude', 'Not these tasks: globs of their names', RESTRICTS),
    'mcpServers.*': key(SERVER, 'own', null, 'An upstream [server](servers.md)', { kind: 'server' }),
    'mcp.servers': key({ ...SERVER, word: 'tables' }, 'own', null, 'The same as an array, each entry with a `name`', {
      kind: 'server',
    }),
    'mcp.disabled': key(names('names of servers'), 'narrows', 'disabledServers', 'Disabled servers', RESTRICTS),
    'mcp.broker': key(
      FLAG,
      'ignored',
      'broker',
      'Whether all sessions [share](../guides/upstream-servers.md#one-process-for-all-sessions) the processes of servers; by default not in containers and CI',
    ),
    'mcp.allow': key(
      { word: 'tables', shape: allowedServers },
      'narrows',
      'allowedServers',
      'The only [servers](../guides/company-policy.md) that may be used: `{ url = "…" }`, `{ command = ["…"] }`, `{ registry = "…" }`',
      { perFile: true, ...RESTRICTS },
    ),
    'mcp.advisories': own(
      { word: 'path', shape: text('a file or directory such as "/etc/wield/advisories"', /^~?\/\S/) },
      'advisories',
      'A file or directory of [advisories](../guides/upstream-servers.md#pinned-servers) in the OSV format; servers do not run affected packages',
      RESTRICTS,
    ),
    'sources.allow': key(
      { word: 'addresses', shape: allowedSources },
      'narrows',
      'allowedSources',
      'The only [sources](../guides/company-policy.md) that may be installed from, such as `github.com/acme/*`',
      { perFile: true, ...RESTRICTS },
    ),
    'sources.signers': own(
      { word: 'keys and files', shape: signers },
      'sourceSigners',
      'Who must have [signed](../guides/installing.md#signed-sources) every repository: SSH public keys, OpenPGP fingerprints, and files of them such as `~/.ssh/allowed_signers`',
      { perFile: true, ...RESTRICTS },
    ),
    'net.proxy': own(
      { word: 'address', shape: proxyAddress },
      'net.proxy',
      'The [proxy](../guides/proxy.md) of requests to other machines, such as `http://proxy.corp:3128`',
      RESTRICTS,
    ),
    'net.proxy-auth': own(REFERENCE, 'net.proxyAuth', 'Where its `user:password` is', RESTRICTS),
    'net.no-proxy': own(
      { word: 'hosts', shape: exceptions },
      'net.noProxy',
      'Hosts that are reached without it: names, `*.corp`, addresses, ranges such as `10.0.0.0/8`; each may end in `:PORT`',
      RESTRICTS,
    ),
    'net.ca': own(
      { word: 'path', shape: caFile },
      'net.ca',
      'A PEM file of certificate authorities that are accepted besides those of Node',
      RESTRICTS,
    ),
    'serve.auth': own(
      { word: 'table', shape: authTable },
      'serve.auth',
      'An [identity provider](../guides/team-gateway.md) whose tokens `wield serve --http` accepts: `issuer`, `audience`, `user-claim`, `groups-claim`, `client-id`, `scopes`, `introspection`; several as `[[serve.auth]]`',
      RESTRICTS,
    ),
    'serve.tokens': own(
      { word: 'tables', shape: tokensTable },
      'serve.tokens',
      'Bearer tokens of users, as `[serve.tokens.NAME]`: `file`, `groups`, `profile`',
      RESTRICTS,
    ),
    'serve.trusted-proxies': own(
      { word: 'addresses', shape: proxyList },
      'serve.trustedProxies',
      'Proxies whose `X-Forwarded-For` or `Forwarded` names the [client](../guides/team-gateway.md#behind-a-proxy), such as `10.0.0.0/8`',
    ),
    'approvals.approvers': own(
      { word: 'names', shape: approverList },
      'approvals.approvers',
      'Who [approves](../guides/team-gateway.md#approvers) calls of models, as `user:NAME` and `group:NAME`',
      RESTRICTS,
    ),
    'approvals.four-eyes': own(FLAG, 'approvals.fourEyes', 'Nobody approves their own calls', RESTRICTS),
    'approvals.notify': own(
      { word: 'table', shape: notifyTable },
      'approvals.notify',
      'What is told of waiting calls: `command`, or `url` and `secret`',
      { mask: maskReceivers },
    ),
    'model.provider': own(PROVIDER, 'model.provider', 'API of the [model](#model)'),
    'model.name': own(MODEL, 'model.name', 'The name of the model'),
    'model.url': own(ADDRESS, 'model.url', "Base URL, instead of the provider's", {
      mask: (value) => maskAddress(String(value)),
    }),
    'model.key': own(VARIABLE, 'model.keyVariable', 'Variable with the API key'),
  };
}
