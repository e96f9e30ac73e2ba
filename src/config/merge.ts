// Merges the layers of the configuration into settings: a lower layer narrows and never widens (POL-11).

import type { Json } from '../core/json.js';
import type { MiddlewareSettings } from '../core/middleware-settings.js';
import { fillRest, type PathEntry, REST } from '../core/search-path.js';
import { DEFAULT_SETTINGS, type ModelSettings, type Settings, type ToolSettings } from '../core/settings.js';
import type { Alias, View } from '../core/view.js';
import { KEYS, keyName } from './keys.js';
import { toOpenApiSettings } from './openapi.js';
import { toSandboxSettings } from './sandbox.js';
import type { ConfigValue, Layer } from './value.js';

const LAYERS: readonly Layer[] = ['managed', 'user', 'project'];

/** Returns the effective value of each key with its origin. Values come highest layer first. */
export function effectiveValues(
  values: readonly ConfigValue[],
  defaults: ReadonlyMap<string, unknown>,
): Map<string, ConfigValue> {
  const effective = new Map<string, ConfigValue>();
  for (const value of values) {
    const key = value.path.join('.');
    const above = effective.get(key);
    const ceiling = (above?.value ?? ceilingOf(value, values, defaults)) as number | undefined;
    if (wins(value, above, ceiling)) effective.set(key, withRest(value, above?.value ?? defaults.get(key)));
  }
  return effective;
}

// In a list that extends, `...` inserts the list of the layers above.
function withRest(value: ConfigValue, above: unknown): ConfigValue {
  if (KEYS[keyName(value.path)]!.project !== 'extends') return value;
  const rest = (above ?? []) as readonly PathEntry[];
  return { ...value, value: fillRest(value.value as readonly PathEntry[], rest) };
}

function wins(value: ConfigValue, above: ConfigValue | undefined, ceiling: number | undefined): boolean {
  const { project } = KEYS[keyName(value.path)]!;
  if (project === 'replaces' || project === 'joins') return true;
  if (project === 'narrows' || project === 'own') return above === undefined;
  // Entries of a higher layer stay; only defaults can be omitted.
  if (project === 'extends') return above === undefined || (value.value as readonly PathEntry[]).includes(REST);
  if (project === 'adds') return above === undefined || value.value === false;
  if (project === 'ignored') return above === undefined || above.layer !== 'managed';
  return ceiling === undefined || (value.value as number) < ceiling;
}

// If no higher layer sets the key: the limit of a tool cannot exceed the general one of higher layers, and a project
// cannot exceed the default.
function ceilingOf(
  { path, layer }: ConfigValue,
  values: readonly ConfigValue[],
  defaults: ReadonlyMap<string, unknown>,
): unknown {
  const general = keyName(path) === 'tools.*.timeout' ? 'limits.timeout' : path.join('.');
  const above = values
    .filter((other) => other.path.join('.') === general && LAYERS.indexOf(other.layer) < LAYERS.indexOf(layer))
    .map((other) => other.value as number);
  if (above.length > 0) return Math.min(...above);
  return layer === 'project' ? defaults.get(general) : undefined;
}

/** Defaults by key. */
export const DEFAULT_VALUES: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['repair', DEFAULT_SETTINGS.repair],
  ['mode', DEFAULT_SETTINGS.view.mode],
  ['limits.timeout', DEFAULT_SETTINGS.limits.timeoutMs],
  ['limits.output', DEFAULT_SETTINGS.limits.outputBytes],
  ['limits.concurrent', DEFAULT_SETTINGS.limits.concurrent],
  ['limits.concurrent-per-tool', DEFAULT_SETTINGS.limits.concurrentPerTool],
  ['limits.concurrent-per-group', DEFAULT_SETTINGS.limits.concurrentPerGroup],
  ['limits.queue', DEFAULT_SETTINGS.limits.queue],
  ['results.inline', DEFAULT_SETTINGS.results.inline],
  ['results.keep', DEFAULT_SETTINGS.results.keepMs],
  ['results.total', DEFAULT_SETTINGS.results.totalBytes],
  ['results.schemas', DEFAULT_SETTINGS.results.schemas],
  ['code.calls', DEFAULT_SETTINGS.code.calls],
  ['code.parallel', DEFAULT_SETTINGS.code.parallel],
  ['code.cpu', DEFAULT_SETTINGS.code.cpuMs],
  ['code.memory', DEFAULT_SETTINGS.code.memoryBytes],
  ['code.timeout', DEFAULT_SETTINGS.code.timeoutMs],
  ['skills.allow-scripts', false],
  ['skills.context-mode', DEFAULT_SETTINGS.skills.contextMode],
  ['env.pass', DEFAULT_SETTINGS.env.pass],
  ['builtin.offer', DEFAULT_SETTINGS.offer],
  ['paths', DEFAULT_SETTINGS.paths],
  ['workdir.roots', DEFAULT_SETTINGS.roots],
  ['install.homes', DEFAULT_SETTINGS.homes],
  ['audit.contents', DEFAULT_SETTINGS.audit.contents],
  ['audit.required', DEFAULT_SETTINGS.audit.required],
  ['audit.rotate', DEFAULT_SETTINGS.audit.rotateBytes],
  ['audit.keep', DEFAULT_SETTINGS.audit.keep],
]);

/** Converts effective values to settings; `all` is used for keys to which every layer adds. */
export function toSettings(effective: ReadonlyMap<string, ConfigValue>, all: readonly ConfigValue[]): Settings {
  const get = <T>(key: string): T => (effective.get(key)?.value ?? DEFAULT_VALUES.get(key)) as T;
  const optional = <Name extends string>(name: Name, key: string): { [Key in Name]?: number } => {
    const value = get<number | undefined>(key);
    return value === undefined ? {} : ({ [name]: value } as { [Key in Name]?: number });
  };
  return {
    repair: get('repair'),
    limits: {
      timeoutMs: get('limits.timeout'),
      ...(effective.has('limits.timeout') ? { timeoutCeilingMs: get<number>('limits.timeout') } : {}),
      outputBytes: get('limits.output'),
      ...optional('memoryBytes', 'limits.memory'),
      ...optional('cpuSeconds', 'limits.cpu'),
      ...optional('openFiles', 'limits.files'),
      ...optional('processes', 'limits.processes'),
      concurrent: get('limits.concurrent'),
      concurrentPerTool: get('limits.concurrent-per-tool'),
      concurrentPerGroup: get('limits.concurrent-per-group'),
      queue: get('limits.queue'),
      ...optional('callsPerMinute', 'limits.calls-per-minute'),
    },
    results: {
      inline: get('results.inline'),
      keepMs: get('results.keep'),
      totalBytes: get('results.total'),
      schemas: get('results.schemas'),
    },
    code: {
      calls: get('code.calls'),
      parallel: get('code.parallel'),
      cpuMs: get('code.cpu'),
      memoryBytes: get('code.memory'),
      timeoutMs: get('code.timeout'),
    },
    skills: {
      allowScripts: toAllowScripts(effective.get('skills.allow-scripts')),
      contextMode: get('skills.context-mode'),
    },
    env: { pass: get('env.pass') },
    view: toView(get('mode'), effective),
    tools: toToolSettings(effective),
    offer: get('builtin.offer'),
    roots: get('workdir.roots'),
    homes: get('install.homes'),
    audit: {
      contents: get('audit.contents'),
      required: get('audit.required'),
      rotateBytes: get('audit.rotate'),
      keep: get('audit.keep'),
    },
    paths: get('paths'),
    middleware: toMiddlewareSettings(effective),
    sandbox: toSandboxSettings(all, get('paths')),
    openapi: toOpenApiSettings(effective.values()),
    servers: [...effective.values()].flatMap(({ server }) => server ?? []),
    disabledServers: all
      .filter(({ path }) => path.join('.') === 'mcp.disabled')
      .flatMap(({ value }) => value as readonly string[]),
    ...toModel(get('model.provider'), get('model.name'), get('model.url'), get('model.key')),
  };
}

// Used only if both the provider and the model are set.
function toModel(
  provider: ModelSettings['provider'] | undefined,
  name: string | undefined,
  url: string | undefined,
  keyVariable: string | undefined,
): { model?: ModelSettings } {
  if (provider === undefined || name === undefined) return {};
  return {
    model: {
      provider,
      name,
      ...(url === undefined ? {} : { url }),
      ...(keyVariable === undefined ? {} : { keyVariable }),
    },
  };
}

// Higher layers are nearer to the run, so that their limits also apply to what lower layers repeat.
function toMiddlewareSettings(effective: ReadonlyMap<string, ConfigValue>): readonly MiddlewareSettings[] {
  const entries = [...effective.values()].filter(({ path }) => path[0] === 'middleware');
  if (entries.length === 0) return DEFAULT_SETTINGS.middleware;
  return [...LAYERS]
    .reverse()
    .flatMap((layer) => entries.filter((entry) => entry.layer === layer))
    .map(({ value }) => value as MiddlewareSettings);
}

// The first of two tools with the same new name gets it.
function toView(mode: View['mode'], effective: ReadonlyMap<string, ConfigValue>): View {
  const aliases = new Map<string, Alias>();
  for (const { path, value } of effective.values()) {
    if (path[0] !== 'tools' || !Object.hasOwn(ALIAS_FIELDS, path[2]!)) continue;
    const known = aliases.get(path[1]!) ?? { hide: [], fixed: {} };
    aliases.set(path[1]!, { ...known, [path[2]!]: value as Json });
  }
  if (aliases.size === 0) return { ...DEFAULT_SETTINGS.view, mode };
  const originals = new Map<string, string>();
  for (const [original, { name }] of aliases)
    if (name !== undefined && !originals.has(name)) originals.set(name, original);
  return { mode, aliases, originals };
}

const ALIAS_FIELDS = { name: true, description: true, hide: true, fixed: true };

function toToolSettings(effective: ReadonlyMap<string, ConfigValue>): Map<string, ToolSettings> {
  const tools = new Map<string, ToolSettings>();
  for (const { path, value, layer } of effective.values()) {
    if (path[0] !== 'tools' || Object.hasOwn(ALIAS_FIELDS, path[2]!)) continue;
    const name = path[1]!;
    tools.set(name, { ...tools.get(name), ...toolSetting(path[2]!, value, layer) });
  }
  return tools;
}

function toolSetting(key: string, value: unknown, layer: Layer): ToolSettings {
  if (key === 'runOn') return { runOn: value as string };
  if (key !== 'timeout') return { pass: value as readonly string[] };
  return layer === 'project' ? { timeoutCeilingMs: value as number } : { timeoutMs: value as number };
}

// A project's value counts only in a trusted workspace.
function toAllowScripts(value: ConfigValue | undefined): Settings['skills']['allowScripts'] {
  if (value?.value !== true) return 'never';
  return value.layer === 'project' ? 'trusted' : 'always';
}
