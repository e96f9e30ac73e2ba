// What is redacted in the text of one server: the secrets of all entries, and the tokens of its own login (UPS-100).

import type { KnownSecrets } from '../core/redact.js';

export type ServerSecrets = ReturnType<typeof createServerSecrets>;

interface Entry {
  readonly tokens: readonly string[];
  readonly known: readonly string[];
  readonly all: readonly string[];
}

// Of all its users. A server that issues a token for each request must not make the list grow.
const MAX_TOKENS = 256;

/** A login server chooses its tokens, so they are not redacted in text of others, such as the audit log. */
export function createServerSecrets(secrets: KnownSecrets) {
  const entries = new Map<string, Entry>();
  const set = (server: string, tokens: readonly string[]): Entry => {
    const entry = { tokens, known: secrets.all, all: [...secrets.all, ...tokens] };
    entries.set(server, entry);
    return entry;
  };
  return {
    /** Remembers tokens of a server, by its name. */
    remember(server: string, tokens: readonly string[]): void {
      const before = entries.get(server)?.tokens ?? [];
      const added = tokens.filter((token) => !before.includes(token));
      if (added.length > 0) set(server, [...before, ...added].slice(-MAX_TOKENS));
    },
    /** Returns what is redacted in text of a server; the same array until it changes. */
    of(server: string): readonly string[] {
      const entry = entries.get(server);
      if (entry === undefined) return secrets.all;
      return (entry.known === secrets.all ? entry : set(server, entry.tokens)).all;
    },
  };
}
