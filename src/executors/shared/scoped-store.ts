// Stores that can be used only during one call (MOD-6).

import { ToolError } from '../../core/error.js';
import type { ContextStore } from '../../core/store.js';

export interface ScopedStore {
  readonly store: ContextStore | null;
  withStore<T>(use: (store: ContextStore) => Promise<T>): Promise<T>;
  end(): void;
}

export function scopeStore(whole: ContextStore | null): ScopedStore {
  let ended = false;
  const guard =
    <Arguments extends unknown[], Result>(use: (...args: Arguments) => Result) =>
    (...args: Arguments): Result => {
      if (!ended) return use(...args);
      throw new ToolError('usage', 'the store was used after its call had ended', {
        hint: 'wait for everything that uses it before the tool returns',
      });
    };
  const scoped: ContextStore | null = whole && {
    documents: {
      write: guard(whole.documents.write),
      read: guard(whole.documents.read),
      open: guard(whole.documents.open),
      list: guard(whole.documents.list),
      versions: guard(whole.documents.versions),
      remove: guard(whole.documents.remove),
      copy: guard(whole.documents.copy),
      search: guard(whole.documents.search),
      clean: guard(whole.documents.clean),
      // The store is shared, so a tool cannot close it.
      close: () => {},
    },
    openResult: guard(whole.openResult),
  };
  return {
    store: scoped,
    async withStore(use) {
      if (scoped !== null) return use(scoped);
      throw new ToolError('unavailable', 'this toolbox has no store', {
        hint: 'use createNodeToolbox, or give createTestToolbox a store',
      });
    },
    end() {
      ended = true;
    },
  };
}
