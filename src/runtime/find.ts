// Finds the tool of a call, and the rules that apply to it.

import { readSettled } from '../catalog/catalog.js';
import { isToolError } from '../core/error.js';
import type { Skill } from '../core/skill.js';
import type { FunctionAction, Tool } from '../core/tool.js';
import { findDenial } from '../policy/decide.js';
import { type Rules, toRules } from '../policy/rules.js';
import { newNameOf } from '../policy/view.js';
import { findOffer } from './offers.js';
import type { CallParts } from './parts.js';
import { type CallBase, joinNarrowing } from './scope.js';

const MAX_ATTEMPTS = 4;

/** Finds a tool by reference. Throws `not_found`, `ambiguous` or `invalid_ref`. */
export async function findTool(
  parts: Pick<CallParts, 'catalog' | 'executors' | 'cascade'>,
  ref: string,
  base: CallBase,
): Promise<Tool> {
  const { catalog, executors, cascade } = parts;
  const { caller, snapshot, options, nesting } = base;
  const { offer = [], found, as } = options;
  if (nesting.tool !== undefined) return executors.withDigest(nesting.tool);
  if (as !== undefined) return findOffer(parts, as, ref, snapshot);
  const { within, named, narrowing } = nesting;
  const isModel = isOfModel(base);
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
  return await readSettled(catalog, snapshot, () => retryChanged(find), target);
}

/** Whether a model calls, by names that models know. The front of a fleet has found the tool of a dispatched call by them. */
export function isOfModel({ caller, options }: Pick<CallBase, 'caller' | 'options'>): boolean {
  return caller.kind === 'model' && options.dispatched === undefined;
}

/** Returns what the decision about a call of a tool depends on. */
export function rulesFor(
  { consents, cascade }: Pick<CallParts, 'consents' | 'cascade'>,
  tool: Tool,
  { caller, snapshot, options, nesting }: CallBase,
): Rules {
  const narrowing = joinNarrowing(nesting.narrowing, cascade.narrowingOf(tool, snapshot));
  const { trust } = options;
  return toRules(snapshot, { ...consents.check(tool, caller), within: nesting.within, narrowing, trust });
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

/** Returns the function by which the calls of a built-in tool go on as those of another tool. */
export function forwardOf({ origin, action }: Tool): FunctionAction['forward'] {
  return origin.builtin === true && action.kind === 'function' ? action.forward : undefined;
}
