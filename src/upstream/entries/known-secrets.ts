// The secrets of all servers that were expanded in this process, for redaction.

export interface KnownSecrets {
  add(secrets: readonly string[]): void;
  /** Returns the same array until a secret is added. */
  all(): readonly string[];
}

export function createKnownSecrets(): KnownSecrets {
  let known: readonly string[] = [];
  return {
    add(secrets) {
      const others = secrets.filter((secret) => !known.includes(secret));
      if (others.length > 0) known = [...known, ...new Set(others)];
    },
    all: () => known,
  };
}
