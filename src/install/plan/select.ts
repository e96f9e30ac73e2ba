// Selects items by name, among those of the sources or those that are installed.

import { ToolError } from '../../core/error.js';
import { compileGlob } from '../../core/glob.js';
import { nearest, quoteOutside } from '../../core/text.js';
import { type ItemKind, isByName, isItemKind } from '../manifest/item-name.js';
import { type AvailableItem, availableName } from '../sources/load.js';
import type { Installed, InstalledItem } from '../state.js';

/**
 * Accepts effective and bare names, optionally with a kind and a source: `name`, `prefix:name`, `kind:name`,
 * `source#name`. A glob selects every item whose effective name matches: `*`, `skill:*`, `owner/repo#*`.
 */
export function selectAvailable(refs: readonly string[], items: readonly AvailableItem[]): AvailableItem[] {
  const named = items.map((value) => {
    const { kind, name, plugin } = value.item;
    const effective = availableName(value);
    return { value, kind, name, plugin, effective, source: value.source.record.id, byName: isByName(kind) };
  });
  return select(refs, named, 'wield list --available shows all items of the sources');
}

/** Selects among installed items by the same names. */
export function selectInstalled(refs: readonly string[], { items }: Installed): InstalledItem[] {
  const named = items.map((value) => ({ ...value, byName: false, value }));
  return select(refs, named, 'wield list --installed shows what is installed');
}

/** Whether a reference can select several items. */
export function isGlobRef(ref: string): boolean {
  return /[*?[{]/.test(ref);
}

interface Named<T> {
  readonly value: T;
  readonly kind: ItemKind;
  readonly name: string;
  readonly plugin: string | null;
  readonly effective: string;
  readonly source: string;
  /** Whether it is selected only by its own name or kind. */
  readonly byName: boolean;
}

function select<T>(refs: readonly string[], items: readonly Named<T>[], listing: string): T[] {
  const selected = refs.flatMap((ref) => {
    const hash = ref.lastIndexOf('#');
    const source = hash === -1 ? undefined : ref.slice(0, hash);
    const name = ref.slice(hash + 1);
    const among = source === undefined ? items : items.filter((item) => isSource(source, item.source));
    if (!isGlobRef(name)) return selectOne(ref, name, among, listing);
    const { kind, rest } = splitKind(name);
    const glob = compileGlob(kind === undefined ? name : rest);
    const matching = among.filter(
      (item) => (kind === undefined ? !item.byName : item.kind === kind) && glob.matches(item.effective),
    );
    if (matching.length === 0) throw notFound(ref, among, listing);
    return matching.map(({ value }) => value);
  });
  return [...new Set(selected)];
}

// By the whole id, by its last segments, or by a glob.
function isSource(wanted: string, id: string): boolean {
  if (isGlobRef(wanted)) return compileGlob(wanted).matches(id);
  return id === wanted || id.endsWith(`/${wanted}`);
}

/** Splits `kind:name`; other references have no kind. */
export function splitKind(ref: string): { readonly kind: ItemKind | undefined; readonly rest: string } {
  const colon = ref.indexOf(':');
  const kind = colon === -1 ? undefined : ref.slice(0, colon);
  return { kind: isItemKind(kind) ? kind : undefined, rest: ref.slice(colon + 1) };
}

// The prefix of the items of a plugin; undefined for any other item.
function pluginOf({ kind, plugin, name, effective }: Named<unknown>): string | undefined {
  if (plugin === null) return undefined;
  return kind === 'plugin' ? effective : effective.slice(0, -name.length - 1);
}

// The name of a plugin selects all its items, except those that have to be named (INS-61).
function selectOne<T>(ref: string, name: string, items: readonly Named<T>[], listing: string): T[] {
  const { kind, rest } = splitKind(name);
  const ofKind = kind === undefined ? [] : items.filter((item) => item.kind === kind);
  // Effective names before bare names; the whole reference before `kind:name`.
  const groups = [
    items.filter(({ effective, kind: own }) => effective === name && own !== 'plugin'),
    ofKind.filter(({ effective }) => effective === rest),
    items.filter((item) => item.name === name),
    ofKind.filter((item) => item.name === rest),
  ];
  const matching = groups.find((group) => group.length > 0) ?? [];
  const ofPlugin = items.filter((item) => pluginOf(item) === name);
  const isPlugin = matching.every((item) => item.kind === 'plugin') && kind === undefined;
  if (isPlugin && ofPlugin.length > 0 && ofPlugin.every(({ source }) => source === ofPlugin[0]!.source))
    return ofPlugin.filter(({ byName }) => !byName).map(({ value }) => value);
  if (matching.length === 1) return [matching[0]!.value];
  if (matching.length === 0) throw notFound(ref, items, listing);
  const candidates = matching.map((item) => `${item.kind}:${item.effective} of ${item.source}`);
  throw new ToolError('ambiguous', `"${quoteOutside(ref, 80)}" matches ${candidates.join(', ')}`, {
    hint: 'write the kind or the source before the name, as in skill:name or source#name',
    data: { candidates },
  });
}

function notFound(ref: string, items: readonly Named<unknown>[], listing: string): ToolError {
  const close = nearest(
    ref,
    items.map(({ effective }) => effective),
  );
  return new ToolError('not_found', `item "${quoteOutside(ref, 80)}" not found`, {
    hint: close.length > 0 ? `did you mean ${close.join(', ')}?` : listing,
    data: { nearest: close },
  });
}
