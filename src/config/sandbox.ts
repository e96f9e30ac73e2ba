// The sandbox tables of the configuration: `[sandbox.NAME]` defines a profile, `[[sandbox]]` assigns one.

import { isToolError } from '../core/error.js';
import { HOSTS, type SandboxNetwork } from '../core/hosts.js';
import { isRecord } from '../core/json.js';
import type { SandboxRule, SandboxSettings, SandboxTable } from '../core/sandbox.js';
import { BUILTIN_PROFILES, CLOSED_PROFILES, NO_SANDBOXES } from '../core/sandbox.js';
import { iterPaths, type PathEntry } from '../core/search-path.js';
import { isForRules, parseSelectors } from '../core/selector.js';
import {
  boolean,
  checked,
  converted,
  described,
  either,
  list,
  object,
  optional,
  type Shape,
  stringOrStrings,
  text,
} from '../core/shape.js';
import { didYouMean, quoteOutside } from '../core/text.js';
import type { ConfigValue } from './value.js';

const paths = optional(list(text('a path', /[\s\S]/), 'an array of paths'));
const network = either([boolean, HOSTS], 'true, false or an array of hosts');
/** A profile. */
export const sandboxTable = object({
  read: paths,
  write: paths,
  deny: paths,
  network: optional({
    ...network,
    // Names the entry that is wrong.
    read: (value, report) => (Array.isArray(value) ? HOSTS : network).read(value, report),
  } as Shape<SandboxNetwork>),
  // As in `env.pass`.
  env: optional(list(text('the name of a variable, which may end in *', /^[A-Za-z_]\w*\*?$/), 'an array of variables')),
});
/** Returns what is wrong with the name of a profile. */
export function findProfileNameFault(name: string, value: unknown): string | undefined {
  if (Object.hasOwn(sandboxTable.fields, name) && !isRecord(value)) return 'belongs in a table: [sandbox.NAME]';
  return BUILTIN_PROFILES.some((builtin) => builtin === name)
    ? 'is a built-in profile; choose another name'
    : undefined;
}

/** Names that a profile cannot have, as JSON Schema. */
export const PROFILE_NAME_SCHEMA = { not: { enum: BUILTIN_PROFILES } };

const RULE = object({
  match: described(stringOrStrings, 'selectors, as text or an array of text'),
  profile: text('the name of a profile', /[\s\S]/),
  required: optional(boolean),
});

/** A rule that assigns a profile. */
export const sandboxRule: Shape<Omit<SandboxRule, 'byProject'>> = converted(
  checked(RULE, ({ match }, fail) => checkMatch(match, (message) => fail(['match'], message))),
  ({ match, profile, required = true }) => ({ selectors: parseSelectors(match), profile, required }),
);

function checkMatch(match: readonly string[], fail: (message: string) => void): void {
  try {
    const selectors = parseSelectors(match);
    if (selectors.length === 0) fail('is empty');
    const odd = selectors.find((one) => isForRules(one) || one.arguments.length > 0);
    if (odd !== undefined) fail(`is invalid: "${odd.text}"; it names tools, #tags or servers, for every input`);
  } catch (error) {
    if (!isToolError(error)) throw error;
    fail(`is invalid: ${error.message}`);
  }
}

/** Returns the profiles and rules of all layers. */
export function toSandboxSettings(values: readonly ConfigValue[], paths: readonly PathEntry[]): SandboxSettings {
  const own = values.filter(({ path }) => path[0] === 'sandbox');
  const places = [...iterPaths(paths)].map(({ dir }) => dir);
  if (own.length === 0) return { ...NO_SANDBOXES, places };
  const profiles = new Map<string, SandboxTable[]>();
  const rules: SandboxRule[] = [];
  for (const { path, value, layer } of own) {
    const byProject = layer === 'project';
    if (path[1] === 'rules') rules.push({ ...(value as Omit<SandboxRule, 'byProject'>), byProject });
    else
      profiles.set(path[1]!, [
        ...(profiles.get(path[1]!) ?? []),
        { ...(value as Omit<SandboxTable, 'byProject'>), byProject },
      ]);
  }
  return { profiles, rules, places };
}

/** Returns the rules whose profile is not defined, with a suggestion. */
export function findUnknownSandboxes(
  values: readonly ConfigValue[],
): { rule: ConfigValue; what: string; hint: string }[] {
  const own = values.filter(({ path }) => path[0] === 'sandbox');
  const tables = own.filter(({ path }) => path[1] !== 'rules');
  return own.flatMap((rule) => {
    if (rule.path[1] !== 'rules') return [];
    const { profile } = rule.value as SandboxRule;
    // A project must not define what the user refers to.
    const usable = tables.filter(({ layer }) => rule.layer === 'project' || layer !== 'project');
    const names = usable.map(({ path }) => path[1]!);
    if ([...BUILTIN_PROFILES, ...names].includes(profile)) return [];
    const shown = quoteOutside(profile, 60);
    const hint = didYouMean(profile, [...CLOSED_PROFILES, ...names], `define [sandbox.${shown}]`);
    return [{ rule, what: `[[sandbox]] names the unknown profile "${shown}"`, hint }];
  });
}

/**
 * Returns the leaves of `sandbox`. In a file with `[[sandbox]]`, a `[sandbox.NAME]` after it belongs to that array's last
 * table, by the rules of TOML; `[[sandbox.rules]]` works in any order.
 */
export function sandboxLeaves(document: unknown): { path: readonly string[]; value: unknown }[] {
  if (!Array.isArray(document)) {
    if (!isRecord(document)) return [{ path: ['sandbox'], value: document }];
    return Object.entries(document).flatMap(([name, value]) =>
      name === 'rules' && Array.isArray(value)
        ? value.map((rule, at) => ({ path: ['sandbox', 'rules', String(at + 1)], value: rule }))
        : [{ path: ['sandbox', name], value }],
    );
  }
  return document.flatMap((table: unknown, at) => {
    const rulePath = ['sandbox', 'rules', String(at + 1)];
    if (!isRecord(table)) return [{ path: rulePath, value: table }];
    const profiles = Object.entries(table).filter(
      ([key, value]) => isRecord(value) && !Object.hasOwn(RULE.fields, key),
    );
    const rule = Object.fromEntries(Object.entries(table).filter(([key]) => !profiles.some(([name]) => name === key)));
    return [{ path: rulePath, value: rule }, ...profiles.map(([name, value]) => ({ path: ['sandbox', name], value }))];
  });
}
