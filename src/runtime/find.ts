// Finds the tool of a call, and the rules that apply to it.

import { readSettled } from '../catalog/catalog.js';
import type { Caller } from '../core/caller.js';
import { CODE } from '../core/caller.js';
import { isToolError } from '../core/error.js';
import type { Narrowing, Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { CallOptions } from '../core/toolbox.js';
import { findDenial, type Rules } from '../policy/decide.js';
import { toRuleLists } from '../policy/nested.js';
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
  const { policy, settings } = snapshot;
  const { view } = settings;
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
      const inherited = toRuleLists(joinNarrowing(narrowing, above));
      return findDenial(tool, caller, { policy, within, inherited }) === undefined;
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

const UNPINNED: Pick<Rules, 'changes' | 'altered'> = {};

/** Returns what the decision about a call of a tool depends on. */
export function rulesFor(
  { consents, cascade }: Pick<CallParts, 'consents' | 'cascade'>,
  tool: Tool,
  { snapshot, options, nesting = OUTERMOST }: CallScope,
): Rules {
  const { caller = CODE, trust = false } = options;
  const { owner } = tool.origin;
  // Only tools of packages and servers have pins (POL-21).
  const { changes, altered } = owner === 'package' || owner === 'upstream' ? consents.check(tool, caller) : UNPINNED;
  const narrowing = joinNarrowing(nesting.narrowing, cascade.narrowingOf(tool, snapshot));
  const inherited = narrowing.length === 0 ? undefined : toRuleLists(narrowing);
  return new CallRules({ snapshot, trust, within: nesting.within, inherited, changes, altered });
}

/** Joins what the calling tools and a tool itself inherit, each skill once. */
export function joinNarrowing(outer: readonly Narrowing[], own: readonly Narrowing[]): readonly Narrowing[] {
  if (outer.length === 0) return own;
  return own.length === 0 ? outer : [...new Set([...outer, ...own])];
}

// A class, because few calls need to know the trust, and a getter in an object literal makes a call 10 % slower.
class CallRules implements Rules {
  readonly policy: Rules['policy'];
  readonly within: Rules['within'];
  readonly inherited: Rules['inherited'];
  readonly changes: Rules['changes'];
  readonly altered: Rules['altered'];
  readonly #trust: boolean;
  readonly #snapshot: Snapshot;

  constructor({ snapshot, trust, within, inherited, changes, altered }: CallRulesOptions) {
    this.policy = snapshot.policy;
    this.within = within;
    this.inherited = inherited;
    this.changes = changes;
    this.altered = altered;
    this.#trust = trust;
    this.#snapshot = snapshot;
  }

  get trusted(): boolean {
    return this.#trust || this.#snapshot.trusted;
  }
}

interface CallRulesOptions extends Pick<Rules, 'within' | 'inherited' | 'changes' | 'altered'> {
  readonly snapshot: Snapshot;
  readonly trust: boolean;
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
