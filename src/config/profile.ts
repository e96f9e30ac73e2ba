// Profiles of the configuration: named views that narrow what a client may use (POL-24).

import type { Variables } from '../core/plan.js';
import type { AllowList, Policy, Rule } from '../core/rule.js';
import type { Settings, ToolSettings } from '../core/settings.js';
import type { Mode } from '../core/view.js';
import type { ConfigValue } from './value.js';

export interface Profile {
  /** Selectors of each layer; every list must select a call. */
  readonly lists: readonly AllowList[];
  readonly rules: readonly (readonly Rule[])[];
  readonly mode?: Mode;
  /** Variables that may be passed to tools, per layer. */
  readonly env: readonly (readonly string[])[];
}

/** Collects the profiles of all layers, highest first. */
export function toProfiles(values: readonly ConfigValue[]): ReadonlyMap<string, Profile> {
  const own = values.filter(({ path }) => path[0] === 'profiles');
  const names = new Set(own.map(({ path }) => path[1]!));
  const toProfile = (name: string): Profile => {
    const of = (key: string): readonly ConfigValue[] => own.filter(({ path }) => path[1] === name && path[2] === key);
    const mode = of('mode').at(-1)?.value as Mode | undefined;
    return {
      lists: of('tools').map(({ rules = [], file, line }) => ({ of: `profile ${name}`, rules, file, line })),
      rules: of('rules').map(({ rules = [] }) => rules),
      ...(mode === undefined ? {} : { mode }),
      env: of('env').map(({ value }) => value as readonly string[]),
    };
  };
  return new Map([...names].map((name) => [name, toProfile(name)]));
}

interface Narrowed {
  readonly settings: Settings;
  readonly policy: Policy;
}

interface Narrowable extends Narrowed {
  readonly profiles: ReadonlyMap<string, Profile>;
}

/** Whether a list of names and prefixes, which end in `*`, passes a variable on. */
type IsGranted = (name: string, pass: readonly string[]) => boolean;

export interface NarrowingOptions {
  /** The name of the profile in use. */
  readonly profile: string | undefined;
  /** Overrides that of the configuration and the profile. */
  readonly mode: Mode | undefined;
  readonly isGranted: IsGranted;
}

/** Returns settings and policy as a profile and a mode narrow them. */
export function narrow(whole: Narrowable, { profile, mode, isGranted }: NarrowingOptions): Narrowed {
  const { settings, policy } = profile === undefined ? whole : narrowByProfile(whole, profile, isGranted);
  return { settings: mode === undefined ? settings : { ...settings, view: { ...settings.view, mode } }, policy };
}

// An unknown profile allows nothing.
function narrowByProfile({ settings, policy, profiles }: Narrowable, name: string, isGranted: IsGranted): Narrowed {
  const profile = profiles.get(name);
  if (profile === undefined) return { settings, policy: { ...policy, fault: policy.fault ?? `no profile "${name}"` } };
  const { lists, rules, mode = settings.view.mode, env } = profile;
  const passed = (pass: readonly string[]): readonly string[] =>
    env.reduce((left, only) => intersect(left, only, isGranted), pass);
  const passedFrom = (from: Variables): Variables =>
    Object.fromEntries(Object.entries(from).filter(([name]) => env.every((only) => isGranted(name, only))));
  const tools = [...settings.tools].map(([tool, own]): [string, ToolSettings] => [
    tool,
    { ...own, pass: passed(own.pass ?? []), from: passedFrom(own.from ?? {}) },
  ]);
  return {
    settings: {
      ...settings,
      view: { ...settings.view, mode, profile: name },
      env: { pass: passed(settings.env.pass), from: passedFrom(settings.env.from) },
      tools: new Map(tools),
    },
    policy: { ...policy, lists: [...policy.lists, ...lists], profileRules: [...(policy.profileRules ?? []), ...rules] },
  };
}

// Returns the entries that grant what both lists grant.
function intersect(pass: readonly string[], only: readonly string[], isGranted: IsGranted): readonly string[] {
  const both = (one: string, other: string): string | undefined => {
    if (one === other) return one;
    if (!other.endsWith('*')) return isGranted(other, [one]) ? other : undefined;
    if (!one.endsWith('*')) return isGranted(one, [other]) ? one : undefined;
    const [wide, narrow] = one.length < other.length ? [one, other] : [other, one];
    return narrow.startsWith(wide.slice(0, -1)) ? narrow : undefined;
  };
  return [...new Set(pass.flatMap((one) => only.flatMap((other) => both(one, other) ?? [])))];
}
