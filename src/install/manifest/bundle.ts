// Reads the manifest of a bundle (`.mcpb`, earlier `.dxt`): how its server is started, and what a person configures.

import { ToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { findPluginNameFault, isSafePath } from './item-name.js';
import { readJsonObject, toText } from './plugin-json.js';
import { toServer } from './plugin-servers.js';
import { type ConfigOption, fillEntry, readOptions, type ServerTemplate } from './server-config.js';

export interface Bundle {
  readonly name: string;
  readonly description: string | null;
  readonly template: ServerTemplate;
  /** The systems it is for; null for all. */
  readonly platforms: readonly string[] | null;
}

const FILE = 'manifest.json';
const ROOT = '${CLAUDE_PLUGIN_ROOT}';
// The versions of the format: texts, unlike the numbers of browser extensions.
const VERSION = /^(?:0\.[1-4]|1\.\d+)$/;

/** Throws `invalid_definition` if the bundle has no server that can be used. */
export function readBundle(tree: string): Bundle {
  const manifest = readJsonObject(tree, FILE);
  if (manifest === undefined) throw invalid(`has no ${FILE}`);
  const version = manifest.manifest_version ?? manifest.dxt_version;
  if (typeof version !== 'string' || !VERSION.test(version))
    throw invalid(`has an unknown version of its manifest: ${quoteOutside(JSON.stringify(version) ?? 'none', 40)}`);
  const { name: written, server, compatibility, description } = manifest;
  if (typeof written !== 'string' || written.trim() === '') throw invalid('has no name');
  const name = written.trim().replace(/[^\w.-]+/g, '-');
  const fault = findPluginNameFault(name);
  if (fault !== undefined) throw invalid(`its name "${quoteOutside(written, 60)}" ${fault}`);
  const options = readOptions(manifest.user_config);
  const template = { ...toEntries(isRecord(server) ? (server as JsonObject) : {}, options), options };
  const values = Object.fromEntries(Object.keys(options).map((key) => [key, ['x']]));
  // Checked as they would be with every value, and with the defaults.
  for (const platform of ['', ...Object.keys(template.overrides)]) {
    fillEntry(template, {}, platform);
    toServer(name, fillEntry(template, values, platform), (_, reason) => {
      throw invalid(`has a server that cannot be used: ${reason}`);
    });
  }
  const platforms = isRecord(compatibility) ? compatibility.platforms : undefined;
  return {
    name,
    description: toText(description),
    template,
    platforms: Array.isArray(platforms) ? platforms.map(String) : null,
  };
}

/** Throws `unavailable` if a bundle is not for this system. */
export function assertPlatform({ name, platforms }: Bundle, platform: string): void {
  if (platforms === null || platforms.includes(platform)) return;
  throw new ToolError(
    'unavailable',
    `${name} is for ${quoteOutside(platforms.join(', '), 60)}, and this is ${platform}`,
  );
}

type Options = Readonly<Record<string, ConfigOption>>;

function toEntries(server: JsonObject, options: Options): Pick<ServerTemplate, 'entry' | 'overrides'> {
  const { type, entry_point: entryPoint, mcp_config: config } = server;
  if (!['node', 'python', 'binary', 'uv'].includes(String(type))) throw invalid('has a server without a known type');
  if (typeof entryPoint !== 'string' || !isSafePath(entryPoint))
    throw invalid('has an entry_point that is not inside it');
  const base = isRecord(config) ? (config as JsonObject) : type === 'uv' ? runWithUv(entryPoint) : undefined;
  if (base === undefined) throw invalid('has a server without mcp_config');
  const overrides = Object.entries(isRecord(base.platform_overrides) ? base.platform_overrides : {}).map(
    ([platform, own]) => [platform, toEntry({ ...base, ...(isRecord(own) ? (own as JsonObject) : {}) }, options)],
  );
  return { entry: toEntry(base, options), overrides: Object.fromEntries(overrides) };
}

function toEntry({ command, args = [], env = {} }: JsonObject, options: Options): JsonObject {
  if (typeof command !== 'string' || command === '') throw invalid('has a server without a command');
  if (!isTexts(args)) throw invalid('has a server whose args are not texts');
  if (!isRecord(env) || !isTexts(Object.values(env))) throw invalid('has a server whose env is not a table of texts');
  for (const text of [command, ...args]) assertPublic(text, options);
  const pairs = Object.entries(env as Record<string, string>).map(([key, text]) => [
    key,
    toPlaceholders(text, options),
  ]);
  return {
    command: toPlaceholders(command, options),
    args: args.map((arg) => toPlaceholders(arg, options)),
    env: Object.fromEntries(pairs),
    cwd: ROOT,
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function runWithUv(entryPoint: string): JsonObject {
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
