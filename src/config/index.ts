// The configuration: three files in layers, read again when one of them changes.

import { join } from 'node:path';
import type { Settings } from '../core/settings.js';
import { type FileIdentity, type Problem, sameIdentity } from '../core/tool.js';
import { statIdentity } from '../files/read.js';
import { formatValue } from './keys.js';
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
}

/** The configuration as it is now, at each call. */
export function createConfiguration({
  managed,
  wieldHome,
  workdir,
}: ConfigurationOptions): () => Configuration {
  let known:
    | { files: readonly string[]; states: (FileIdentity | undefined)[]; configuration: Configuration }
    | undefined;
  return () => {
    const layers: [Layer, string][] = [
      ['managed', managed],
      ['user', join(wieldHome, 'config.toml')],
      ['project', join(workdir(), '.agents', 'config.toml')],
    ];
    const files = layers.map(([, file]) => file);
    const states = files.map((file) => statIdentity(file));
    if (
      known !== undefined &&
      files.every((file, at) => file === known!.files[at] && sameIdentity(states[at], known!.states[at]))
    ) {
      return known.configuration;
    }
    const read = layers.map(([layer, file]) => readConfigFile(file, layer));
    const values = effectiveValues(
      read.flatMap((one) => one.values),
      DEFAULT_VALUES,
    );
    const configuration: Configuration = {
      settings: toSettings(values),
      values,
      // Only a person who looks at the configuration needs them.
      get entries() {
        return toEntries(values);
      },
      problems: read.flatMap((one) => one.problems),
      fault: read.find((one) => one.fault !== undefined)?.fault,
    };
    known = { files, states, configuration };
    return configuration;
  };
}

function toEntries(values: ReadonlyMap<string, ConfigValue>): ConfigEntry[] {
  const keys = [...new Set([...DEFAULT_VALUES.keys(), ...values.keys()])].sort();
  return keys.map((key) => {
    const set = values.get(key);
    const value = set === undefined ? DEFAULT_VALUES.get(key) : set.value;
    return {
      key,
      value,
      shown: set?.written ?? formatValue(key, value),
      layer: set?.layer ?? 'default',
      file: set?.file ?? null,
      line: set?.line ?? null,
    };
  });
}
