import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { createDocumentFiles } from '../../src/context/store/documents.js';
import { built } from '../support/built.js';
import { THOROUGH } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { sleep } from '../support/processes.js';
import { spec } from '../support/spec.js';

const PROGRAM = fileURLToPath(new URL('../support/store-process.mjs', import.meta.url));
const IS_LONG = THOROUGH || process.env.WIELD_STORE_SECONDS !== undefined;
const SECONDS = Number(process.env.WIELD_STORE_SECONDS ?? 1);
const [WRITERS, READERS] = IS_LONG ? [8, 4] : [2, 1];

spec(
  'CTX-50',
  `F04: survives ${WRITERS} writers and ${READERS} readers killed at random, without torn documents, lost writes or stale locks`,
  async () => {
    built('context/store/documents.js');
    const root = mkdtempSync(join(tmpdir(), 'wield-store-'));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    const directory = join(root, 'context');
    const failures: string[] = [];
    const running = new Map<number, ChildProcess>();
    const start = (slot: number): void => {
      const role = slot < WRITERS ? 'write' : 'read';
      const args = [PROGRAM, role, `w${slot}`, directory, join(root, `${role}-${slot}.log`)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
      let stderr = '';
      child.stderr!.on('data', (chunk: Buffer) => {
        stderr += chunk.toString('utf8');
      });
      child.once('close', (code) => {
        if (code !== null) failures.push(`${role} ${slot} ended by itself: ${stderr}`);
      });
      running.set(slot, child);
    };
    const killAndStart = (slot: number): void => {
      running.get(slot)!.kill('SIGKILL');
      start(slot);
    };
    for (let slot = 0; slot < WRITERS + READERS; slot++) start(slot);
    onTestFinished(() => {
      for (const child of running.values()) child.kill('SIGKILL');
    });
    const lines = (role: string, slot: number): string[] => {
      const log = join(root, `${role}-${slot}.log`);
      return existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : [];
    };
    const written = (): number =>
      Array.from({ length: WRITERS }, (_, slot) => lines('write', slot).length).reduce((a, b) => a + b);
    const end = performance.now() + SECONDS * 1000;
    while (written() === 0) await sleep(20);
    // A busy machine needs more time for enough writes.
    while (performance.now() < end || written() < 60) {
      await sleep(20 + Math.random() * 150);
      killAndStart(Math.floor(Math.random() * (WRITERS + READERS)));
    }
    for (const child of running.values()) child.kill('SIGKILL');
    await sleep(200);

    const store = createDocumentFiles({ directory: () => directory, now: () => Date.now() });
    onTestFinished(() => store.close());
    const began = performance.now();
    await store.write('after', Buffer.from('still writable'));
    expect(performance.now() - began).toBeLessThan(patience(30_000));
    let acknowledged = 0;
    for (let slot = 0; slot < WRITERS; slot++) {
      // The newest hundred versions of each path are kept.
      const kept = new Map<string, Map<number, string>>();
      for (const line of lines('write', slot)) {
        const [path = '', version, hash = ''] = line.split(' ');
        if (!kept.has(path)) kept.set(path, new Map());
        kept.get(path)!.set(Number(version), hash);
      }
      for (const [path, versions] of kept) {
        const newest = Math.max(...versions.keys());
        for (const [version, hash] of versions) {
          if (version <= newest - 90) continue;
          const { content } = await store.read(path, version);
          expect(createHash('sha256').update(content).digest('hex'), `${path} ${version}`).toBe(hash);
          acknowledged++;
        }
      }
    }
    expect(acknowledged).toBeGreaterThan(30);
    expect(Array.from({ length: READERS }, (_, at) => lines('read', WRITERS + at)).flat()).toEqual([]);
    expect(failures).toEqual([]);
  },
  (SECONDS + 240) * 1000,
);
