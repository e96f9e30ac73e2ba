// Chooses the file of each module of the binary: what frequent commands evaluate is together, the rest by folder.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MESSAGES = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'build', version: '1' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
  { id: 3, method: 'tools/call', params: { name: 'tool-1', arguments: { name: 'Ada' } } },
];
const COMMANDS = [
  ['list', ['list']],
  ['list', ['__complete', 'fish', '--', 'tool']],
  ['call', ['call', 'tool-1', '--name', 'Ada']],
  ['call', ['tool-1', '--name', 'Ada']],
  ['serve', ['serve'], MESSAGES.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')],
];
// The second round finds the indexes that the first one writes.
const ROUNDS = 2;
const TOOLS = 20;
// Reports evaluated modules, and moves the clock, so that files that were just written count as settled. Longer timers do
// not fire: what is evaluated must not depend on the speed of the machine.
const HOOK = `const { now } = Date;
Date.now = () => now() + 10_000;
const { setTimeout } = globalThis;
globalThis.setTimeout = (callback, ms, ...args) => setTimeout(callback, ms < 100 ? ms : ms * 100, ...args);
globalThis.wieldEvaluated = new Set();
process.once('exit', () =>
  require('node:fs').writeFileSync(process.env.EVALUATED, [...globalThis.wieldEvaluated].join('\\n')),
);
`;

/** Whether a chunk is our own code, not that of a package. */
export function isOwn({ fileName }) {
  return !fileName.startsWith('npm.') && !fileName.startsWith('rolldown-runtime');
}

/** Runs frequent commands, and returns the names of the chunks that each evaluates. */
export function findUsed(binary) {
  const base = mkdtempSync(join(tmpdir(), 'wield-build-'));
  try {
    const [home, workdir, evaluated] = [join(base, 'home'), join(base, 'work'), join(base, 'evaluated')];
    const tools = join(workdir, '.agents', 'tools');
    mkdirSync(tools, { recursive: true });
    mkdirSync(home);
    writeFileSync(join(base, 'hook.cjs'), HOOK);
    const text = '#!/bin/sh\n# @description Say hello.\n# @param *name string Whom\necho "Hello, $WIELD_PARAM_NAME!"\n';
    for (let at = 0; at < TOOLS; at++) writeFileSync(join(tools, `tool-${at}`), text, { mode: 0o755 });
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      NODE_OPTIONS: `--require "${join(base, 'hook.cjs')}"`,
      EVALUATED: evaluated,
    };
    const used = [];
    for (let round = 0; round < ROUNDS; round++) {
      rmSync(join(home, '.wield', 'cache', 'lists'), { recursive: true, force: true });
      for (const [command, args, input = ''] of COMMANDS) {
        execFileSync(process.execPath, [binary, ...args], { cwd: workdir, env, input });
        used.push([command, readFileSync(evaluated, 'utf8').split('\n')]);
      }
    }
    return used;
  } finally {
    rmSync(base, { recursive: true });
  }
}

/** Returns the function that names the file of a chunk. */
export function chooseFiles(used) {
  const commandsOf = new Map();
  for (const [command, names] of used)
    for (const name of names) commandsOf.set(name, (commandsOf.get(name) ?? new Set()).add(command));
  return (chunk) => {
    if (!isOwn(chunk)) return chunk.fileName.replace('.cjs', '');
    // The entry of a module is in its file.
    const name = chunk.fileName.startsWith('src.') ? chunk.fileName : (chunk.imports[0] ?? chunk.fileName);
    const commands = commandsOf.get(name);
    if (commands === undefined) return name.split('.')[1];
    return commands.size > 1 ? 'start' : [...commands][0];
  };
}
