// The built-in middleware, and the middleware of a toolbox: from code and from the configuration.

import { canonicalJson } from '../../core/json.js';
import type { Middleware, MiddlewareSettings } from '../../core/middleware.js';
import type { Settings } from '../../core/settings.js';
import { cache } from './cache.js';
import { rateLimit } from './rate-limit.js';
import { retry } from './retry.js';

export { cache, rateLimit, retry };

/** Joins middleware of the program, outermost, with that of the configuration. */
export function joinMiddleware(
  own: readonly Middleware[],
): (settings: Pick<Settings, 'middleware'>) => readonly Middleware[] {
  const configured = createConfiguredMiddleware();
  let known: { readonly of: readonly Middleware[]; readonly all: readonly Middleware[] } | undefined;
  return ({ middleware }) => {
    const now = configured(middleware);
    if (known?.of !== now) known = { of: now, all: own.length === 0 ? now : [...own, ...now] };
    return known.all;
  };
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
