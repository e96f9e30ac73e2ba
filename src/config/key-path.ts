// Paths of keys in a configuration file, and the key of the table that each belongs to.

import { isRecord } from '../core/json.js';
import { keys } from './keys.js';
import { sandboxLeaves } from './sandbox.js';

/** Arrays of tables: each table is a separate value. */
export const ARRAYS: readonly string[] = ['middleware', 'mcp.servers', 'sandbox.rules', 'trust.tests'];
// Tables whose keys are names.
const NAMED: readonly string[] = ['tools', 'mcpServers', 'profiles', 'sandbox', 'openapi', 'labels'];

/** Older spellings. */
export const ALIASES: Readonly<Record<string, string>> = {
  'skills.allowScripts': 'skills.allow-scripts',
  'skills.contextMode': 'skills.context-mode',
};

// Tables of which no key restricts calls.
const FREE_TABLES = ['results', 'model', 'install', 'skills'];

/** Whether an unknown key may have been meant to restrict calls: each one outside of tables that restrict nothing (POL-9). */
export function mayRestrict(path: readonly string[], close: string | undefined): boolean {
  if (path.length < 2 || !FREE_TABLES.includes(path[0]!)) return true;
  return close !== undefined && keys()[close]!.restricts === true;
}

export function canonicalPath(path: readonly string[]): readonly string[] {
  const name = path.join('.');
  return Object.hasOwn(ALIASES, name) ? ALIASES[name]!.split('.') : path;
}

// The name of a variable, below `env` and `env` of a tool. Others are misspelled keys.
const isVariable = (steps: readonly string[], index: number): boolean =>
  steps[index - 1] === 'env' &&
  (index === 1 || (index === 3 && steps[0] === 'tools')) &&
  /^[A-Z_][A-Z0-9_]*$/.test(steps[index]!);

/** Returns the key in the table: the name of a tool, a server, a profile or a variable becomes `*`. */
export function keyName(path: readonly string[]): string {
  const steps = canonicalPath(path);
  const array = ARRAYS.find((name) => name.split('.').every((step, at) => step === steps[at]));
  if (array !== undefined) return array;
  const isName = (index: number): boolean => (index === 1 && NAMED.includes(steps[0]!)) || isVariable(steps, index);
  return steps.map((step, index) => (isName(index) ? '*' : step)).join('.');
}

/** A value of a document, with its path. */
export interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

function isTable(name: string): boolean {
  return NAMED.includes(name) || Object.keys(keys()).some((key) => key.startsWith(`${name}.`));
}

/** Returns the leaves of a document with their paths. The tables of an array of tables are leaves, counted from 1. */
export function leaves(document: unknown, path: readonly string[] = []): readonly Leaf[] {
  if (path.length === 1 && path[0] === 'sandbox') return sandboxLeaves(document);
  // For editors.
  if (path.length === 1 && path[0] === '$schema' && typeof document === 'string') return [];
  if (Array.isArray(document) && ARRAYS.includes(path.join('.')))
    return document.map((value, at) => ({ path: [...path, String(at + 1)], value }));
  if (!isRecord(document) || (path.length > 0 && Object.hasOwn(keys(), keyName(path))))
    return [{ path, value: document }];
  const entries = Object.entries(document);
  // A table without keys is valid if it could have some.
  if (entries.length === 0 && path.length > 0 && !isTable(keyName(path))) return [{ path, value: document }];
  return entries.flatMap(([key, value]) => leaves(value, [...path, key]));
}
