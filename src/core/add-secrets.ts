// Remembers secrets, so that they are redacted.

import type { KnownSecrets } from './redact.js';

export function addSecrets(secrets: KnownSecrets, values: readonly string[]): void {
  const added = values.filter((value) => !secrets.all.includes(value));
  if (added.length > 0) secrets.all = [...secrets.all, ...new Set(added)];
}

/** Remembers secrets that are replaced by new ones, such as tokens, and of those only the latest. */
export function createLatestSecrets(secrets: KnownSecrets, limit: number): (values: readonly string[]) => void {
  let latest: readonly string[] = [];
  return (values) => {
    const added = values.filter((value) => !secrets.all.includes(value));
    if (added.length === 0) return;
    const dropped = new Set([...latest, ...added].slice(0, -limit));
    latest = [...latest, ...added].slice(-limit);
    secrets.all = [...secrets.all.filter((secret) => !dropped.has(secret)), ...added];
  };
}
