// Reads the manifest of a bundle (`.mcpb`, earlier `.dxt`): how its server is started, and what a person configures.

import { ToolError } from '../../core/error.js';
import { type JsonObject, mapValues } from '../../core/json.js';
import {
  anything,
  custom,
  formatFault,
  type Infer,
  object,
  oneOf,
  optional,
  readShape,
  record,
  string,
  strings,
  text,
} from '../../core/shape.js';
import { quoteOutside } from '../../core/text.js';
import { findPluginNameFault, isSafePath } from './item-name.js';
import { readJsonObject, toText } from './plugin-json.js';
import { toServer } from './plugin-servers.js';
import { type ConfigOption, fillEntry, type ServerTemplate, USER_CONFIG } from './server-config.js';

const FILE = 'manifest.json';
const ROOT = '${CLAUDE_PLUGIN_ROOT}';
// The versions of the format: texts, unlike the numbers of browser extensions.
const VERSION = /^(?:0\.[1-4]|1\.\d+)$/;

const OPEN = { unknown: 'drop', nullIsMissing: true } as const;
const RUN = { args: optional(strings), env: optional(record(string)) };
const CONFIG = object(
  {
    command: text(),
    ...RUN,
    platform_overrides: optional(record(object({ command: optional(text()), ...RUN }, OPEN))),
  },
  OPEN,
);
const SERVER = object(
  {
    type: oneOf('node', 'python', 'binary', 'uv'),
    entry_point: custom('a path inside the bundle', (path) =>
      typeof path === 'string' && isSafePath(path) ? path : undefined,
    ),
    mcp_config: optional(CONFIG),
  },
  OPEN,
);
const MANIFEST = object(
  {
    name: text(),
    description: optional(anything),
    server: SERVER,
    user_config: optional(USER_CONFIG),
    compatibility: optional(object({ platforms: optional(strings) }, OPEN)),
  },
  OPEN,
);

/** Throws `invalid_definition` if the bundle has no server that can be used. */
export function readBundle(tree: string) {
  const manifest = readJsonObject(tree, FILE);
  if (manifest === undefined) throw invalid(`has no ${FILE}`);
  const version = manifest.manifest_version ?? manifest.dxt_version;
  if (typeof version !== 'string' || !VERSION.test(version))
    throw invalid(`has an unknown version of its manifest: ${quoteOutside(JSON.stringify(version) ?? 'none', 40)}`);
  const { value, faults } = readShape(MANIFEST, manifest);
  if (value === undefined || faults.length > 0) throw invalid(`is not valid: ${formatFault(faults[0]!)}`);
  const { server, description, compatibility = {}, user_config: options = {} } = value;
  const name = value.name.trim().replace(/[^\w.-]+/g, '-');
  const fault = findPluginNameFault(name);
  if (fault !== undefined) throw invalid(`its name "${quoteOutside(value.name, 60)}" ${fault}`);
  const template = { ...toEntries(server, options), options };
  const values = Object.fromEntries(Object.keys(options).map((key) => [key, ['x']]));
  // Checked as they would be with every value, and with the defaults.
  for (const platform of ['', ...Object.keys(template.overrides)]) {
    fillEntry(template, {}, platform);
    toServer(name, fillEntry(template, values, platform), (_, reason) => {
      throw invalid(`has a server that cannot be used: ${reason}`);
    });
  }
  // Null: for all systems.
  const { platforms = null } = compatibility;
  return { name, description: toText(description), template, platforms };
}

/** Throws `unavailable` if a bundle is not for this system. */
export function assertPlatform({ name, platforms }: ReturnType<typeof readBundle>, platform: string): void {
  if (platforms === null || platforms.includes(platform)) return;
  throw new ToolError(
    'unavailable',
    `${name} is for ${quoteOutside(platforms.join(', '), 60)}, and this is ${platform}`,
  );
}

type Options = Readonly<Record<string, ConfigOption>>;
type Config = Infer<typeof CONFIG>;

function toEntries(server: Infer<typeof SERVER>, options: Options): Pick<ServerTemplate, 'entry' | 'overrides'> {
  const { type, entry_point: entryPoint } = server;
  const config = server.mcp_config ?? (type === 'uv' ? runWithUv(entryPoint) : undefined);
  if (config === undefined) throw invalid('has a server without mcp_config');
  const overrides = mapValues(config.platform_overrides ?? {}, (own) => toEntry({ ...config, ...own }, options));
  return { entry: toEntry(config, options), overrides };
}

function toEntry({ command, args = [], env = {} }: Config, options: Options): JsonObject {
  for (const text of [command, ...args]) assertPublic(text, options);
  const fill = (text: string): string => toPlaceholders(text, options);
  return { command: fill(command), args: args.map(fill), env: mapValues(env, fill), cwd: ROOT };
}

function runWithUv(entryPoint: string): Config {
  return { command: 'uv', args: ['run', '--directory', '${__dirname}', entryPoint] };
}

const OWN: Readonly<Record<string, string>> = {
  __dirname: ROOT,
  HOME: '${userHome}',
  DESKTOP: '${userHome}/Desktop',
  DOCUMENTS: '${userHome}/Documents',
  DOWNLOADS: '${userHome}/Downloads',
  pathSeparator: '/',
  '/': '/',
};

// Converts the variables of a bundle to those of a server entry; any other `${` is text.
function toPlaceholders(text: string, options: Options): string {
  return text.replace(/\$\{([^}]*)\}|\$\{/g, (written, name: string | undefined) => {
    if (name !== undefined && Object.hasOwn(OWN, name)) return OWN[name]!;
    const key = name?.startsWith('user_config.') ? name.slice('user_config.'.length) : undefined;
    return key !== undefined && Object.hasOwn(options, key) ? written : `$${written}`;
  });
}

// Arguments are visible to every user of the machine.
function assertPublic(text: string, options: Options): void {
  for (const [, key = ''] of text.matchAll(/\$\{user_config\.([^}]*)\}/g))
    if (Object.hasOwn(options, key) && options[key]!.sensitive)
      throw invalid(`would show the secret "${quoteOutside(key, 60)}" in the process list: it is one of its arguments`);
}

function invalid(what: string): ToolError {
  return new ToolError('invalid_definition', `the bundle ${what}`, { hint: 'report it to the author of the bundle' });
}
