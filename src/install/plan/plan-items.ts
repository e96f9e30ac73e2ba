// Plans which items to install: adds their dependencies, and compares each with the installed state.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Inventory } from '../inventory.js';
import type { Installed, InstalledItem } from '../manifest/installed.js';
import { itemKey } from '../manifest/item-name.js';
import { type AvailableItem, availableKey, availableName } from '../sources/load.js';
import { readSourceForm, type SourceForm } from '../tokens/source-form.js';
import { assertSafeItem } from '../tokens/targets.js';
import { changeOf, linkOf, type PlannedItem } from './change-of.js';

interface Visit {
  readonly available: AvailableItem;
  readonly form: SourceForm;
  readonly neededBy: string | null;
  /** Dependencies that are not visited yet. */
  readonly left: AvailableItem[];
}

/** Returns the items and their dependencies, dependencies first. Throws `bad_reference` or `conflict`. */
export function planItems(wanted: readonly AvailableItem[], inventory: Inventory): PlannedItem[] {
  const planned: PlannedItem[] = [];
  const visits = new Map<string, Visit>();
  const existing = new Map(inventory.installed.items.map((item) => [itemKey(item), item]));
  // A lock names items of several commits: what another one needs is the one that is wanted (INS-30).
  const chosen = new Map(wanted.map((available) => [availableKey(available), available]));
  const visit = (available: AvailableItem, neededBy: string | null): string | undefined => {
    const key = availableKey(available);
    if (visits.has(key)) return undefined;
    assertSafeItem(available.item);
    const form = readSourceForm(available.item, available.source, inventory.rendering);
    visits.set(key, { available, form, neededBy, left: dependenciesOf(available, form) });
    return key;
  };
  // An explicit stack, because dependency chains can be thousands of items long.
  for (const available of wanted) {
    const first = visit(available, null);
    const stack = first === undefined ? [] : [first];
    while (stack.length > 0) {
      const key = stack[stack.length - 1]!;
      const current = visits.get(key)!;
      const next = current.left.pop();
      if (next === undefined) {
        planned.push(toPlanned(current, existing.get(key), inventory));
        stack.pop();
      } else {
        const inner = visit(chosen.get(availableKey(next)) ?? next, current.available.item.name);
        if (inner !== undefined) stack.push(inner);
      }
    }
  }
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
  { environment: { paths, homes } }: Inventory,
): PlannedItem {
  const { source, item } = available;
  const effective = availableName(available);
  const store = join(paths.store, item.kind, effective);
  const links = homes.flatMap((home) => linkOf(home, item, effective, store));
  const key = availableKey(available);
  const planned = { key, source, item, form, effective, store, existing, links, neededBy };
  return { ...planned, change: changeOf(planned, paths.objects) };
}

// On many file systems, names that differ only in case are one name (INS-29).
function nameKey({ kind }: { readonly kind: string }, effective: string): string {
  return `${kind}\n${effective.toLowerCase()}`;
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
