// The size limits of a provider's strict mode, for one schema and for all schemas of a request.

import { isRecord } from '../../core/json.js';
import type { StrictBudget, StrictRules } from './profile.js';
import { eachNode } from './property-names.js';
import type { Node } from './sanitize.js';

/** Whether a schema is within the limits of a provider's strict mode. */
export function isWithinLimits(schema: Node, rules: StrictRules): boolean {
  let properties = 0;
  let choices = 0;
  let characters = 0;
  let deepest = 0;
  let distinct = true;
  eachNode(schema, (node, depth) => {
    if (Array.isArray(node.anyOf)) distinct &&= haveDistinctFirstKeys(node.anyOf as Node[]);
    deepest = Math.max(deepest, depth);
    if (isRecord(node.properties)) {
      for (const name of Object.keys(node.properties)) {
        properties++;
        characters += name.length;
      }
    }
    if (Array.isArray(node.enum)) {
      choices += node.enum.length;
      characters += node.enum.reduce((sum: number, value) => sum + String(value).length, 0);
    }
  });
  return (
    (distinct || !rules.distinctFirstKeys) &&
    deepest <= rules.maxDepth &&
    properties <= rules.maxProperties &&
    choices <= rules.maxEnumValues &&
    characters <= rules.maxNameCharacters
  );
}

function haveDistinctFirstKeys(alternatives: readonly Node[]): boolean {
  const first = alternatives.flatMap(({ properties }) =>
    isRecord(properties) ? Object.keys(properties).slice(0, 1) : [],
  );
  return new Set(first).size === first.length;
}

/** Returns a function that accepts schemas, first come first served, as long as they fit into the budget. */
export function createStrictBudget(budget: StrictBudget | undefined) {
  let tools = 0;
  let optional = 0;
  let unions = 0;
  return ({ schema, strict }: { readonly schema: object; readonly strict: boolean }): boolean => {
    if (!strict || budget === undefined) return true;
    const own = { optional: 0, unions: 0 };
    eachNode(schema as Node, (node) => {
      if (Array.isArray(node.type) || node.anyOf !== undefined) own.unions++;
      if (!isRecord(node.properties)) return;
      const required = (node.required as readonly string[] | undefined) ?? [];
      own.optional += Object.keys(node.properties).length - required.length;
    });
    const fits =
      tools < budget.tools && optional + own.optional <= budget.optional && unions + own.unions <= budget.unions;
    if (fits) {
      tools++;
      optional += own.optional;
      unions += own.unions;
    }
    return fits;
  };
}
