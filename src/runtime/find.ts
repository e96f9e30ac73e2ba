// Finds the tool of a call, and the rules that apply to it.

import { readSettled } from '../catalog/catalog.js';
import type { Caller } from '../core/caller.js';
import { CODE } from '../core/caller.js';
import { isToolError } from '../core/error.js';
import type { Narrowing, Skill } from '../core/skill.js';
import type { Tool } from '../core/tool.js';
import type { CallOptions } from '../core/toolbox.js';
import { findDenial } from '../policy/decide.js';
import { type Rules, toRules } from '../policy/rules.js';
import { newNameOf } from '../policy/view.js';
import { type CallParts, type CallScope, OUTERMOST } from './parts.js';

const MAX_ATTEMPTS = 4;

/** Finds a tool by reference. Throws `not_found`, `ambiguous` or `invalid_ref`. */
export function findTool(
  parts: Pick<CallParts, 'catalog' | 'executors' | 'cascade'>,
  ref: string,
  { snapshot, options, nesting = OUTERMOST }: CallScope,
): Tool | Promise<Tool> {
  const { catalog, executors, cascade } = parts;
  const { caller = CODE, offer = [], found, as } = options;
  if (nesting.tool !== undefined) return executors.withDigest(nesting.tool);
  if (as !== undefined) return import('./offers.js').then(({ findOffer }) => findOffer(parts, as, ref, snapshot));
  const { within, named, narrowing } = nesting;
  const isModel = isOfModel(options);
  if (found !== undefined && !isModel) return found;
  const { view } = snapshot.settings;
  // RES-48: a model knows a renamed tool by its new name only.
  const isAliased = isModel && view.aliases.size > 0;
  const target = isAliased ? (view.originals.get(ref) ?? ref) : ref;
  const reach = {
    snapshot,
    shownAs: target === ref ? undefined : ref,
    visibleOnly: isModel && named === 'by-caller',
    apps: caller.apps === true,
    offeredOnly: isModel,
    offer,
    // Called for hints only (POL-8).
    mayName: (tool: Tool, skills: readonly Skill[]) => {
      if (isAliased && newNameOf(tool, view) !== undefined) return false;
      const above = cascade.narrowingAbove(tool, skills, snapshot);
      const rules = toRules(snapshot, { within, narrowing: joinNarrowing(narrowing, above) });
      return findDenial(tool, caller, rules) === undefined;
    },
  };
  const find = (): Tool => {
    const tool = catalog.find(target, reach);
    const isForeign = isAliased && reach.visibleOnly && ref !== (newNameOf(tool, view) ?? ref);
    return executors.withDigest(isForeign ? catalog.find(ref, { ...reach, namedOnly: true }) : tool);
  };
  return readSettled(catalog, snapshot, () => retryChanged(find), target);
}

/** Whether a model calls, by names that models know. The front of a fleet has found the tool of a dispatched call by them. */
export function isOfModel({ caller, dispatched }: Pick<CallOptions, 'caller' | 'dispatched'>): boolean {
  return caller?.kind === 'model' && dispatched === undefined;
}

/** The caller of what a tool names, which a model may have chosen: tools for apps only do not exist for it (RSC-20). */
export function withoutApps(caller: Caller): Caller {
  return caller.apps === true ? { ...caller, apps: false } : caller;
}

/** Returns what the decision about a call of a tool depends on. */
export function rulesFor(
  { consents, cascade }: Pick<CallParts, 'consents' | 'cascade'>,
  tool: Tool,
  { snapshot, options, nesting = OUTERMOST }: CallScope,
): Rules {
  const { caller = CODE, trust } = options;
  const { within } = nesting;
  const narrowing = joinNarrowing(nesting.narrowing, cascade.narrowingOf(tool, snapshot));
  return toRules(snapshot, { ...consents.check(tool, caller), within, narrowing, trust });
}

/** Joins what the calling tools and a tool itself inherit, each skill once. */
export function joinNarrowing(outer: readonly Narrowing[], own: readonly Narrowing[]): readonly Narrowing[] {
  if (outer.length === 0) return own;
  return own.length === 0 ? outer : [...new Set([...outer, ...own])];
}

// A file that is being saved can change between being parsed and being hashed.
function retryChanged<T>(find: () => T): T {
  for (let attempt = 1; ; attempt++) {
    try {
      return find();
    } catch (error) {
      if (!isToolError(error) || error.code !== 'integrity' || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}
