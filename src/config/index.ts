// The configuration: three files in layers, read again when one of them changes.

import { join } from 'node:path';
import type { Problem } from '../core/problem.js';
import type { Policy, Rule } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import { createStatCache } from '../files/stat-cache.js';
import { toShadowed } from '../upstream/entries/file.js';
import { formatValue, KEYS, keyName } from './keys.js';
import { DEFAULT_VALUES, effectiveValues, toSettings } from './merge.js';
import { type ConfigFile, type ConfigValue, type Layer, readConfigFile } from './read.js';

export type { ConfigValue, Layer } from './read.js';

export interface Configuration {
  readonly settings: Settings;
  /** The value that holds for each key that a file sets. */
  readonly values: ReadonlyMap<string, ConfigValue>;
  /** Every key with the value that holds, for people: defaults have no file. */
  readonly entries: readonly ConfigEntry[];
  readonly problems: readonly Problem[];
  /** What it says about calls. */
  readonly policy: Policy;
  /** Why nothing may run, where a file cannot be used. */
  readonly fault: string | undefined;
}

export interface ConfigEntry {
  readonly key: string;
  readonly value: unknown;
  /** As it would be written. */
  readonly shown: string;
  readonly layer: Layer | 'default';
  readonly file: string | null;
  readonly line: number | null;
}

export interface ConfigurationOptions {
  readonly managed: string;
  readonly wieldHome: string;
  readonly workdir: () => string;
  readonly now: () => number;
}

export interface CurrentConfiguration {
  /** Returns the current configuration; the same object until a file changed. */
  (): Configuration;
  /** Runs a synchronous function during which the files are checked once. */
  during<T>(look: () => T): T;
}

export function createConfiguration({
  managed,
  wieldHome,
  workdir,
  now,
}: ConfigurationOptions): CurrentConfiguration {
  const cache = createStatCache<Configuration>({ now });
  const read = (): Configuration => {
    const layers: [Layer, string][] = [
      ['managed', managed],
      ['user', join(wieldHome, 'config.toml')],
      ['project', join(workdir(), '.agents', 'config.toml')],
    ];
    const files = layers.map(([, file]) => file);
    return cache.get('configuration', files, (texts) =>
      toConfiguration(layers.map(([layer, file], at) => readConfigFile(file, layer, texts[at]))),
    );
  };
  let looking = false;
  let held: Configuration | undefined;
  const current = (): Configuration => {
    if (!looking) return read();
    held ??= read();
    return held;
  };
  const during = <T>(look: () => T): T => {
    if (looking) return look();
    looking = true;
    try {
      return look();
    } finally {
      looking = false;
      held = undefined;
    }
  };
  return Object.assign(current, { during });
}

function toConfiguration(files: readonly ConfigFile[]): Configuration {
  const all = files.flatMap((one) => one.values);
  const values = effectiveValues(all, DEFAULT_VALUES);
  const fault = files.find((one) => one.fault !== undefined)?.fault;
  return {
    settings: toSettings(values, all),
    values,
    // Computed on demand: only `wield config` shows them.
    get entries() {
      return toEntries(values, all);
    },
    problems: [...files.flatMap((one) => one.problems), ...findShadowedServers(values, all)],
    policy: toPolicy(all, fault),
    fault,
  };
}

// UPS-1: a project can neither change nor remove a server of the person's.
function findShadowedServers(
  values: ReadonlyMap<string, ConfigValue>,
  all: readonly ConfigValue[],
): Problem[] {
  return all.flatMap(({ path, server }) => {
    const first = values.get(path.join('.'))?.server;
    return server === undefined || first === undefined || first === server ? [] : [toShadowed(server, first)];
  });
}

// Files come highest first, and so do their rules.
function toPolicy(values: readonly ConfigValue[], fault: string | undefined): Policy {
  const rulesOf = (isProject: boolean): Rule[] =>
    values
      .filter(({ path, layer }) => path.join('.') === 'trust.rules' && (layer === 'project') === isProject)
      .flatMap(({ rules = [] }) => rules);
  return {
    fault,
    lists: values
      .filter(({ path }) => path.join('.') === 'allowed-tools')
      .map(({ rules = [], file, line }) => ({ of: 'allowed-tools', rules, file, line })),
    rules: rulesOf(false),
    projectRules: rulesOf(true),
  };
}

// What every layer adds to is shown with each of them.
function toEntries(values: ReadonlyMap<string, ConfigValue>, all: readonly ConfigValue[]): ConfigEntry[] {
  const keys = [...new Set([...DEFAULT_VALUES.keys(), ...values.keys()])].sort();
  const beside = (key: string): readonly (ConfigValue | undefined)[] => {
    const set = values.get(key);
    if (set === undefined || KEYS[keyName(set.path)]!.project !== 'narrows') return [set];
    return all.filter(({ path }) => path.join('.') === key);
  };
  return keys.flatMap((key) => beside(key).map((set) => toEntry(key, set)));
}

function toEntry(key: string, set: ConfigValue | undefined): ConfigEntry {
  const value = set === undefined ? DEFAULT_VALUES.get(key) : set.value;
  const mask = set === undefined ? undefined : KEYS[keyName(set.path)]!.mask;
  return {
    key,
    value: mask === undefined ? value : mask(value),
    shown: set?.written ?? formatValue(key, value),
    layer: set?.layer ?? 'default',
    file: set?.file ?? null,
    line: set?.line ?? null,
  };
}
