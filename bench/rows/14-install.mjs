// Row 14: hashing and copying the files of an item, and how long an upgrade is neither the old nor the new version.

import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyTree, hashTree, listTree } from '../../dist/files/tree.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { BINARY, createDirectory, createWorkspace } from '../support/workspace.mjs';

const SWAP_TARGET = { of: 'value', atMost: 1, unit: 'ms' };
const ROUNDS = 15;
const FILES = sized(1000, 20);
const FILE_BYTES = 16 * 1024;
const UPGRADES = sized(9, 1);

export const row = {
  id: '14',
  title: 'hashing and copying an item, and the change from one version to the next',
  async run() {
    return [...(await measureTrees()), await measureSwap()];
  },
};

async function measureTrees() {
  const root = createDirectory();
  writeFiles(root);
  const files = listTree(root);
  const target = createDirectory();
  const into = (copy) => (round) => {
    const to = join(target, `${copy.name}-${round}`);
    const taken = elapsed(() => copy(root, to));
    rmSync(to, { recursive: true });
    return taken;
  };
  const samples = await measureRounds(
    {
      read: () => elapsed(() => files.map(({ path }) => readFileSync(join(root, path)))),
      hash: () => elapsed(() => hashTree(root, files)),
      cp: into(function cp(from, to) {
        const { status } = spawnSync('cp', ['-r', from, to]);
        if (status !== 0) throw new Error('cp failed');
      }),
      copy: into(function copy(from, to) {
        copyTree(from, listTree(from), to);
      }),
    },
    ROUNDS,
  );
  const size = `${FILES.toLocaleString('en')} files of 16 KB`;
  const against = (values, floor) => ({
    value: spread(values),
    unit: 'ms',
    ratio: ratios(values, floor),
  });
  return [
    { case: `reading ${size} (floor)`, value: spread(samples.read), unit: 'ms' },
    { case: `reading and hashing ${size}`, ...against(samples.hash, samples.read) },
    { case: `cp -r of ${size} (floor)`, value: spread(samples.cp), unit: 'ms' },
    { case: `listing, checking and copying ${size}`, ...against(samples.copy, samples.cp) },
  ];
}

function writeFiles(root) {
  for (let at = 0; at < FILES; at++) {
    const directory = join(root, `part-${at % 20}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `file-${at}`), Buffer.alloc(FILE_BYTES, `${at} `));
  }
}

function elapsed(run) {
  const began = performance.now();
  run();
  return performance.now() - began;
}

// Reads a file of an installed skill as fast as possible while another process upgrades it.
async function measureSwap() {
  const { dir, home, env } = createWorkspace(0);
  const source = createDirectory();
  const skill = join(source, 'skills', 'notes');
  mkdirSync(skill, { recursive: true });
  const release = (version) =>
    writeFileSync(join(skill, 'SKILL.md'), `---\nname: notes\ndescription: Notes.\n---\nVersion ${version}.\n`);
  const wield = (...argv) => {
    const { status, stderr } = spawnSync(process.execPath, [BINARY, ...argv], { cwd: dir, env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`wield ${argv.join(' ')} failed: ${stderr}`);
  };
  release(0);
  wield('add', source, '--yes');
  const installed = join(home, '.claude', 'skills', 'notes', 'SKILL.md');
  const gaps = [];
  for (let version = 1; version <= UPGRADES; version++) {
    release(version);
    const upgrade = spawn(process.execPath, [BINARY, 'upgrade', '--yes'], { cwd: dir, env, stdio: 'ignore' });
    const ended = new Promise((resolve) => upgrade.once('exit', resolve));
    gaps.push(gapUntil(installed, `Version ${version}.`));
    await ended;
  }
  return { case: 'upgrade, neither version readable', value: spread(gaps), unit: 'ms', target: SWAP_TARGET };
}

// Milliseconds between the last reading of the old version and the first of the new one.
function gapUntil(path, expected) {
  const began = performance.now();
  for (let last = began; ; ) {
    const text = readOrNothing(path);
    const now = performance.now();
    if (text?.includes(expected)) return now - last;
    if (text !== undefined) last = now;
    if (now - began > 60_000) throw new Error('the upgrade did not show');
  }
}

function readOrNothing(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
