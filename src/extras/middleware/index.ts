// The built-in middleware, and the middleware of a toolbox: from code and from the configuration.

import { canonicalJson } from '../../core/json.js';
import type { MiddlewareSettings } from '../../core/middleware-settings.js';
import type { Narrowing } from '../../core/skill.js';
import type { Middleware, MiddlewareChain, MiddlewareFunction } from '../../runtime/middleware.js';
import { cache } from './cache.js';
import { runChain } from './chain.js';
import { rateLimit } from './rate-limit.js';
import { retry } from './retry.js';
import { createFindSteps, toMiddleware } from './steps.js';

export { cache, rateLimit, retry };

/** Creates the middleware of a toolbox: of the program, outermost, of the skills that govern a tool, of the configuration. */
export function createMiddleware(given: readonly (Middleware | MiddlewareFunction)[]): MiddlewareChain {
  const own = given.map(toMiddleware);
  const configured = createConfiguredMiddleware();
  const ofSkills = createSkillMiddleware();
  const findSteps = createFindSteps();
  const joined = new WeakMap<
    readonly Narrowing[],
    { readonly of: readonly Middleware[]; readonly all: readonly Middleware[] }
  >();
  return {
    own,
    run(options) {
      const { snapshot, narrowing, plan, depth } = options;
      const now = configured(snapshot.settings.middleware);
      let known = joined.get(narrowing);
      if (known?.of !== now) {
        known = { of: now, all: [...own, ...ofSkills(narrowing), ...now] };
        joined.set(narrowing, known);
      }
      const steps = findSteps(known.all, plan, depth > 0);
      return steps.list.length === 0 ? undefined : runChain(steps, options);
    },
  };
}

// Each skill has one state for all tools that it governs, and keeps it while its entries are unchanged (RES-44).
function createSkillMiddleware(): (narrowing: readonly Narrowing[]) => readonly Middleware[] {
  const bySkill = new Map<string, ReturnType<typeof createConfiguredMiddleware>>();
  return (narrowing) =>
    narrowing.flatMap(({ file, middleware }) => {
      if (middleware === undefined) return [];
      const configured = bySkill.get(file) ?? createConfiguredMiddleware();
      bySkill.set(file, configured);
      return configured(middleware);
    });
}

// An unchanged entry keeps its state, so that editing another line does not reset a budget or a cache.
function createConfiguredMiddleware(): (entries: readonly MiddlewareSettings[]) => readonly Middleware[] {
  let made = new Map<string, Middleware>();
  let known: { readonly of: readonly MiddlewareSettings[]; readonly list: readonly Middleware[] } | undefined;
  return (entries) => {
    if (known?.of === entries) return known.list;
    const kept = new Map<string, Middleware>();
    for (const entry of entries) {
      // Equal entries have separate state.
      let key = canonicalJson(entry);
      while (kept.has(key)) key += ' again';
      kept.set(key, made.get(key) ?? create(entry));
    }
    made = kept;
    known = { of: entries, list: [...kept.values()] };
    return known.list;
  };
}

function create({ use, options }: MiddlewareSettings): Middleware {
  if (use === 'retry') return retry(options);
  return use === 'cache' ? cache(options) : rateLimit(options);
}
