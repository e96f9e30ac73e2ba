// Row 11: cost of discovery per file: reading all of them, and checking that none changed.

import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createNodeToolbox } from '../../dist/node.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createDirectory, createWorkspace, settle } from '../support/workspace.mjs';

const COUNTS = sized([1000, 10_000], [50]);
const ROUNDS = 9;
const HEAD_BYTES = 8 * 1024;

export const row = {
  id: '11',
  title: 'discovery in process, a file',
  async run() {
    const workspaces = COUNTS.map((count) => ({ count, ...createWorkspace(count) }));
    await settle();
    const results = [];
    for (const workspace of workspaces) results.push(...(await measureWorkspace(workspace)));
    return results;
  },
};

async function measureWorkspace({ count, dir, tools, env }) {
  const open = () => createNodeToolbox({ workdir: dir, env: { ...env, WIELD_HOME: createDirectory() } });
  const warm = open();
  // CPU time of all threads, including the collection of garbage.
  const perFile = async (visit) => {
    const began = process.cpuUsage();
    const seen = await visit();
    const { user, system } = process.cpuUsage(began);
    if (seen !== count) throw new Error(`${seen} of ${count} files were seen`);
    return (user + system) / count;
  };
  const samples = await measureRounds(
    {
      readFloor: () => perFile(() => readAll(tools)),
      // An empty home: every header is read and the index is written.
      scan: () => {
        const fresh = open();
        return perFile(async () => (await fresh.list()).length);
      },
      statFloor: () => perFile(() => statAll(tools)),
      relist: () => perFile(async () => (await warm.list()).length),
    },
    ROUNDS,
  );
  await warm.close();
  const files = count.toLocaleString('en');
  const toCase = (name, values, more = {}) => ({
    case: name,
    value: spread(values),
    unit: 'µs a file',
    ...more,
  });
  return [
    toCase(`readdir, open, read, close, ${files} files (floor)`, samples.readFloor),
    toCase(`full scan and index, ${files} files`, samples.scan, {
      ratio: ratios(samples.scan, samples.readFloor),
    }),
    toCase(`readdir, stat, ${files} files (floor)`, samples.statFloor),
    toCase(`list again, nothing changed, ${files} files`, samples.relist, {
      ratio: ratios(samples.relist, samples.statFloor),
    }),
  ];
}

function readAll(directory) {
  const buffer = Buffer.allocUnsafe(HEAD_BYTES);
  const names = readdirSync(directory);
  for (const name of names) {
    const descriptor = openSync(join(directory, name), 'r');
    readSync(descriptor, buffer, 0, buffer.length, null);
    closeSync(descriptor);
  }
  return names.length;
}

function statAll(directory) {
  const names = readdirSync(directory);
  for (const name of names) statSync(join(directory, name));
  return names.length;
}
