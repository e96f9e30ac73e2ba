// The configuration: files in three layers, cached until one changes.

import { join } from 'node:path';
import type { Boundary } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import type { Policy, Rule } from '../core/rule.js';
import type { NamedToken, Settings } from '../core/settings.js';
import { didYouMean, quoteOutside } from '../core/text.js';
import { createStatCache } from '../files/read.js';
import { isWithin } from '../files/within.js';
import { toShadowed } from '../upstream/entries/file.js';
import { keyName } from './key-path.js';
import { defaultOf, formatValue, keys } from './keys.js';
import { listManaged } from './managed.js';
import { effectiveValues, toSettings } from './merge.js';
import { type NarrowingOptions, narrow, type Profile, toProfiles } from './profile.js';
import { readConfigFile, toInvalid, unusable } from './read.js';
import { type RuleTests, runRuleTests } from './rule-tests.js';
import { findUnknownSandboxes } from './sandbox.js';
import type { ConfigFile, ConfigValue, Layer } from './value.js';

export type { ConfigValue, Layer } from './value.js';

export interface Configuration {
  readonly settings: Settings;
  /** Returns every key with its effective value, including defaults. */
  readonly entries: () => readonly ConfigEntry[];
  readonly problems: readonly Problem[];
  /** By name. */
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Its rules. */
  readonly policy: Policy;
  /** The outcome of the tests of its rules. */
  readonly tests: RuleTests;
  /** Why nothing may run, if a file is invalid. */
  readonly fault: string | undefined;
}

export interface ConfigEntry {
  readonly key: string;
  readonly value: unknown;
  /** As written in a file. */
  readonly shown: string;
  readonly layer: Layer | 'default';
  readonly file: string | null;
  readonly line: number | null;
}

export interface ConfigurationOptions extends Partial<NarrowingOptions> {
  /** The directory of the managed files. */
  readonly managed: string;
  readonly wieldHome: string;
  readonly now: () => number;
  /** Returns the directory that links of a project's file must not lead out of (RES-46). */
  readonly boundaryOf?: (workdir: string) => Boundary | undefined;
}

/**
 * Reads the configuration of a workdir, narrowed by a further profile if one is named; returns the same object until a
 * file changed.
 */
export type ReadConfiguration = (workdir: string, profile?: string) => Configuration;

export function createConfiguration(options: ConfigurationOptions): ReadConfiguration {
  const { managed, wieldHome, now, boundaryOf, profile, mode, isGranted = () => false } = options;
  const user = join(wieldHome, 'config.toml');
  const isState = (file: string): boolean => file === user || isWithin(managed, file);
  const cache = createStatCache<Configuration>({ now, isState });
  const read = (workdir: string): Configuration => {
    const { files: above, fault } = listManaged(managed);
    const files = [...above, user, join(workdir, '.agents', 'config.toml')];
    const layerOf = (at: number): Layer => (at < above.length ? 'managed' : at === above.length ? 'user' : 'project');
    return cache.get(
      fault === undefined ? 'configuration' : `${fault.path} ${fault.what}`,
      files,
      (texts) => {
        const layers = files.map((file, at) => readConfigFile(file, layerOf(at), texts[at]));
        const read = fault === undefined ? layers : [unusable(fault.path, fault.what), ...layers];
        const whole = toConfiguration(read, now());
        return { ...whole, ...narrow(whole, { profile, mode, isGranted }) };
      },
      () => boundaryOf?.(workdir),
    );
  };
  const narrowed = new WeakMap<Configuration, Map<string, Configuration>>();
  return (workdir, further) => {
    const whole = read(workdir);
    if (further === undefined) return whole;
    const known = narrowed.get(whole) ?? new Map<string, Configuration>();
    narrowed.set(whole, known);
    const found = known.get(further) ?? { ...whole, ...narrow(whole, { profile: further, mode, isGranted }) };
    known.set(further, found);
    return found;
  };
}

function toConfiguration(files: readonly ConfigFile[], now: number): Configuration {
  const all = numbered(files.flatMap((one) => one.values));
  const values = effectiveValues(all);
  const checked = [
    ...files,
    ...findUnknownSandboxes(all).map(({ rule, what, hint }) => toInvalid(rule, rule.line, what, true, hint)),
  ];
  const invalid = checked.find((one) => one.fault !== undefined)?.fault;
  // Without all rules, nothing can be said about them.
  const tests: RuleTests = invalid === undefined ? runRuleTests(all, toPolicy, now) : { passed: 0, problems: [] };
  const fault = invalid ?? tests.fault;
  const profiles = toProfiles(all);
  return {
    settings: toSettings(values, all),
    entries: () => toEntries(values, all),
    problems: [
      ...checked.flatMap((one) => one.problems),
      ...tests.problems,
      ...findShadowedServers(values, all),
      ...findUnknownProfiles(values, profiles),
    ],
    profiles,
    policy: toPolicy(all, fault),
    tests,
    fault,
  };
}

// IDN-12: nobody is let in with such a token.
function findUnknownProfiles(values: ReadonlyMap<string, ConfigValue>, profiles: Configuration['profiles']): Problem[] {
  const found = values.get('serve.tokens');
  const tokens = (found?.value ?? []) as readonly NamedToken[];
  return tokens.flatMap(({ user, profile }) => {
    if (profile === undefined || profiles.has(profile)) return [];
    const message = `line ${found!.line}: the token of ${user} has the unknown profile "${quoteOutside(profile, 60)}", so it lets nobody in`;
    const hint = didYouMean(profile, [...profiles.keys()], `define [profiles.${quoteOutside(profile, 60)}]`);
    return [{ severity: 'error', path: found!.file, message, hint }];
  });
}

// Entries that apply together are numbered per layer, so that none of one file replaces that of another.
function numbered(values: readonly ConfigValue[]): readonly ConfigValue[] {
  const counts = new Map<string, number>();
  return values.map((value) => {
    if (keys()[keyName(value.path)]!.project !== 'joins') return value;
    const table = value.path.slice(0, -1);
    const at = Math.max(Number(value.path.at(-1)), (counts.get(table.join('.')) ?? 0) + 1);
    counts.set(table.join('.'), at);
    return { ...value, path: [...table, String(at)] };
  });
}

// UPS-1: a project can neither change nor remove a server of the user.
function findShadowedServers(values: ReadonlyMap<string, ConfigValue>, all: readonly ConfigValue[]): Problem[] {
  return all.flatMap(({ path, server }) => {
    const first = values.get(path.join('.'))?.server;
    return server === undefined || first === undefined || first === server ? [] : [toShadowed(server, first)];
  });
}

// Highest layer first.
function toPolicy(values: readonly ConfigValue[], fault?: string): Policy {
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
    labels: values
      .filter(({ path }) => path[0] === 'labels')
      .map(({ path, rules = [] }) => ({ label: path[1]!, rules })),
    trifecta: TRIFECTA.find((level) => values.some(({ path, value }) => isTrifecta(path) && value === level)),
  };
}

// FLW-6: the strictest of all files counts.
const TRIFECTA = ['deny', 'ask'] as const;

function isTrifecta(path: readonly string[]): boolean {
  return path.join('.') === 'flow.trifecta';
}

// A key that all layers add to has one entry per layer.
function toEntries(values: ReadonlyMap<string, ConfigValue>, all: readonly ConfigValue[]): ConfigEntry[] {
  const withDefault = Object.keys(keys()).filter((key) => defaultOf(key) !== undefined);
  const names = [...new Set([...withDefault, ...values.keys()])].sort();
  const beside = (key: string): readonly (ConfigValue | undefined)[] => {
    const set = values.get(key);
    if (set === undefined || keys()[keyName(set.path)]!.project !== 'narrows') return [set];
    return all.filter(({ path }) => path.join('.') === key);
  };
  return names.flatMap((key) => beside(key).map((set) => toEntry(key, set)));
}

function toEntry(key: string, set: ConfigValue | undefined): ConfigEntry {
  const value = set === undefined ? defaultOf(key) : set.value;
  const mask = set === undefined ? undefined : keys()[keyName(set.path)]!.mask;
  return {
    key,
    value: mask === undefined ? value : mask(value),
    shown: set?.written ?? formatValue(key, value),
    layer: set?.layer ?? 'default',
    file: set?.file ?? null,
    line: set?.line ?? null,
  };
}
