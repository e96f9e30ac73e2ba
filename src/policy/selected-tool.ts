// What selectors match of a tool: its names, its tags and its labels. Pure.

import { memoize } from '../core/memoize.js';
import type { Policy } from '../core/rule.js';
import { matchSelectorTool, type SelectedTool } from '../core/selector-match.js';
import type { Tool } from '../core/tool.js';

export interface Selected {
  /** For rules that restrict. */
  readonly loose: SelectedTool;
  /** For rules that allow. */
  readonly strict: SelectedTool;
}

/** Returns what selectors match of a tool. Labels are tags for rules that restrict: no label allows anything (FLW-4). */
export function toSelected(tool: Tool, policy: Policy): Selected {
  const { loose, strict } = toNames(tool);
  const labels = labelsOf(tool, policy);
  return { strict, loose: labels.length === 0 ? loose : { ...loose, tags: [...(loose.tags ?? []), ...labels] } };
}

// A tool cannot claim reserved tags (RES-31). `#destructive` also matches tools with the hint. Rules that restrict match the
// other names of an upstream tool or resource too (UPS-24, RSC-1).
function toNames({ name, traits, origin }: Tool): Selected {
  const builtin = origin.builtin === true;
  const tags = builtin ? traits.tags : traits.tags.filter((tag) => !tag.startsWith('meta-'));
  const strict = { name, tags: traits.destructive === true ? [...tags, 'destructive'] : tags, builtin };
  const { otherName, spellings = [] } = origin;
  if (otherName === undefined && spellings.length === 0) return { strict, loose: strict };
  return { strict, loose: { ...strict, otherNames: otherName === undefined ? spellings : [otherName, ...spellings] } };
}

const NONE: readonly string[] = Object.freeze([]);

/** Returns the labels of a tool, sorted. Every file of the configuration can add some, and none can remove any (FLW-2). */
export function labelsOf(tool: Tool, policy: Policy): readonly string[] {
  return mayHaveLabels(tool, policy) ? labelsIn(policy)(tool) : NONE;
}

const labelsIn = memoize((policy: Policy) => memoize((tool: Tool) => findLabels(tool, policy)));

// Most tools have none, and a listing asks for each.
function mayHaveLabels({ traits: { labels = [], openWorld } }: Tool, { labels: configured = [] }: Policy): boolean {
  return labels.length > 0 || openWorld === true || configured.length > 0;
}

function findLabels(tool: Tool, { labels: configured = [] }: Policy): readonly string[] {
  const { labels: own = [], openWorld, readOnly } = tool.traits;
  const found = new Set(own);
  // What comes from beyond this machine was written by anyone, and a call that changes something there sends its input.
  if (openWorld === true) found.add('untrusted');
  if (openWorld === true && readOnly !== true) found.add('egress');
  const { loose } = toNames(tool);
  for (const { label, rules } of configured)
    if (rules.some(({ selector }) => matchSelectorTool(selector, loose))) found.add(label);
  return found.size === 0 ? NONE : Object.freeze([...found].sort());
}
