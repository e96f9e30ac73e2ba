// Parses the sandbox tables of the configuration: `[sandbox.NAME]` defines a profile, `[[sandbox]]` assigns one.

import { isToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { SandboxRule, SandboxSettings, SandboxTable } from '../core/sandbox.js';
import { BUILTIN_PROFILES, NO_SANDBOXES } from '../core/sandbox.js';
import { iterPaths, type PathEntry } from '../core/search-path.js';
import { isForRules, parseSelectors } from '../core/selector.js';
import { nearest } from '../core/text.js';
import type { ConfigValue } from './value.js';

type Kinds = Readonly<Record<string, (value: unknown) => boolean>>;

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
// As in `env.pass`.
const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && /^[A-Za-z_]\w*\*?$/.test(one));
const isFlag = (value: unknown): boolean => typeof value === 'boolean';

const PROFILE: Kinds = { read: isTexts, write: isTexts, deny: isTexts, network: isFlag, env: isNames };
const RULE: Kinds = { match: (value) => isText(value) || isTexts(value), profile: isText, required: isFlag };

type ParsedTable = Omit<SandboxTable, 'byProject'>;
type ParsedRule = Omit<SandboxRule, 'byProject'>;

export function parseSandboxTable(value: unknown, path?: readonly string[]): ParsedTable | undefined {
  return findSandboxFault(value, path) === undefined ? (value as ParsedTable) : undefined;
}

export function findSandboxFault(value: unknown, path: readonly string[] = []): string | undefined {
  const name = path.at(-1) ?? '';
  if (Object.hasOwn(PROFILE, name) && !isRecord(value)) return `belongs in a table: [sandbox.NAME]`;
  if ((BUILTIN_PROFILES as readonly string[]).includes(name)) return 'is a built-in profile; choose another name';
  const expected = 'read, write and deny are arrays of paths, env is one of variables, network is true or false';
  return findFault(value, PROFILE, expected);
}

export function parseSandboxRule(value: unknown): ParsedRule | undefined {
  if (findRuleFault(value) !== undefined) return undefined;
  const {
    match,
    profile,
    required = true,
  } = value as { match: string | string[]; profile: string; required?: boolean };
  return { selectors: parseSelectors(match), profile, required };
}

export function findRuleFault(value: unknown): string | undefined {
  const fault = findFault(value, RULE, 'match and profile are text; required is true or false');
  if (fault !== undefined) return fault;
  const { match, profile } = value as { match?: string | string[]; profile?: string };
  if (match === undefined || profile === undefined) return 'needs match and profile';
  try {
    const selectors = parseSelectors(match);
    if (selectors.length === 0) return 'has an empty match';
    const odd = selectors.find((one) => isForRules(one) || one.arguments.length > 0);
    return odd && `has an invalid match: "${odd.text}"; it names tools, #tags or servers, for every input`;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return `has an invalid match: ${error.message}`;
  }
}

function findFault(value: unknown, kinds: Kinds, expected: string): string | undefined {
  if (!isRecord(value)) return 'must be a table';
  for (const [key, entry] of Object.entries(value)) {
    const isValid = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
    if (isValid === undefined) {
      const [close] = nearest(key, Object.keys(kinds));
      return `has an unknown key "${key}"${close === undefined ? '' : `, did you mean ${close}?`}`;
    }
    if (!isValid(entry)) return `has an invalid ${key}: ${expected}`;
  }
  return undefined;
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
    if (path[1] === 'rules') rules.push({ ...(value as ParsedRule), byProject });
    else profiles.set(path[1]!, [...(profiles.get(path[1]!) ?? []), { ...(value as ParsedTable), byProject }]);
  }
  return { profiles, rules, places };
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
    const profiles = Object.entries(table).filter(([key, value]) => isRecord(value) && !Object.hasOwn(RULE, key));
    const rule = Object.fromEntries(Object.entries(table).filter(([key]) => !profiles.some(([name]) => name === key)));
    return [{ path: rulePath, value: rule }, ...profiles.map(([name, value]) => ({ path: ['sandbox', name], value }))];
  });
}
