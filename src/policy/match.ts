// Matches selectors of rules with a call: its tool, and its input as it was given and as it will be used.

import { isRecord, type Json } from '../core/json.js';
import type { CommandPlan, Plan, Slot } from '../core/plan.js';
import type { Selector } from '../core/selector.js';
import { createMatching, isDue, matchSelector, matchSelectorTool } from '../core/selector-match.js';
import type { Tool } from '../core/tool.js';
import type { Rules } from './rules.js';
import { toSelected } from './selected-tool.js';

/** A plan, or the tool and input of a call that cannot be planned here. */
export type Judged = Pick<Plan, 'tool' | 'input'> & { readonly command?: CommandPlan };

/** Whether a selector matches; `every` if the match would allow the call (POL-4). */
export type Matches = (selector: Selector, quantifier?: 'any' | 'every') => boolean;

/** The moment of a decision, and what gives tools labels. */
type MatchedRules = Pick<Rules, 'policy' | 'user' | 'now' | 'labels'>;

/**
 * Matches any call of a tool: a deny rule with argument patterns does not deny every call, and one that depends on what a
 * session has read neither, so that a listing stays the same (FLW-7).
 */
export function matchAnyCall(tool: Tool, rules: MatchedRules): Matches {
  const { loose, strict } = toSelected(tool, rules.policy);
  const moment = { ...rules, labels: [] };
  return (selector, quantifier = selector.policy === 'allow' ? 'every' : 'any') =>
    !(selector.arguments.length > 0 && selector.policy === 'deny') &&
    matchSelectorTool(selector, quantifier === 'any' ? loose : strict) &&
    isDue(selector, moment);
}

export function matchCall(plan: Judged, moment: MatchedRules): Matches {
  const { loose, strict } = toSelected(plan.tool, moment.policy);
  let inputs: Inputs | undefined;
  const matching = createMatching(moment);
  return (selector, quantifier = selector.policy === 'allow' ? 'every' : 'any') => {
    const selected = quantifier === 'any' ? loose : strict;
    if (selector.arguments.length === 0)
      return matchSelectorTool(selector, selected, matching) && isDue(selector, moment);
    inputs ??= toInputs(plan);
    const { canonical, given } = inputs;
    // What a value was before it was resolved or split can only be a reason to allow less.
    return (quantifier === 'any' ? [...canonical, ...given] : canonical).some((input) =>
      matchSelector(selector, selected, input, quantifier, matching),
    );
  };
}

/** Spellings of an input: with paths in canonical form, absolute or relative to the directory; as given, and split. */
interface Inputs {
  readonly canonical: readonly unknown[];
  readonly given: readonly unknown[];
}

function toInputs(plan: Judged): Inputs {
  const canonical = [effectiveInput(plan, ({ value }) => value)];
  const { slots = [], base = '' } = plan.command ?? {};
  if (slots.length === 0) return { canonical, given: [] };
  if (slots.some(({ given }) => given !== undefined))
    canonical.push(effectiveInput(plan, (slot) => (slot.given === undefined ? slot.value : below(slot.value, base))));
  const words = ({ mapping, given, value }: Slot): Json | undefined =>
    mapping.split ? [value].flat().flatMap((text) => String(text).split(/\s+/)) : (given ?? value);
  return { canonical, given: [plan.input, effectiveInput(plan, words)] };
}

function below(value: Json | undefined, base: string): Json | undefined {
  if (Array.isArray(value)) return value.map((entry) => below(entry, base) as Json);
  if (typeof value !== 'string' || !value.startsWith(`${base}/`)) return value === base ? '.' : value;
  return value.slice(base.length + 1);
}

// POL-4: adds defaults of the schema, and values as the declaration of a command changed them.
function effectiveInput({ tool, input, command }: Judged, read: (slot: Slot) => Json | undefined): unknown {
  if (!isRecord(input)) return input;
  const values = new Map(Object.entries(input));
  for (const slot of command?.slots ?? []) {
    const value = read(slot);
    if (value !== undefined) values.set(slot.mapping.param, value);
  }
  const { properties } = tool.input.json;
  for (const [name, schema] of isRecord(properties) ? Object.entries(properties) : [])
    if (!values.has(name) && isRecord(schema) && schema.default !== undefined) values.set(name, schema.default);
  return Object.fromEntries(values);
}
