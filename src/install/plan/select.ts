// Selects items by name, among those of the sources or those that are installed.

import { ToolError } from '../../core/error.js';
import { nearest, quoteOutside } from '../../core/text.js';
import type { Installed, InstalledItem } from '../manifest/installed.js';
import { type ItemKind, isItemKind } from '../manifest/item-name.js';
import { type AvailableItem, availableName } from '../sources/load.js';

/** Accepts effective and bare names, optionally with a kind: `name`, `prefix:name`, `kind:name`. */
export function selectAvailable(refs: readonly string[], items: readonly AvailableItem[]): AvailableItem[] {
  const named = items.map((value) => {
    const { kind, name } = value.item;
    return { value, kind, name, effective: availableName(value), source: value.source.record.id };
  });
  return refs.map((ref) => selectOne(ref, named));
}

/** Selects among installed items by the same names. */
export function selectInstalled(refs: readonly string[], { items }: Installed): InstalledItem[] {
  const named = items.map((value) => ({ ...value, value }));
  return refs.map((ref) => selectOne(ref, named));
}

interface Named<T> {
  readonly value: T;
  readonly kind: ItemKind;
  readonly name: string;
  readonly effective: string;
  readonly source: string;
}

function selectOne<T>(ref: string, items: readonly Named<T>[]): T {
  const colon = ref.indexOf(':');
  const kind = colon === -1 ? undefined : ref.slice(0, colon);
  const rest = ref.slice(colon + 1);
  const ofKind = isItemKind(kind) ? items.filter((item) => item.kind === kind) : [];
  // Effective names before bare names; the whole reference before `kind:name`.
  const groups = [
    items.filter(({ effective }) => effective === ref),
    ofKind.filter(({ effective }) => effective === rest),
    items.filter(({ name }) => name === ref),
    ofKind.filter(({ name }) => name === rest),
  ];
  const matching = groups.find((group) => group.length > 0) ?? [];
  if (matching.length === 1) return matching[0]!.value;
  if (matching.length > 1) {
    const candidates = matching.map((item) => `${item.kind}:${item.effective} of ${item.source}`);
    throw new ToolError('ambiguous', `"${quoteOutside(ref, 80)}" matches ${candidates.join(', ')}`, {
      hint: 'write the kind before the name, as in skill:name, or pass --source',
      data: { candidates },
    });
  }
  const close = nearest(
    ref,
    items.map(({ effective }) => effective),
  );
  throw new ToolError('not_found', `item "${quoteOutside(ref, 80)}" not found`, {
    hint:
      close.length > 0 ? `did you mean ${close.join(', ')}?` : 'wield list --available shows all items of the sources',
    data: { nearest: close },
  });
}
