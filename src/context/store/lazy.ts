// A document store that is loaded on first use, since loading a database takes longer than most commands.

import type { DocumentStore } from '../../core/store.js';

export function createLazyDocuments(load: () => Promise<DocumentStore>): DocumentStore {
  let loading: Promise<DocumentStore> | undefined;
  let closed = false;
  const store = async (): Promise<DocumentStore> => {
    closed = false;
    loading ??= load();
    return loading;
  };
  return {
    write: async (...args) => (await store()).write(...args),
    read: async (...args) => (await store()).read(...args),
    open: async (...args) => (await store()).open(...args),
    list: async (...args) => (await store()).list(...args),
    versions: async (...args) => (await store()).versions(...args),
    remove: async (...args) => (await store()).remove(...args),
    copy: async (...args) => (await store()).copy(...args),
    search: async (...args) => (await store()).search(...args),
    clean: async (...args) => (await store()).clean(...args),
    close() {
      closed = true;
      // Also closes a store that is still loading.
      const close = (opened: DocumentStore): void => {
        if (closed) opened.close();
      };
      // A store that cannot be opened failed the call that needed it.
      loading?.then(close).catch(() => {});
    },
  };
}
