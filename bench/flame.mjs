// Draws where the time of a call goes: a flame graph from a CPU profile, and the costs of its steps as a table.
// `npm run bench -- flame` writes docs/concepts/speed.svg and the table of docs/concepts/speed.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { createNodeToolbox } from '../dist/node.js';
import { drawFlames, toFlames } from './support/flames.mjs';
import { replaceTable } from './support/report.mjs';
import { createWorkspace, settle, toolName } from './support/workspace.mjs';

const PICTURE = fileURLToPath(new URL('../docs/concepts/speed.svg', import.meta.url));
const PAGE = fileURLToPath(new URL('../docs/concepts/speed.md', import.meta.url));
const WARM_UP = 400;
const CALLS = 1000;
const INTERVAL_US = 100;

// Steps of a call by the functions that take them.
const STEPS = [
  ['find', /^(findTool|snapshot|rulesFor|nestedCall) /],
  ['repair, check', /^(readInput|checkInput) /],
  ['plan', /^planCall /],
  ['decide', /^(decide|findDenial) /],
  ['execute: hash and pin the script', /^pinScript /],
  ['execute: ask the helper to start a process', /^(run|send|createRun) process\/helper/],
  ['execute: read its output and its end', /^(onStreamRead|accept|finish|toOutput|runProcess) /],
  ['shape', /^(shapeOutput|toInlineOutput) /],
  ['record', /^record /],
];

const { dir, env } = createWorkspace(1);
await settle();
const toolbox = createNodeToolbox({ workdir: dir, env, guard: true });
const call = async () => {
  const { ok, error } = await toolbox.call(toolName(0), { name: 'Ada' });
  if (!ok) throw new Error(error.message);
};
for (let at = 0; at < WARM_UP; at++) await call();
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
await session.post('Profiler.start');
for (let at = 0; at < CALLS; at++) await call();
const { profile } = await session.post('Profiler.stop');
session.disconnect();
await toolbox.close();

const flames = toFlames(profile, STEPS);
const perCall = (microseconds) => `${(microseconds / CALLS).toFixed(0)} µs`;
const rows = flames.steps.map(([name, time]) => `| ${name} | ${perCall(time)} |`);
const table = ['| step | time of the main thread |', '|---|---|', ...rows].join('\n');
writeFileSync(PAGE, replaceTable(readFileSync(PAGE, 'utf8'), table));
console.log(table);
writeFileSync(PICTURE, drawFlames(flames.root, { title: 'A call of a script in a server: main thread', perCall }));
console.error(`written to ${PICTURE} and ${PAGE}`);
