// Tests of reading, writing and locking state files: modes, special files, temporary files, dead lock holders.

import { execFileSync, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { patience } from '../../test/support/patience.js';
import { isLocked, withLock } from './lock.js';
import { createStatCache, readHead, readTextOrFault } from './read.js';
import { checkStateDirectory } from './state.js';
import { writeFileAtomic } from './write.js';

function createDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'wield-state-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('a FIFO, a device and a directory are not read', () => {
  const directory = createDirectory();
  const fifo = join(directory, 'fifo');
  execFileSync('mkfifo', [fifo]);
  // Opens the FIFO after a while, so that a blocking read ends and the test can fail.
  const writer = spawn('/bin/sh', ['-c', 'sleep 30; exec timeout 2 sh -c "echo x > $0"', fifo], {
    stdio: 'ignore',
  });
  onTestFinished(() => void writer.kill());
  const before = performance.now();
  for (const path of [fifo, '/dev/null', '/dev/zero', directory]) {
    expect([path, readHead(path, 100)]).toMatchObject([path, { fault: 'not-a-file' }]);
    expect(readTextOrFault(path)).toMatchObject({ fault: 'not-a-file' });
  }
  expect(performance.now() - before).toBeLessThan(patience(25_000));
});

test('a state file and its directories are private, whatever the umask', () => {
  const directory = createDirectory();
  const umask = process.umask(0);
  try {
    writeFileAtomic(join(directory, 'a/b/state.json'), 'one');
  } finally {
    process.umask(umask);
  }
  const modeOf = (path: string): number => statSync(join(directory, path)).mode & 0o777;
  expect([modeOf('a'), modeOf('a/b'), modeOf('a/b/state.json')]).toEqual([0o700, 0o700, 0o600]);
  writeFileAtomic(join(directory, 'a/b/state.json'), 'two');
  expect(readFileSync(join(directory, 'a/b/state.json'), 'utf8')).toBe('two');
  expect(readdirSync(join(directory, 'a/b'))).toEqual(['state.json']);
});

test('a state directory that is missing, or a link to one, has no files', () => {
  const directory = createDirectory();
  const link = join(directory, 'link');
  symlinkSync(join(directory, 'other'), link);
  expect(checkStateDirectory(join(directory, 'other'))).toBe(false);
  expect(checkStateDirectory(link)).toBe(false);
  mkdirSync(join(directory, 'other'), { mode: 0o700 });
  expect(checkStateDirectory(link)).toBe(true);
});

test('a file that changed just now is read again, an older one only after a change', () => {
  const file = join(createDirectory(), 'file');
  writeFileSync(file, 'one');
  const { ctimeMs } = statSync(file);
  const readsAfter = (age: number): number => {
    let reads = 0;
    const isState = (): boolean => {
      reads++;
      return false;
    };
    const cache = createStatCache<unknown>({ now: () => ctimeMs + age, limit: 100, isState });
    for (let times = 0; times < 3; times++) expect(cache.get('key', [file], ([text]) => text)).toBe('one');
    return reads;
  };
  expect([readsAfter(0), readsAfter(1), readsAfter(60_000)]).toEqual([3, 3, 1]);
});

test('a failed write leaves no temporary file', () => {
  const directory = createDirectory();
  mkdirSync(join(directory, 'taken/inside'), { recursive: true });
  expect(() => writeFileAtomic(join(directory, 'taken'), 'x')).toThrow();
  expect(readdirSync(directory)).toEqual(['taken']);
});

test('the lock of a dead process, and of a reused process id, is taken over', async () => {
  const lock = join(createDirectory(), 'lock');
  const context = {
    signal: AbortSignal.timeout(60_000),
    doing: 'testing',
  };
  const child = spawn('true', { stdio: 'ignore' });
  await new Promise((resolve) => child.once('close', resolve));
  for (const holder of [`held-${child.pid}-1-aa`, `held-${process.ppid}-1-bb`]) {
    mkdirSync(lock, { recursive: true });
    writeFileSync(join(lock, holder), '');
    expect([holder, isLocked(lock)]).toEqual([holder, false]);
    expect(await withLock(lock, context, async () => isLocked(lock))).toBe(true);
  }
});
