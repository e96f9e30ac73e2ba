// Plans many items, of which one that cannot be installed does not prevent the others (INS-42).

import { isToolError, type ToolError } from '../../core/error.js';
import type { Inventory } from '../inventory.js';
import type { ItemKind } from '../manifest/item-name.js';
import { type AvailableItem, availableName } from '../sources/load.js';
import type { PlannedItem } from './change-of.js';
import { planItems } from './plan-items.js';

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
