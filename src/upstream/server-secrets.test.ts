// Tests that tokens are secrets of their server only, and do not accumulate.

import { expect, test } from 'vitest';
import type { KnownSecrets } from '../core/redact.js';
import { createServerSecrets } from './server-secrets.js';

test('tokens are secrets of their server only, and only the latest are kept', () => {
  const known: KnownSecrets = { all: ['key'] };
  const secrets = createServerSecrets(known);
  for (let at = 1; at <= 200; at++) secrets.remember('one', [`access-${at}`, `refresh-${at}`]);
  expect(secrets.of('other')).toBe(known.all);
  expect(known.all).toEqual(['key']);
  const all = secrets.of('one');
  expect([all.length, all[0], all[1], all.at(-1)]).toEqual([257, 'key', 'access-73', 'refresh-200']);
  secrets.remember('one', ['access-200']);
  expect(secrets.of('one')).toBe(all);
  known.all = ['key', 'more'];
  expect(secrets.of('one').slice(0, 3)).toEqual(['key', 'more', 'access-73']);
});
