// Merges the layers of the configuration into settings: a lower layer narrows and never widens (POL-11).

import type { MiddlewareSettings } from '../core/middleware-settings.js';
import { fillRest, type PathEntry, REST } from '../core/search-path.js';
import { DEFAULT_SETTINGS, type Settings } from '../core/settings.js';
import type { View } from '../core/view.js';
import { keyName } from './key-path.js';
import { defaultOf, keys } from './keys.js';
import { toOpenApiSettings } from './openapi.js';
import { toSandboxSettings } from './sandbox.js';
import { type ConfigValue, LAYERS } from './value.js';

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
  for (const value of effective.values()) {
    const path = settingOf(value);
    if (path !== undefined) settings = withPart(settings, path, collected(value, all));
  }
  const { limits, skills, view, paths, model } = settings;
  const isTimeoutSet = effective.has('limits.timeout');
  return {
    ...settings,
    limits: isTimeoutSet ? { ...limits, timeoutCeilingMs: limits.timeoutMs } : limits,
    skills: { ...skills, allowScripts: toAllowScripts(effective.get('skills.allow-scripts')) },
    view: { ...view, originals: toOriginals(view) },
    middleware: toMiddlewareSettings(effective),
    sandbox: toSandboxSettings(all, paths),
    openapi: toOpenApiSettings(effective.values()),
    servers: [...effective.values()].flatMap(({ server }) => server ?? []),
    // Used only if both the provider and the model are set.
    model: model?.provider === undefined || model.name === undefined ? undefined : model,
  };
}

// Returns the path of the setting of a value, with the names that its key has.
function settingOf({ path, layer }: ConfigValue): readonly string[] | undefined {
  const key = keyName(path);
  const { setting } = keys()[key]!;
  // The user's limit of a tool is its own, and that of a project can only lower it.
  const own = setting === 'tools.*.timeoutMs' && layer === 'project' ? 'tools.*.timeoutCeilingMs' : setting;
  const names = key.split('.').flatMap((step, at) => (step === '*' ? [path[at]!] : []));
  return own?.split('.').map((step) => (step === '*' ? names.shift()! : step));
}

// Returns the value, or what all files say if each of them counts.
function collected({ path, value }: ConfigValue, all: readonly ConfigValue[]): unknown {
  const { project, perFile } = keys()[keyName(path)]!;
  const ofAll = all.filter((other) => other.path.join('.') === path.join('.'));
  // All of them must allow a server or source.
  if (perFile === true) return ofAll.map(({ value: allow, file, line }) => ({ allow, file, line }));
  return project === 'narrows' ? ofAll.flatMap((one) => one.value) : value;
}

// Returns a copy with another value at a path.
function withPart<T>(whole: T, [step, ...rest]: readonly string[], value: unknown): T;
function withPart(whole: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  if (whole instanceof Map) return new Map(whole).set(step, withPart<unknown>(whole.get(step), rest, value));
  const record = whole as Readonly<Record<string, unknown>> | undefined;
  return { ...record, [step]: withPart(record?.[step], rest, value) };
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
function toOriginals({ aliases }: View): View['originals'] {
  const originals = new Map<string, string>();
  for (const [original, { name }] of aliases)
    if (name !== undefined && !originals.has(name)) originals.set(name, original);
  return originals;
}

// A project's value counts only in a trusted workspace.
function toAllowScripts(value: ConfigValue | undefined): Settings['skills']['allowScripts'] {
  if (value?.value !== true) return 'never';
  return value.layer === 'project' ? 'trusted' : 'always';
}
