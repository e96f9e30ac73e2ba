// Plans the import of permissions: the rules, and the configuration files with them.

import { isDeepStrictEqual } from 'node:util';
import { ToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { parseSelectors, type Selector, type SelectorPolicy } from '../../core/selector.js';
import type { ClientEnvironment, Scope } from '../client.js';
import { type ConfigFile, editConfig, parse, readConfig, toPlain } from '../config-file.js';
import { valueAt, withValue } from '../forms/form.js';
import { type AddedLine, addToArray, tomlForm } from '../forms/toml.js';
import { findPermissionFiles, type PermissionFile, readPermissions } from './files.js';
import { type ServerTool, translatePermission } from './translate.js';

/** Where something was written. */
interface Origin extends PermissionFile {
  readonly policy: SelectorPolicy;
  readonly written: string;
}

export interface ImportedRule extends Origin {
  readonly selector: string;
}

export interface LeftPermission extends Origin {
  readonly reason: string;
}

export interface PermissionPlan {
  readonly read: readonly PermissionFile[];
  readonly rules: readonly ImportedRule[];
  readonly left: readonly LeftPermission[];
  readonly changes: readonly { readonly scope: Scope; readonly file: ConfigFile; readonly after: string }[];
}

export interface PermissionPlanOptions {
  readonly clients: readonly string[];
  readonly environment: ClientEnvironment;
  readonly tools: readonly ServerTool[];
  /** The configuration files of wield. */
  readonly files: Readonly<Record<Scope, string>>;
  /** Formats a path for a comment. */
  readonly shorten: (path: string) => string;
}

/** Throws a ToolError if a file is not valid. */
export function planPermissions(options: PermissionPlanOptions): PermissionPlan {
  const read = findPermissionFiles(options.clients, options.environment);
  const rules: ImportedRule[] = [];
  const left: LeftPermission[] = [];
  const files = read.map((file) => ({ file, permissions: readPermissions(file) }));
  // Nothing of a client is allowed that rules of it may deny which are not compared here.
  const outranked = files.filter(({ permissions }) => permissions.some(({ outranks }) => outranks));
  for (const { file, permissions } of files) {
    for (const permission of permissions) {
      const { policy, written } = permission;
      const outranking = policy === 'allow' ? outranked.find((one) => one.file.client === file.client) : undefined;
      const translated =
        outranking === undefined || permission.patterns.length === 0
          ? translatePermission(permission, file.scope, options.tools)
          : { selectors: [], left: `${options.shorten(outranking.file.path)} may deny it; allow it by hand` };
      for (const selector of translated.selectors) rules.push({ ...file, policy, written, selector });
      if (translated.left !== undefined) left.push({ ...file, policy, written, reason: translated.left });
    }
  }
  const changes: PermissionPlan['changes'][number][] = [];
  const imported: ImportedRule[] = [];
  for (const scope of ['user', 'project'] as const) {
    const file = readConfig(options.files[scope], tomlForm);
    const own = rules.filter((rule) => rule.scope === scope);
    const { additions, refused } = mergeRules(readRules(file), own);
    imported.push(...own.filter((rule) => !refused.includes(rule)));
    left.push(...refused.map((rule) => ({ ...rule, reason: 'your rules deny after they allow; add it by hand' })));
    const after = writeRules(file, additions, own, options.shorten);
    if (after !== undefined) changes.push({ scope, file, after });
  }
  return { read, rules: imported, left, changes };
}

function readRules({ path, document }: ConfigFile): readonly Selector[] {
  const value = valueAt(document, ['trust', 'rules']) ?? [];
  const isText = (one: unknown): one is string => typeof one === 'string';
  const texts = [value].flat();
  if (texts.every(isText)) return parseSelectors(texts);
  throw new ToolError('invalid_definition', `${path}: trust.rules must be selectors`, { hint: 'wield doctor' });
}

/**
 * Adds rules so that no verdict gets weaker: `$deny` counts anywhere, what asks comes before the first rule that allows,
 * and what allows comes last. A rule that asks is refused if it would come before one that denies (POL-39).
 */
function mergeRules(existing: readonly Selector[], added: readonly ImportedRule[]) {
  const known = new Set(existing.map(({ text }) => text));
  const of = (policy: SelectorPolicy): ImportedRule[] =>
    added.filter((rule) => rule.policy === policy && !known.has(rule.selector));
  const textsOf = (rules: readonly ImportedRule[]): string[] => [...new Set(rules.map(({ selector }) => selector))];
  const at = existing.findIndex(({ policy }) => policy === 'allow');
  const [before, after] = at === -1 ? [existing, []] : [existing.slice(0, at), existing.slice(at)];
  const isRefused = after.some(({ policy, denies }) => policy === 'deny' && !denies);
  const asking = of('ask');
  const parts: [number, readonly string[]][] = [
    [0, textsOf(of('deny'))],
    [before.length, isRefused ? [] : textsOf(asking)],
    [existing.length, textsOf(of('allow'))],
  ];
  // Added before the existing rule of this position, or after the last one.
  const additions = new Map<number, readonly string[]>();
  for (const [position, texts] of parts)
    if (texts.length > 0) additions.set(position, [...(additions.get(position) ?? []), ...texts]);
  return { additions, refused: isRefused ? asking : [] };
}

// Returns undefined if nothing changes. The origin of each rule is a comment; what is written there stays, if it can be.
function writeRules(
  file: ConfigFile,
  additions: ReadonlyMap<number, readonly string[]>,
  imported: readonly ImportedRule[],
  shorten: (path: string) => string,
): string | undefined {
  if (additions.size === 0) return undefined;
  const existing = readRules(file).map(({ text }) => text);
  const texts = [...existing, undefined].flatMap((text, at) => [
    ...(additions.get(at) ?? []),
    ...(text === undefined ? [] : [text]),
  ]);
  const table = valueAt(file.document, ['trust']);
  const entry = { ...(isRecord(table) ? (table as JsonObject) : {}), rules: texts };
  const toLine = (text: string): AddedLine => {
    const from = imported.find(({ selector }) => selector === text);
    return { value: JSON.stringify(text), comment: from === undefined ? '' : `${shorten(from.path)}, ${from.written}` };
  };
  const lines = new Map([...additions].map(([at, added]) => [at, added.map(toLine)]));
  const inPlace = addToArray(file.text ?? '', ['trust'], 'rules', lines);
  if (inPlace !== undefined && isAs(inPlace, entry, file)) return inPlace;
  const whole = editConfig(file, tomlForm, ['trust'], entry);
  const line = `rules = [${texts.map((text) => JSON.stringify(text)).join(', ')}]`;
  const shown = texts.map(toLine).map(({ value, comment }) => `  ${value},${comment === '' ? '' : ` # ${comment}`}`);
  const after = whole.replace(line, () => ['rules = [', ...shown, ']'].join('\n'));
  return isAs(after, entry, file) ? after : whole;
}

function isAs(text: string, trust: JsonObject, file: ConfigFile): boolean {
  try {
    return isDeepStrictEqual(toPlain(parse(text, tomlForm, file)), toPlain(withValue(file.document, ['trust'], trust)));
  } catch {
    return false;
  }
}
