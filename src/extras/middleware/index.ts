// The middleware of a toolbox: from code, from the skills that govern a tool and from the configuration.

import { ToolError } from '../../core/error.js';
import { canonicalJson } from '../../core/json.js';
import { type MiddlewareSettings, parseFor } from '../../core/middleware-settings.js';
import type { Plan } from '../../core/plan.js';
import type { Selector } from '../../core/selector.js';
import { matchSelector } from '../../core/selector-match.js';
import type { Middleware, MiddlewareChain, MiddlewareFunction } from '../../runtime/middleware.js';
import { cache, rateLimit, retry } from './built-in.js';
import { runChain, type Step } from './chain.js';

export { cache, rateLimit, retry };

interface Entry extends Middleware {
  readonly selectors: readonly Selector[] | undefined;
}

/** Creates the middleware of a toolbox: of the program, outermost, of the skills that govern a tool, of the configuration. */
export function createMiddleware(given: readonly (Middleware | MiddlewareFunction)[]): MiddlewareChain {
  const own = given.map(toEntry);
  const configured = createConfigured();
  // Each skill has one state for all tools that it governs (RES-44).
  const bySkill = new Map<string, ReturnType<typeof createConfigured>>();
  const ofSkill = (file: string, settings: readonly MiddlewareSettings[]): readonly Entry[] => {
    const known = bySkill.get(file) ?? createConfigured();
    bySkill.set(file, known);
    return known(settings);
  };
  return {
    own,
    of({ snapshot, narrowing, plan, depth }) {
      const all = [
        ...own,
        ...narrowing.flatMap(({ file, middleware }) => (middleware === undefined ? [] : ofSkill(file, middleware))),
        ...configured(snapshot.settings.middleware),
      ];
      const used = all.filter((entry) => isFor(entry, plan) && (entry.hook !== '$invoke' || depth > 0));
      if (used.length === 0) return undefined;
      const streams = used.every((entry) => entry.streams === true);
      return (options) => runChain({ steps: toSteps(used, plan.tool.name), streams }, options);
    },
  };
}

const HOOKS: readonly unknown[] = [undefined, '$next', '$invoke'];

// Validates middleware; a bare function applies to every tool. Throws `invalid_definition`.
function toEntry(given: Middleware | MiddlewareFunction, at: number): Entry {
  const entry = typeof given === 'function' ? { name: given.name, run: given } : given;
  const name = entry?.name || `middleware ${at + 1}`;
  if (typeof entry?.run !== 'function' || !HOOKS.includes(entry.hook)) {
    const what = typeof entry?.run === 'function' ? 'has an unknown hook' : 'has no function "run"';
    throw new ToolError('invalid_definition', `${name} ${what}`, {
      hint: 'give (call, next) => next(), or { name, run, for?, hook?: "$next" | "$invoke" }',
    });
  }
  return { ...entry, name, selectors: entry.for === undefined ? undefined : parseFor(entry.for) };
}

// An unchanged entry keeps its state, so that editing another line does not reset a budget or a cache.
function createConfigured(): (settings: readonly MiddlewareSettings[]) => readonly Entry[] {
  let entries = new Map<string, Entry>();
  let settings: readonly MiddlewareSettings[] | undefined;
  return (now) => {
    if (settings !== now) {
      const kept = new Map<string, Entry>();
      for (const [at, one] of now.entries()) {
        // Equal entries have separate state.
        let key = canonicalJson(one);
        while (kept.has(key)) key += ' again';
        kept.set(key, entries.get(key) ?? toEntry(create(one), at));
      }
      entries = kept;
      settings = now;
    }
    return [...entries.values()];
  };
}

function create({ use, options }: MiddlewareSettings): Middleware {
  if (use === 'retry') return retry(options);
  return use === 'cache' ? cache(options) : rateLimit(options);
}

function isFor({ selectors }: Entry, { tool: { name, traits }, input }: Plan): boolean {
  return selectors?.some((selector) => matchSelector(selector, { name, tags: traits.tags }, input)) ?? true;
}

// Hooks come before each entry that they wrap, and before the tool (RUN-9).
function toSteps(entries: readonly Entry[], tool: string): Step[] {
  const toStep = ({ name, run, hook }: Entry, hookTarget: string): Step => ({ name, run, trigger: hook, hookTarget });
  const around = (count: number, target: string): Step[] =>
    entries.slice(0, count).flatMap((entry) => (entry.hook === '$next' ? [toStep(entry, target)] : []));
  const steps = entries.flatMap((entry, at) => {
    if (entry.hook === '$next') return [];
    const target = entries.slice(at + 1).find((other) => other.hook === undefined)?.name ?? tool;
    return [...(entry.hook === undefined ? around(at, entry.name) : []), toStep(entry, target)];
  });
  return [...steps, ...around(entries.length, tool)];
}
