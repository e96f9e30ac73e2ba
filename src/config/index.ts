// The configuration: three files in layers, read again when one of them changes.

import { join } from 'node:path';
import type { Problem } from '../core/problem.js';
import type { Policy, Rule } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import { type FileIdentity, sameIdentity } from '../core/tool.js';
import { readTextOrFault, statIdentity } from '../files/read.js';
import { toShadowed } from '../upstream/entries/file.js';
import { formatValue, KEYS, keyName } from './keys.js';
import { DEFAULT_VALUES, effectiveValues, toSettings } from './merge.js';
import { type ConfigValue, type Layer, readConfigFile } from './read.js';

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

type Text = ReturnType<typeof readTextOrFault>;

// Two changes within a tick of the file system's clock look alike, so a young file is read again; the coarsest
// clock in use counts 2 s.
const SETTLE_MS = 2000;

export interface CurrentConfiguration {
  /** As it is now, at each call. */
  (): Configuration;
  /** Runs a look that waits for nothing, during which the files are looked at once. */
  during<T>(look: () => T): T;
}

export function createConfiguration({
  managed,
  wieldHome,
  workdir,
  now,
}: ConfigurationOptions): CurrentConfiguration {
  let known:
    | {
        readonly files: readonly string[];
        readonly states: readonly (FileIdentity | undefined)[];
        readonly settled: boolean;
        readonly texts: readonly Text[];
        readonly configuration: Configuration;
      }
    | undefined;
  const isSettled = (state: FileIdentity | undefined): boolean =>
    state === undefined || now() - state.changedMs > SETTLE_MS;
  const read = (): Configuration => {
    const layers: [Layer, string][] = [
      ['managed', managed],
      ['user', join(wieldHome, 'config.toml')],
      ['project', join(workdir(), '.agents', 'config.toml')],
    ];
    const files = layers.map(([, file]) => file);
    const states = files.map((file) => statIdentity(file));
    if (
      known?.settled &&
      files.every((file, at) => file === known!.files[at] && sameIdentity(states[at], known!.states[at]))
    ) {
      return known.configuration;
    }
    const settled = states.every(isSettled);
    const texts = files.map((file) => readTextOrFault(file));
    if (known !== undefined && files.every((file, at) => isSame(known!, at, file, texts[at]))) {
      known = { ...known, states, settled };
      return known.configuration;
    }
    const parts = layers.map(([layer, file], at) => readConfigFile(file, layer, texts[at]));
    const all = parts.flatMap((one) => one.values);
    const values = effectiveValues(all, DEFAULT_VALUES);
    const fault = parts.find((one) => one.fault !== undefined)?.fault;
    const configuration: Configuration = {
      settings: toSettings(values, all),
      values,
      // Only a person who looks at the configuration needs them.
      get entries() {
        return toEntries(values, all);
      },
      problems: [...parts.flatMap((one) => one.problems), ...findShadowedServers(values, all)],
      policy: toPolicy(all, fault),
      fault,
    };
    known = { files, states, settled, texts, configuration };
    return configuration;
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

function isSame(
  known: { readonly files: readonly string[]; readonly texts: readonly Text[] },
  at: number,
  file: string,
  text: Text,
): boolean {
  const before = known.texts[at];
  const same =
    before instanceof Error && text instanceof Error ? before.message === text.message : before === text;
  return same && known.files[at] === file;
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
