// Remembers secrets, so that they are redacted.

import type { KnownSecrets } from './redact.js';

export function addSecrets(secrets: KnownSecrets, values: readonly string[]): void {
  const added = values.filter((value) => !secrets.all.includes(value));
  if (added.length > 0) secrets.all = [...secrets.all, ...new Set(added)];
}
