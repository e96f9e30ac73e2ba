// Reads one server of an `mcpServers` table: how it is reached, what of it is used, and everything that is wrong. Pure.

import { isRecord } from '../../core/json.js';
import { nearest, quoteOutside } from '../../core/text.js';
import type { ServerEntry, ServerPlace } from '../../core/upstream.js';
import { createFieldReader, type FieldReader, type Fields, type Wrong } from './fields.js';
import { findLiteralSecrets } from './text.js';

/** Something about an entry; `steps` lead from the entry to the place. */
export interface ServerComplaint {
  readonly severity: 'error' | 'warning';
  readonly steps: readonly string[];
  readonly message: string;
  readonly hint: string;
}

export interface ServerReading {
  /** Undefined where a complaint is an error. */
  readonly entry: ServerEntry | undefined;
  readonly complaints: readonly ServerComplaint[];
}

export interface ServerSource {
  readonly owner: ServerEntry['owner'];
  readonly place: ServerPlace;
}

const STDIO = ['command', 'args', 'env', 'cwd'];
const HTTP = ['url', 'headers', 'oauth'];
const COMMON = ['type', 'allow', 'deny', 'timeout', 'startTimeout', 'disabled', 'enabled'];
const KNOWN = [...STDIO, ...HTTP, ...COMMON];
const HTTP_TYPES = ['http', 'streamable-http', 'streamableHttp'];
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const MAX_NAME = 128;

const BY_RULES = 'rules say what may run: trust.rules in ~/.wield/config.toml';
const BY_SELECTORS = 'write allow or deny, with selectors of its tools';
// Fields that other clients have, and what does the same here.
const OF_OTHERS: Readonly<Record<string, string>> = {
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
const MEANINGLESS = new Set([
  'gallery',
  'version',
  'description',
  'displayName',
  'title',
  'icon',
  'note',
  'dev',
]);

/** An entry that is whole, or what keeps it from being one; nothing in it is expanded. */
export function readServer(name: string, value: unknown, source: ServerSource): ServerReading {
  const complaints: ServerComplaint[] = [];
  const wrong = (steps: readonly string[], message: string, hint: string): void => {
    complaints.push({ severity: 'error', steps, message, hint });
  };
  const warn = (steps: readonly string[], message: string, hint: string): void => {
    complaints.push({ severity: 'warning', steps, message, hint });
  };
  if (name.trim() === '' || name.length > MAX_NAME || /\p{C}/u.test(name)) {
    const hint = `write 1 to ${MAX_NAME} characters that can be seen, such as "github"`;
    wrong([], 'its name is none that a server can have', hint);
  }
  if (!isRecord(value)) {
    wrong([], 'must be an object', 'write { "command": "…", "args": [] } or { "url": "https://…" }');
    return { entry: undefined, complaints };
  }
  const read = createFieldReader(value, wrong);
  const kind = findKind(value, wrong);
  reportOthers(value, kind, wrong, warn);
  const common = {
    name,
    ...source,
    ...read.selectors('allow'),
    ...read.selectors('deny'),
    ...read.duration('timeout', 'timeoutMs'),
    ...read.duration('startTimeout', 'startTimeoutMs'),
    ...read.disabled(),
  };
  const own = kind === 'stdio' ? readProcess(read) : kind === 'http' ? readAddress(read, wrong) : undefined;
  if (own === undefined || complaints.some(({ severity }) => severity === 'error'))
    return { entry: undefined, complaints };
  const entry = { ...common, ...own };
  for (const steps of findLiteralSecrets(entry)) {
    const carried = entry.owner === 'workspace' ? ', and everyone who has the checkout has it' : '';
    warn(
      steps,
      `a secret itself stands here${carried}`,
      'write ${VAR} and set that variable, or file:~/path of a file that only you can read; then change the secret',
    );
  }
  return { entry, complaints };
}

function findKind(value: Fields, wrong: Wrong): ServerEntry['kind'] | undefined {
  const { type } = value;
  const has = (key: string): boolean => value[key] !== undefined;
  if (type === 'sse') {
    wrong(
      ['type'],
      'its transport, "sse", is deprecated and not spoken here',
      'use its streamable HTTP address, with "type": "http"',
    );
    return undefined;
  }
  if (type !== undefined && type !== 'stdio' && !HTTP_TYPES.includes(type as string)) {
    wrong(['type'], 'must be "stdio" or "http"', 'leave it out: command means stdio, url means http');
    return undefined;
  }
  if (has('command') && has('url')) {
    wrong([], 'has both "command" and "url"', 'keep one: a server is either started or reached');
    return undefined;
  }
  const kind = type === undefined ? (has('command') ? 'stdio' : 'http') : type === 'stdio' ? 'stdio' : 'http';
  const key = kind === 'stdio' ? 'command' : 'url';
  if (has(key)) return kind;
  const other = Object.keys(value).find((field) => OF_OTHERS[field] === 'write url');
  const missing = type === undefined ? '"command" or "url"' : `"${key}"`;
  wrong([], `has no ${missing}`, other === undefined ? `add ${missing}` : `write url instead of ${other}`);
  return undefined;
}

function reportOthers(value: Fields, kind: ServerEntry['kind'] | undefined, wrong: Wrong, warn: Wrong): void {
  for (const key of Object.keys(value)) {
    const shown = quoteOutside(key, 60);
    if (key === 'envFile') {
      wrong(
        [key],
        '"envFile" would hand over whatever that file holds',
        'name each variable in env: "${VAR}" or "file:~/path"',
      );
    } else if ((kind === 'http' ? STDIO : kind === 'stdio' ? HTTP : []).includes(key)) {
      const what = kind === 'http' ? 'is reached by its url' : 'is started by a command';
      warn([key], `"${shown}" means nothing for a server that ${what}`, 'remove it');
    } else if (KNOWN.includes(key)) continue;
    else if (Object.hasOwn(OF_OTHERS, key))
      warn([key], `"${shown}" is of another client and has no effect`, OF_OTHERS[key]!);
    else if (MEANINGLESS.has(key)) warn([key], `"${shown}" has no effect here`, 'it can stay');
    else {
      const close = nearest(key, KNOWN)[0];
      warn(
        [key],
        `unknown field "${shown}" has no effect`,
        close === undefined ? `known are ${KNOWN.join(', ')}` : `did you mean "${close}"?`,
      );
    }
  }
}

function readProcess(read: FieldReader) {
  const command = read.text('command');
  const cwd = read.text('cwd');
  const args = read.texts('args');
  const env = read.table('env', (name) =>
    name === '' || /[=\u0000]/.test(name) ? 'is no name of a variable' : undefined,
  );
  if (command === undefined) return undefined;
  return { kind: 'stdio' as const, command, args, env, ...(cwd === undefined ? {} : { cwd }) };
}

function readAddress(read: FieldReader, wrong: Wrong) {
  const url = read.text('url');
  const headers = read.table('headers', (name) =>
    HEADER_NAME.test(name) ? undefined : 'is no name of a header',
  );
  const oauth = read.oauth();
  if (url === undefined) return undefined;
  // What a reference makes of it is checked when it is used.
  if (!url.includes('${') && !isWebAddress(url)) {
    wrong(['url'], 'must be an address that begins with https:// or http://', 'write the whole address');
    return undefined;
  }
  return { kind: 'http' as const, url, headers, ...(oauth === undefined ? {} : { oauth }) };
}

/** Whether text is the address of a web server. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && !/[\s\u0000-\u001f\u007f]/.test(text) && URL.canParse(text);
}
