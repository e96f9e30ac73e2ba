// Interrupts each operation at every system call that changes a file, by a kill, ENOSPC or EIO, and checks what is left.
// Usage: npm run crash-points [-- --only NAME] [--fault KILL|ENOSPC|EIO] [--at CALL:N] [--lanes N]. It updates
// docs/reports/crash-points.md; rows of operations that did not run are kept.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer } from 'vite';
import { writeStalePrograms } from './programs.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGE = join(ROOT, 'docs/reports/crash-points.md');
const PARALLEL = { name: 'parallel installs', processes: 50 };

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    fault: { type: 'string' },
    at: { type: 'string' },
    lanes: { type: 'string', default: '2' },
  },
});
await writeStalePrograms();
// Open until the end, because sources import others late.
const sources = await createServer({
  root: ROOT,
  configFile: false,
  appType: 'custom',
  logLevel: 'error',
  server: { middlewareMode: true, watch: null, ws: false },
});
const load = (name) => sources.ssrLoadModule(`/test/support/${name}`);
const { FAULTS } = await load('strace.ts');
const { prepareOperation, tryPoint } = await load('crash-points.ts');
const { OPERATIONS, installInParallel } = await load('crash-operations.ts');

const isChosen = ({ name }) => options.only === undefined || options.only.includes(name);
const chosen = OPERATIONS.filter(isChosen);
const faults = FAULTS.filter((fault) => options.fault === undefined || fault === options.fault);
const rows = readRows();
const failures = [];
const unreached = [];

if (chosen.length === 0 && !isChosen(PARALLEL))
  throw new Error(`unknown operation; the operations are: ${OPERATIONS.map(({ name }) => name).join(', ')}`);
const left = chosen.flatMap((operation) => faults.map((fault) => ({ operation, fault })));
await Promise.all(
  Array.from({ length: Number(options.lanes) }, async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await interrupt(next.operation, next.fault);
  }),
);
if (isChosen(PARALLEL) && options.at === undefined) await runInParallel();
await sources.close();
console.log(`\n${failures.length} failures, ${unreached.length} points not reached`);
for (const text of [...failures, ...unreached]) console.log(text);
process.exitCode = failures.length + unreached.length === 0 ? 0 : 1;

async function interrupt(operation, fault) {
  const prepared = await prepareOperation(operation);
  try {
    // A process that cannot be started is a failure of another kind.
    const steps = prepared.steps.filter(({ isStart }) => fault === 'KILL' || !isStart);
    const tried = steps.filter(({ call, at }) => options.at === undefined || options.at === `${call}:${at}`);
    const result = { tried: tried.length, failed: 0, missed: 0 };
    for (const [n, step] of tried.entries()) {
      const at = `${step.call}:${step.at}`;
      const outcome = await tryPoint(prepared, step, fault);
      const command = `npm run crash-points -- --only '${operation.name}' --fault ${fault} --at ${at}`;
      const report = [command, step.what, ...outcome.failures].join('\n    ');
      const isWrong = outcome.failures.length > 0;
      if (outcome.missed) {
        result.missed++;
        unreached.push(`not reached: ${report}`);
      }
      if (isWrong) {
        result.failed++;
        failures.push(report);
      }
      const state = outcome.missed ? 'MISSED' : isWrong ? 'FAILED' : 'ok    ';
      console.log(`${state} ${operation.name}, ${fault}, ${n + 1}/${tried.length}: ${at} ${step.what.slice(0, 100)}`);
      if (isWrong) console.log(report);
    }
    if (options.at === undefined) {
      const cells = rows.get(operation.name) ?? {};
      const calls = [...new Set(prepared.steps.map(({ call }) => call))].sort().join(',');
      rows.set(operation.name, { ...cells, calls, [fault]: result });
      writeFileSync(PAGE, toPage());
    }
  } finally {
    prepared.place.remove();
  }
}

async function runInParallel() {
  const found = await installInParallel(PARALLEL.processes);
  for (const text of found) failures.push(`npm run crash-points -- --only '${PARALLEL.name}'\n    ${text}`);
  rows.set(PARALLEL.name, { result: found.length === 0 ? 'all succeeded' : `${found.length} failures` });
  writeFileSync(PAGE, toPage());
}

/** Returns the results of earlier runs by the name of the operation. */
function readRows() {
  const lines = existsSync(PAGE) ? readFileSync(PAGE, 'utf8').split('\n') : [];
  const known = new Map();
  for (const line of lines) {
    const [, name, calls, ...results] = line.split('|').map((cell) => cell.trim());
    const parsed = FAULTS.map((fault, at) => [fault, parseCell(results[at])]);
    if (OPERATIONS.some((operation) => operation.name === name))
      known.set(name, { calls, ...Object.fromEntries(parsed) });
    const [, parallel] = /^\d+ parallel installs: (.*)\.$/.exec(line) ?? [];
    if (parallel !== undefined) known.set(PARALLEL.name, { result: parallel });
  }
  return known;
}

function parseCell(text = '') {
  const [, tried, failed = '0', missed = '0'] = /^(\d+)(?:, (\d+) failed)?(?:, (\d+) not reached)?$/.exec(text) ?? [];
  return tried === undefined ? undefined : { tried: Number(tried), failed: Number(failed), missed: Number(missed) };
}

function toPage() {
  const count = (number, what) => (number === 0 ? [] : [`${number} ${what}`]);
  const cell = (result) =>
    result === undefined
      ? 'not run'
      : [result.tried, ...count(result.failed, 'failed'), ...count(result.missed, 'not reached')].join(', ');
  const table = OPERATIONS.map(({ name }) => {
    const { calls = '', ...results } = rows.get(name) ?? {};
    return `| ${[name, calls, ...FAULTS.map((fault) => cell(results[fault]))].join(' | ')} |`;
  });
  const all = OPERATIONS.flatMap(({ name }) => FAULTS.flatMap((fault) => rows.get(name)?.[fault] ?? []));
  const sum = (key) => all.reduce((total, result) => total + result[key], 0);
  return [
    '# Crash points',
    '',
    '`npm run crash-points` runs each operation once for every system call by which it creates, changes, syncs or removes',
    'a file, or starts a process: killed before that call, and with the call failing with `ENOSPC` and `EIO`. It needs',
    '`strace`. Calls of git, hooks and tools, which are processes of their own, are not interrupted.',
    '',
    'After each interruption the next command finds the old or the new state, and no other. `wield doctor --clean` then leaves no',
    'temporary files, the error names its cause and is not an internal one, the records of the audit log are whole, and',
    'the operation succeeds when it is run again. If the number of a call differs between runs, it is counted again for',
    'up to 90 seconds; a point that was not reached then makes the run fail too.',
    '',
    'One point: `npm run crash-points -- --only install --fault KILL --at rename:3`.',
    '',
    `The last run: ${sum('tried')} points, ${sum('failed')} failures, ${sum('missed')} not reached.`,
    '',
    '| operation | system calls | kills | ENOSPC | EIO |',
    '|---|---|---|---|---|',
    ...table,
    '',
    `${PARALLEL.processes} parallel installs: ${rows.get(PARALLEL.name)?.result ?? 'not run'}.`,
    '',
  ].join('\n');
}
