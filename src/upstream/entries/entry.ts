// Reads one server of an `mcpServers` table and reports everything wrong with it.

import { isRecord } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { type Reading, readShape, type Shape } from '../../core/shape.js';
import { didYouMean, nearest, quoteOutside } from '../../core/text.js';
import type { HttpServer, ServerEntry, ServerPosition } from '../../core/upstream.js';
import { COMMON, HTTP, type Report, STDIO } from './fields.js';
import { findLiteralSecrets, findOwnReferences } from './mask.js';
import { readSandbox } from './sandbox.js';

/** A finding about an entry; `keyPath` leads from the entry to the field. */
export interface ServerFinding extends Finding {
  readonly severity: 'error' | 'warning';
  readonly keyPath: readonly string[];
  /** Whether it is about a secret in plain text. */
  readonly isSecret?: boolean;
}

export interface ServerReading {
  /** Undefined if a finding is an error. */
  readonly entry: ServerEntry | undefined;
  readonly findings: readonly ServerFinding[];
}

export interface ServerSource {
  readonly owner: ServerEntry['owner'];
  readonly position: ServerPosition;
}

const OF_STDIO = [...Object.keys(STDIO.fields), 'sandbox', 'sandboxEnabled'];
const OF_HTTP = Object.keys(HTTP.fields);
const KNOWN = [...OF_STDIO, ...OF_HTTP, 'type', 'transport', ...Object.keys(COMMON.fields)];
/** Values of `type` for a server at a URL, other than `sse`. */
export const HTTP_TYPES = ['http', 'streamable-http', 'streamableHttp'];
// Clients use either.
const TYPE_KEYS = ['type', 'transport'] as const;
const OWN_PROGRAM = /(?:^|[\\/])wield(?:\.cjs)?$/;
/** Characters of a name. */
export const MAX_NAME = 128;

const BY_RULES = 'use rules instead: trust.rules in ~/.wield/config.toml';
const BY_SELECTORS = 'use allow or deny with selectors of its tools';
// Fields of other clients, and what to use instead.
const FOREIGN_FIELDS: Readonly<Record<string, string>> = {
  autoApprove: BY_RULES,
  alwaysAllow: BY_RULES,
  trust: BY_RULES,
  tools: BY_SELECTORS,
  includeTools: BY_SELECTORS,
  excludeTools: BY_SELECTORS,
  disabledTools: BY_SELECTORS,
  enabled_tools: BY_SELECTORS,
  disabled_tools: BY_SELECTORS,
  httpUrl: 'write url',
  serverUrl: 'write url',
  bearer_token_env_var: 'write headers: { "Authorization": "Bearer ${VAR}" }',
  http_headers: 'write headers',
  env_http_headers: 'write headers, with ${VAR} as the value',
  startup_timeout_sec: 'write startTimeout, such as "20s"',
  tool_timeout_sec: 'write timeout, such as "60s"',
};
// Fields that restrict a server, here or elsewhere, in lower case.
const RESTRICTING = [
  ...['allow', 'deny', 'disabled', 'enabled', 'sandbox', 'sandboxenabled', 'disable', 'enable'],
  ...['allowedtools', 'deniedtools', 'blockedtools', 'excludetools', 'includetools', 'exclude', 'include', 'block'],
];
const NOT_USED = 'may restrict the server, which is not used';
// Values of such fields that restrict nothing.
const UNRESTRICTED = new Set(['[]', '["*"]', '"*"']);
/** Fields of other clients that restrict a server, and the values that do not, as JSON. */
export const FOREIGN_RESTRICTIONS = {
  fields: Object.keys(FOREIGN_FIELDS).filter((key) => FOREIGN_FIELDS[key] === BY_SELECTORS),
  unrestricted: [...UNRESTRICTED],
};
const MEANINGLESS = new Set(['gallery', 'version', 'description', 'displayName', 'title', 'icon', 'note', 'dev']);

/** Reads an entry without expanding references. */
export function readServer(name: string, value: unknown, source: ServerSource): ServerReading {
  const findings: ServerFinding[] = [];
  const reportAs =
    (severity: ServerFinding['severity']): Report =>
    (keyPath, message, hint) => {
      findings.push({ severity, keyPath, message, hint });
    };
  const [error, warn] = [reportAs('error'), reportAs('warning')];
  if (name.trim() === '' || name.length > MAX_NAME || /\p{C}/u.test(name))
    error([], 'invalid server name', `use 1 to ${MAX_NAME} printable characters, such as "github"`);
  if (!isRecord(value)) {
    error([], 'must be an object', 'write { "command": "…", "args": [] } or { "url": "https://…" }');
    return { entry: undefined, findings };
  }
  const read = <T>(shape: Shape<T>): T | undefined => {
    const reading: Reading<T> = readShape(shape, value);
    for (const { path, message, hint } of reading.faults) error(path.map(String), message, hint);
    return reading.value;
  };
  const kind = findKind(value, error);
  reportIgnoredFields(value, kind, error, warn);
  const { timeout, startTimeout, prefix, disabled, enabled, ...common } = read(COMMON) ?? {};
  if (disabled !== undefined && disabled === enabled)
    error(['enabled'], '"disabled" and "enabled" contradict each other', 'keep one of them');
  const sandbox = kind === 'stdio' ? readSandbox(value, error, warn) : undefined;
  const own =
    kind === 'stdio'
      ? withKind('stdio', { args: [], env: {} }, read(STDIO))
      : kind === 'http'
        ? withKind('http', { headers: {}, ...readTransport(value, error, warn) }, read(HTTP))
        : undefined;
  if (own === undefined || findings.some(({ severity }) => severity === 'error')) return { entry: undefined, findings };
  const entry: ServerEntry = {
    name,
    ...source,
    ...common,
    timeoutMs: timeout,
    startTimeoutMs: startTimeout,
    prefix: prefix === false ? false : undefined,
    disabled: disabled === true || enabled === false || undefined,
    sandbox,
    ...own,
  };
  // They read what belongs to the person, and a command could be any program.
  if (source.owner !== 'user')
    for (const keyPath of findOwnReferences(entry))
      error(
        keyPath,
        'uses a command or the keychain, which only your own files may do',
        'write ${VAR} here, or add the server to ~/.agents/mcp.json',
      );
  for (const { keyPath, text } of findLiteralSecrets(entry)) {
    const other = commandFor(text);
    const shared = entry.owner === 'workspace' ? ', readable by everyone with this checkout' : '';
    if (other !== undefined) warn(keyPath, 'is a reference of another program, which wield does not read', other);
    else
      findings.push({
        severity: 'warning',
        isSecret: true,
        keyPath,
        message: `contains a secret in plain text${shared}`,
        hint: 'write ${VAR} and set that variable, or file:~/path to a file that only you can read; then rotate the secret',
      });
  }
  return { entry: findings.some(({ severity }) => severity === 'error') ? undefined : entry, findings };
}

function withKind<K extends ServerEntry['kind'], D extends object, T extends object>(
  kind: K,
  defaults: D,
  fields: T | undefined,
) {
  return fields && { kind, ...defaults, ...fields };
}

type Fields = Readonly<Record<string, unknown>>;

function findKind(fields: Fields, error: Report): ServerEntry['kind'] | undefined {
  const has = (key: string): boolean => fields[key] !== undefined;
  for (const key of TYPE_KEYS) {
    if (!has(key) || ['stdio', 'sse', ...HTTP_TYPES].includes(fields[key] as string)) continue;
    error([key], 'must be "stdio", "http" or "sse"', 'remove it: command means stdio, url means http');
    return undefined;
  }
  const type = fields.type ?? fields.transport;
  const [named, again] = TYPE_KEYS.map((key) => (HTTP_TYPES.includes(fields[key] as string) ? 'http' : fields[key]));
  if (named !== undefined && again !== undefined && named !== again) {
    error(['transport'], '"type" and "transport" contradict each other', 'keep one of them');
    return undefined;
  }
  if (has('command') && has('url')) {
    error([], 'has both "command" and "url"', 'keep one of them');
    return undefined;
  }
  const kind = type === undefined ? (has('command') ? 'stdio' : 'http') : type === 'stdio' ? 'stdio' : 'http';
  const key = kind === 'stdio' ? 'command' : 'url';
  if (has(key)) return kind;
  const other = Object.keys(fields).find((field) => FOREIGN_FIELDS[field] === 'write url');
  const missing = type === undefined ? '"command" or "url"' : `"${key}"`;
  error([], `has no ${missing}`, other === undefined ? `add ${missing}` : `write url instead of ${other}`);
  return undefined;
}

// UPS-116: that transport has the older protocol versions only.
function readTransport(fields: Fields, error: Report, warn: Report): Pick<HttpServer, 'transport' | 'protocol'> {
  const key = TYPE_KEYS.find((one) => fields[one] === 'sse');
  if (key === undefined) return {};
  warn(
    [key],
    'the "sse" transport is deprecated: a newer version of the server may no longer have it',
    'if the server has a streamable HTTP address, use that, with "type": "http"',
  );
  if (fields.protocol === '2026-07-28')
    error(['protocol'], `the "sse" transport does not have the version ${fields.protocol}`, 'remove it');
  return { transport: 'sse', protocol: '2025-11-25' };
}

function reportIgnoredFields(fields: Fields, kind: ServerEntry['kind'] | undefined, error: Report, warn: Report): void {
  for (const key of Object.keys(fields)) {
    const shown = quoteOutside(key, 60);
    if (key === 'envFile') {
      error(
        [key],
        '"envFile" would pass every variable of that file',
        'list each variable in env: "${VAR}" or "file:~/path"',
      );
    } else if ((kind === 'http' ? OF_STDIO : kind === 'stdio' ? OF_HTTP : []).includes(key)) {
      warn([key], `"${shown}" has no effect on a server with "${kind === 'http' ? 'url' : 'command'}"`, 'remove it');
    } else if (KNOWN.includes(key)) continue;
    else if (Object.hasOwn(FOREIGN_FIELDS, key)) {
      const isRestriction = FOREIGN_FIELDS[key] === BY_SELECTORS && !UNRESTRICTED.has(JSON.stringify(fields[key]));
      const [report, effect] = isRestriction ? [error, NOT_USED] : [warn, 'has no effect'];
      report([key], `"${shown}" is a field of another client and ${effect}`, FOREIGN_FIELDS[key]!);
    } else if (MEANINGLESS.has(key)) warn([key], `"${shown}" has no effect`, 'it can stay');
    else {
      // POL-9: a field that may have been meant to restrict the server.
      const mayRestrict = nearest(key.toLowerCase().replace(/[-_]/g, ''), RESTRICTING).length > 0;
      (mayRestrict ? error : warn)(
        [key],
        `unknown field "${shown}" ${mayRestrict ? NOT_USED : 'has no effect'}`,
        didYouMean(key, KNOWN, `known fields: ${KNOWN.join(', ')}`, JSON.stringify),
      );
    }
  }
}

/** Whether a command line runs `wield serve`, by name or by path, and so would start itself recursively. */
export function isOwnServer(command: string, args: readonly string[]): boolean {
  const words = [command, ...args];
  const at = words.findIndex((word) => OWN_PROGRAM.test(word));
  // Launchers may come first: `node`, `npx -y`.
  return at !== -1 && at <= 3 && words.slice(at + 1).includes('serve');
}

const COMMANDS: Readonly<Record<string, (text: string, path: string) => readonly string[]>> = {
  'op://': (text) => ['op', 'read', text],
  'pass:': (_text, path) => ['pass', 'show', path],
  'pass://': (_text, path) => ['pass', 'show', path],
  'gopass:': (_text, path) => ['gopass', 'show', '-o', path],
  'bw:': (_text, path) => ['bw', 'get', 'password', path],
  'bws:': (_text, path) => ['bws', 'secret', 'get', path],
  'vault:': (_text, path) => {
    const [place = '', field = 'value'] = path.split('#');
    return ['vault', 'kv', 'get', `-field=${field}`, place];
  },
  'doppler:': (_text, path) => ['doppler', 'secrets', 'get', '--plain', path],
  'infisical:': (_text, path) => ['infisical', 'secrets', 'get', '--plain', path],
  'awssm:': (_text, path) => toAws(path),
  'aws-sm:': (_text, path) => toAws(path),
  'gcpsm:': (_text, path) => ['gcloud', 'secrets', 'versions', 'access', 'latest', `--secret=${path}`],
};

function toAws(path: string): readonly string[] {
  const flags = ['--query', 'SecretString', '--output', 'text'];
  return ['aws', 'secretsmanager', 'get-secret-value', '--secret-id', path, ...flags];
}

// Returns a hint with the command that reads a reference of another program, if the text is one.
function commandFor(text: string): string | undefined {
  const [, scheme, path] = /^([a-z][a-z-]*:(?:\/\/)?)([\w./@#: -]+)$/.exec(text) ?? [];
  if (scheme === undefined || path === undefined || !Object.hasOwn(COMMANDS, scheme)) return undefined;
  const argv = COMMANDS[scheme]!(text, path);
  const words = JSON.stringify(argv);
  return `write {"cmd": ${words}} in a file of your own, or as the value of a flag cmd:${words}`;
}
