// Tests of handles: who can open a stored result, and with which id.

import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createResultFiles } from './results.js';

const LIMITS = { keepMs: 3_600_000, totalBytes: 1e9 };

test('a result is private, and opened only by its session with its id', () => {
  const root = mkdtempSync(join(tmpdir(), 'wield-results-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const directory = join(root, 'results');
  const store = createResultFiles({ directory: () => directory, now: Date.now });
  const write = (): string => {
    const writer = store.create('one', LIMITS);
    writer.write(Buffer.from('the result'));
    return writer.finish().handle.id;
  };
  const id = write();
  expect(id).not.toBe(write());
  for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o077).toBe(0);
  expect(statSync(directory).mode & 0o077).toBe(0);
  const opened = store.open(id, 'one');
  expect(opened?.read(0, 100).toString()).toBe('the result');
  opened?.close();
  expect(store.open(id, 'two')).toBeUndefined();
  expect(store.open(id, '')).toBeUndefined();
  // Files elsewhere that look like a result of this session.
  const metadata = readdirSync(directory).find((name) => name === `${id}.json`)!;
  for (const place of ['outside', 'r_short'])
    for (const [suffix, from] of [
      ['', id],
      ['.json', metadata],
    ] as const)
      writeFileSync(
        join(place === 'outside' ? root : directory, `${place}${suffix}`),
        readBytes(join(directory, from)),
      );
  for (const other of ['../outside', 'r_short', `${directory}/../outside`, `./${id}`])
    expect([other, store.open(other, 'one')]).toEqual([other, undefined]);
});

function readBytes(path: string): Buffer {
  return process.getBuiltinModule('node:fs').readFileSync(path);
}
