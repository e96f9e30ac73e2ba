// The limits that a provider sets for all strict schemas of one request.

import { isRecord } from '../../core/json.js';
import type { Lowering } from './lower.js';
import type { StrictBudget } from './profile.js';
import { eachNode } from './property-names.js';

/** Returns a function that accepts schemas, first come first served, as long as they fit into the budget. */
export function createStrictBudget(budget: StrictBudget | undefined): (lowering: Lowering) => boolean {
  let tools = 0;
  let optional = 0;
  let unions = 0;
  return ({ schema, strict }) => {
    if (!strict || budget === undefined) return true;
    const own = { optional: 0, unions: 0 };
    eachNode(schema as Record<string, unknown>, (node) => {
      if (Array.isArray(node.type) || node.anyOf !== undefined) own.unions++;
      if (!isRecord(node.properties)) return;
      const required = (node.required as readonly string[] | undefined) ?? [];
      own.optional += Object.keys(node.properties).length - required.length;
    });
    const fits =
      tools < budget.tools &&
      optional + own.optional <= budget.optional &&
      unions + own.unions <= budget.unions;
    if (fits) {
      tools++;
      optional += own.optional;
      unions += own.unions;
    }
    return fits;
  };
}
