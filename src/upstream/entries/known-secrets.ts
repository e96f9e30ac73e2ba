// The secrets of all servers that were expanded in this process.

export interface KnownSecrets {
  add(secrets: readonly string[]): void;
  /** One array until another secret is added. */
  all(): readonly string[];
}

/** The secrets of servers that were expanded; they stay known for as long as the process lives. */
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
