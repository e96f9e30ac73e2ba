// Merges the layers of the configuration into settings: a lower layer narrows and never widens (POL-11).

import type { Allowance } from '../core/allowance.js';
import type { Json } from '../core/json.js';
import type { MiddlewareSettings } from '../core/middleware-settings.js';
import type { Variables } from '../core/plan.js';
import { fillRest, type PathEntry, REST } from '../core/search-path.js';
import {
  DEFAULT_SETTINGS,
  type ResultEncoding,
  type Settings,
  type TaskSettings,
  type ToolSettings,
} from '../core/settings.js';
import type { Alias, View } from '../core/view.js';
import { keyName } from './key-path.js';
import { defaultOf, keys, withSetting } from './keys.js';
import { toOpenApiSettings } from './openapi.js';
import { toSandboxSettings } from './sandbox.js';
import { type ConfigValue, LAYERS, type Layer } from './value.js';

/** Returns the effective value of each key with its origin. Values come highest layer first. */
export function effectiveValues(values: readonly ConfigValue[]): Map<string, ConfigValue> {
  const effective = new Map<string, ConfigValue>();
  for (const value of values) {
    const key = value.path.join('.');
    const above = effective.get(key);
    const ceiling = (above?.value ?? ceilingOf(value, values)) as number | undefined;
    if (wins(value, above, ceiling)) effective.set(key, withRest(value, above?.value ?? defaultOf(key)));
  }
  return effective;
}

// In a list that extends, `...` inserts the list of the layers above.
function withRest(value: ConfigValue, above: unknown): ConfigValue {
  if (keys()[keyName(value.path)]!.project !== 'extends') return value;
  const rest = (above ?? []) as readonly PathEntry[];
  return { ...value, value: fillRest(value.value as readonly PathEntry[], rest) };
}

function wins(value: ConfigValue, above: ConfigValue | undefined, ceiling: number | undefined): boolean {
  const { project } = keys()[keyName(value.path)]!;
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
function ceilingOf({ path, layer }: ConfigValue, values: readonly ConfigValue[]): unknown {
  const general = keyName(path) === 'tools.*.timeout' ? 'limits.timeout' : path.join('.');
  const above = values
    .filter((other) => other.path.join('.') === general && LAYERS.indexOf(other.layer) < LAYERS.indexOf(layer))
    .map((other) => other.value as number);
  if (above.length > 0) return Math.min(...above);
  return layer === 'project' ? defaultOf(general) : undefined;
}

/** Converts effective values to settings; `all` is used for keys to which every layer adds. */
export function toSettings(effective: ReadonlyMap<string, ConfigValue>, all: readonly ConfigValue[]): Settings {
  let settings = DEFAULT_SETTINGS;
  for (const { path, value } of effective.values()) {
    const { setting } = keys()[keyName(path)]!;
    if (setting !== undefined) settings = withSetting(settings, setting, value);
  }
  const { limits, skills, view, paths, model } = settings;
  const isTimeoutSet = effective.has('limits.timeout');
  return {
    ...settings,
    limits: isTimeoutSet ? { ...limits, timeoutCeilingMs: limits.timeoutMs } : limits,
    skills: { ...skills, allowScripts: toAllowScripts(effective.get('skills.allow-scripts')) },
    view: toView(view.mode, effective),
    env: { ...settings.env, from: toVariables(effective) },
    tools: toToolSettings(effective),
    middleware: toMiddlewareSettings(effective),
    sandbox: toSandboxSettings(all, paths),
    openapi: toOpenApiSettings(effective.values()),
    tasks: toTaskSettings(settings.tasks, all),
    servers: [...effective.values()].flatMap(({ server }) => server ?? []),
    disabledServers: joined('mcp.disabled', all),
    allowedServers: toAllowances(all, 'mcp.allow'),
    allowedSources: toAllowances(all, 'sources.allow'),
    sourceSigners: toAllowances(all, 'sources.signers'),
    // Used only if both the provider and the model are set.
    model: model?.provider === undefined || model.name === undefined ? undefined : model,
  };
}

// The values of a list that every layer extends.
function joined(key: string, all: readonly ConfigValue[]): readonly string[] {
  return all.filter(({ path }) => path.join('.') === key).flatMap(({ value }) => value as readonly string[]);
}

// Each file's list is one of its own: all of them must allow a server or source.
function toAllowances<T>(all: readonly ConfigValue[], key: string): readonly Allowance<T>[] {
  return all
    .filter(({ path }) => path.join('.') === key)
    .map(({ value, file, line }) => ({ allow: value as readonly T[], file, line }));
}

function toTaskSettings(tasks: TaskSettings, all: readonly ConfigValue[]): TaskSettings {
  const exclude = joined('tasks.exclude', all);
  return exclude.length === 0 ? tasks : { ...tasks, exclude };
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

function toVariables(effective: ReadonlyMap<string, ConfigValue>): Variables {
  const found = [...effective.values()].filter(({ path }) => keyName(path) === 'env.*');
  return Object.fromEntries(found.map(({ path, value }) => [path[1]!, value as string]));
}

function toToolSettings(effective: ReadonlyMap<string, ConfigValue>): Map<string, ToolSettings> {
  const tools = new Map<string, ToolSettings>();
  for (const { path, value, layer } of effective.values()) {
    if (path[0] !== 'tools' || Object.hasOwn(ALIAS_FIELDS, path[2]!)) continue;
    const name = path[1]!;
    const known = tools.get(name);
    const added =
      keyName(path) === 'tools.*.env.*'
        ? { from: { ...known?.from, [path[3]!]: value as string } }
        : toolSetting(path[2]!, value, layer);
    tools.set(name, { ...known, ...added });
  }
  return tools;
}

function toolSetting(key: string, value: unknown, layer: Layer): ToolSettings {
  if (key === 'runOn') return { runOn: value as string };
  if (key === 'encode') return { encode: value as ResultEncoding };
  if (key !== 'timeout') return { pass: value as readonly string[] };
  return layer === 'project' ? { timeoutCeilingMs: value as number } : { timeoutMs: value as number };
}

// A project's value counts only in a trusted workspace.
function toAllowScripts(value: ConfigValue | undefined): Settings['skills']['allowScripts'] {
  if (value?.value !== true) return 'never';
  return value.layer === 'project' ? 'trusted' : 'always';
}
