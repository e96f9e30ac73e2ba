// Plans which items to install: adds their dependencies, and compares each with the installed one.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError, ToolError } from '../../core/error.js';
import { isOccupied, type Link, readLink } from '../directory.js';
import type { Inventory } from '../inventory.js';
import { type ItemKind, itemKey, linkPath, toLinkName } from '../manifest/item-name.js';
import { type AvailableItem, availableKey, availableName } from '../sources/load.js';
import type { Installed, InstalledItem } from '../state.js';
import { readSourceForm, type SourceForm } from '../tokens/source-form.js';
import { assertSafeItem } from '../tokens/targets.js';

interface Visit {
  readonly available: AvailableItem;
  readonly form: SourceForm;
  readonly neededBy: string | null;
}

const MAX_CHAIN = 500;

/** Returns the items and their dependencies, dependencies first. Throws `bad_reference` or `conflict`. */
export function planItems(wanted: readonly AvailableItem[], inventory: Inventory): PlannedItem[] {
  const planned: PlannedItem[] = [];
  const visited = new Set<string>();
  const existing = new Map(inventory.installed.items.map((item) => [itemKey(item), item]));
  const agents = inventory.installed.items.filter(({ kind }) => kind === 'agent');
  const owners = new Map(agents.flatMap((item) => item.links.map((path) => [path.toLowerCase(), itemKey(item)])));
  // A lock names items of several commits: what another one needs is the one that is wanted (INS-30).
  const chosen = new Map(wanted.map((available) => [availableKey(available), available]));
  const visit = (available: AvailableItem, neededBy: string | null, depth: number): void => {
    const key = availableKey(available);
    if (visited.has(key)) return;
    visited.add(key);
    const { item, source } = available;
    if (depth > MAX_CHAIN)
      throw new ToolError('invalid_definition', `the ${item.kind} ${item.name} ends a chain of ${depth} references`, {
        hint: 'report it to the author of the source',
      });
    assertSafeItem(item);
    const form = readSourceForm(item, source, inventory.rendering);
    for (const needed of dependenciesOf(available, form).reverse())
      visit(chosen.get(availableKey(needed)) ?? needed, item.name, depth + 1);
    planned.push(toPlanned({ available, form, neededBy }, existing.get(key), owners, inventory));
  };
  for (const available of wanted) visit(available, null, 0);
  assertDistinct(planned, inventory.installed);
  return planned;
}

function dependenciesOf({ source, item }: AvailableItem, { references }: SourceForm): AvailableItem[] {
  return references.flatMap(({ kind, name }) => {
    const sibling = source
      .siblingsOf(item)
      .byName.get(name)
      ?.find((one) => one.kind === kind);
    return sibling === undefined || sibling === item ? [] : [{ source, item: sibling }];
  });
}

function toPlanned(
  { available, form, neededBy }: Visit,
  existing: InstalledItem | undefined,
  // Keys of the agents that have a link, by its path in lower case.
  owners: Map<string, string>,
  { environment: { paths, homes } }: Inventory,
): PlannedItem {
  const { source, item } = available;
  const effective = availableName(available);
  const store = join(paths.store, item.kind, effective);
  const key = availableKey(available);
  // INS-85: many plugins have an agent of the same name.
  const isTaken = (path: string): boolean =>
    (owners.get(path.toLowerCase()) ?? key) !== key || (isOccupied(path) && readLink(path) === undefined);
  const at = item.link ?? linkPath(item, effective);
  const target = item.file ? join(store, `${item.name}.md`) : store;
  const toLink = (home: string, inHome: string): Link => {
    const path = join(home, inHome);
    const isSecond = item.kind === 'agent' && item.plugin !== null && isTaken(path);
    return { path: isSecond ? join(home, `agents/${effective}.md`) : path, target };
  };
  const links = at === null ? [] : homes.map((home) => toLink(home, at));
  if (item.kind === 'agent') for (const { path } of links) owners.set(path.toLowerCase(), key);
  const planned = { key, source, item, form, effective, store, existing, links, neededBy };
  return { ...planned, change: changeOf(planned, paths.objects) };
}

// On many file systems, names that differ only in case are one name (INS-29).
function nameKey({ kind }: { readonly kind: ItemKind }, effective: string): string {
  return `${kind}\n${toLinkName(kind, effective).toLowerCase()}`;
}

function assertDistinct(planned: readonly PlannedItem[], { items }: Installed): void {
  const owners = new Map<string, string>();
  const plannedKeys = new Set(planned.map(({ key }) => key));
  for (const item of items) if (!plannedKeys.has(itemKey(item))) owners.set(nameKey(item, item.effective), item.source);
  for (const { item, effective, source } of planned) {
    const name = nameKey(item, effective);
    const owner = owners.get(name);
    if (owner !== undefined) {
      throw new ToolError(
        'conflict',
        `the ${item.kind} ${effective} of ${source.record.id} has the same name as one of ${owner}`,
        { hint: 'add one of the two sources with its own namespace: wield add … --namespace NAME' },
      );
    }
    owners.set(name, source.record.id);
  }
}

/** `pending`: the item itself is unchanged, but its expanded references changed (INS-28). */
type ChangeKind = 'new' | 'update' | 'rename' | 'pending' | 'unchanged';

export interface PlannedItem extends AvailableItem {
  readonly key: string;
  readonly effective: string;
  readonly store: string;
  readonly form: SourceForm;
  readonly existing: InstalledItem | undefined;
  readonly change: ChangeKind;
  readonly links: readonly Link[];
  /** The item that depends on it; null if it was requested. */
  readonly neededBy: string | null;
}

/** Whether hooks of the source created other files than those that were installed; they must have run. */
export function isRebuilt(
  { contentHash }: InstalledItem,
  { form, source }: Pick<PlannedItem, 'form' | 'source'>,
): boolean {
  return source.record.hooks === 'ran' && contentHash !== form.contentHash;
}

function changeOf(
  { item, form, source, existing, effective, links }: Omit<PlannedItem, 'change'>,
  objects: string,
): ChangeKind {
  if (existing === undefined) return 'new';
  if (existing.effective !== effective) return 'rename';
  const { hooks } = existing;
  const unchanged =
    existing.sourceHash === form.hash &&
    !isRebuilt(existing, { form, source }) &&
    existing.bin === item.bin &&
    hooks.build === item.build &&
    hooks.install === item.install &&
    hooks.uninstall === item.uninstall &&
    existing.build !== 'skipped' &&
    existing.links.join('\n') === links.map(({ path }) => path).join('\n') &&
    existsSync(join(objects, existing.object));
  if (!unchanged) return 'update';
  return sameReferences(existing, form) ? 'unchanged' : 'pending';
}

function sameReferences(existing: InstalledItem, { references }: SourceForm): boolean {
  const toText = (list: InstalledItem['references']): string =>
    list
      .map(({ kind, name, value }) => JSON.stringify([kind, name, value]))
      .sort()
      .join('\n');
  return toText(existing.references) === toText(references);
}

export interface RefusedItem {
  readonly kind: ItemKind;
  readonly effective: string;
  readonly source: string;
  readonly error: ToolError;
}

const REFUSALS: readonly string[] = ['invalid_definition', 'path_escape', 'bad_reference'];

/** Plans all items at once; if that fails, each on its own to find the faulty ones. */
export function planMany(
  wanted: readonly AvailableItem[],
  inventory: Inventory,
): { readonly items: readonly PlannedItem[]; readonly refused: readonly RefusedItem[] } {
  const refused: RefusedItem[] = [];
  const isRefusal = (error: unknown): error is ToolError => isToolError(error) && REFUSALS.includes(error.code);
  try {
    return { items: planItems(wanted, inventory), refused };
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const usable = wanted.filter((one) => {
    try {
      return planItems([one], inventory).length > 0;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refused.push({ kind: one.item.kind, effective: availableName(one), source: one.source.record.id, error });
      return false;
    }
  });
  return { items: planItems(usable, inventory), refused };
}
