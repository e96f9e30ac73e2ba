// Compares an item of a source with the installed one.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Link } from '../directory.js';
import type { InstalledItem } from '../manifest/installed.js';
import { linkPath } from '../manifest/item-name.js';
import type { AvailableItem } from '../sources/load.js';
import type { SourceItem } from '../sources/source-item.js';
import type { SourceForm } from '../tokens/source-form.js';

/** `pending`: the item itself is unchanged, but its expanded references changed (INS-28). */
export type ChangeKind = 'new' | 'update' | 'rename' | 'pending' | 'unchanged';

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

export function linkOf(home: string, item: SourceItem, effective: string, store: string): Link[] {
  const at = item.link ?? linkPath(item, effective);
  return at === null ? [] : [{ path: join(home, at), target: item.file ? join(store, `${item.name}.md`) : store }];
}

/** Whether hooks of the source created other files than those that were installed; they must have run. */
export function isRebuilt(
  { contentHash }: InstalledItem,
  { form, source }: Pick<PlannedItem, 'form' | 'source'>,
): boolean {
  return contentHash !== undefined && source.record.hooks === 'ran' && contentHash !== form.contentHash;
}

export function changeOf(
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
