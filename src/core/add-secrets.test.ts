// Tests that secrets which are replaced often do not accumulate.

import { expect, test } from 'vitest';
import { createLatestSecrets } from './add-secrets.js';
import type { KnownSecrets } from './redact.js';

test('of secrets that are replaced only the latest are kept, and all others', () => {
  const secrets: KnownSecrets = { all: ['key'] };
  const [one, other] = [createLatestSecrets(secrets, 4), createLatestSecrets(secrets, 4)];
  other(['theirs']);
  for (let at = 0; at < 10; at++) one([`access-${at}`, `refresh-${at}`, 'key']);
  expect(secrets.all).toEqual(['key', 'theirs', 'access-8', 'refresh-8', 'access-9', 'refresh-9']);
  const before = secrets.all;
  one(['access-9', 'refresh-9']);
  expect(secrets.all).toBe(before);
});
