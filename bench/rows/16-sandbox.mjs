// Row 16: what bubblewrap adds to starting a process, and to a call of a script with `@sandbox`.

import { spawn } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createNodeToolbox } from '../../dist/node.js';
import { differences, measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createWorkspace, settle } from '../support/workspace.mjs';

const TARGET = { of: 'value', atMost: 8, unit: 'ms' };
const ROUNDS = 60;
const CALLS = sized(3, 1);
const HEADER = '#!/bin/sh\n# @description Says so.\n';
const SHELL = ['/bin/sh', '-c', 'echo done'];
// As wield starts processes, with the filter of system calls as descriptor 9.
const PIPES = ['pipe', 'pipe', 'pipe', 'pipe'];
const IGNORED = Array(5).fill('ignore');

export const row = {
  id: '16',
  title: 'bubblewrap, against a start without it',
  async run() {
    const { dir, tools, env } = createWorkspace(1);
    writeFileSync(join(tools, 'plain'), `${HEADER}echo done\n`, { mode: 0o755 });
    writeFileSync(join(tools, 'sandboxed'), `${HEADER}# @sandbox read-only\necho done\n`, { mode: 0o755 });
    await settle();
    const toolbox = createNodeToolbox({ workdir: dir, env });
    const cases = {
      'child_process.spawn of a shell': () => spawnBare(SHELL),
      'a script, not sandboxed': () => toolbox.call('plain', {}),
    };
    const tried = await toolbox.call('sandboxed', {});
    const { launcher, filter } = tried.ok ? (await toolbox.plan('sandboxed', {})).plan.sandbox : {};
    if (!tried.ok) console.error(`sandboxes are left out: ${tried.error.message}`);
    else {
      if ((await spawnBare([...launcher, ...SHELL], filter)) !== 0) throw new Error('bwrap failed');
      cases['child_process.spawn of bwrap with the same arguments'] = () => spawnBare([...launcher, ...SHELL], filter);
      cases['a script, sandboxed'] = () => toolbox.call('sandboxed', {});
    }
    const samples = await measureRounds(
      Object.fromEntries(Object.entries(cases).map(([name, start]) => [name, () => timeCalls(start)])),
      ROUNDS,
    );
    await toolbox.close();
    return [
      ...Object.entries(samples).map(([name, values]) => ({ case: name, value: spread(values), unit: 'ms' })),
      ...(tried.ok ? compare(Object.values(samples)) : []),
    ];
  },
};

function compare([bare, plain, bwrap, sandboxed]) {
  const less = (values, floor) => values.map((value, at) => value - floor[at]);
  const added = less(sandboxed, plain);
  const floor = less(bwrap, bare);
  return [
    { case: 'what bwrap alone adds (floor)', value: spread(floor), unit: 'ms' },
    {
      case: 'what a sandbox adds to a call',
      value: spread(added),
      ratio: ratios(added, floor),
      unit: 'ms',
      target: TARGET,
    },
    { case: 'the part of it that is not bwrap', value: differences(added, floor), unit: 'ms' },
  ];
}

async function timeCalls(start) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await start();
  return (performance.now() - began) / CALLS;
}

function spawnBare([program, ...args], filter) {
  return new Promise((resolve, reject) => {
    const descriptor = filter && openSync(filter, 'r');
    const stdio = descriptor === undefined ? PIPES : [...PIPES, ...IGNORED, descriptor];
    const child = spawn(program, args, { stdio, detached: true }).once('error', reject).once('close', resolve);
    if (descriptor !== undefined) closeSync(descriptor);
    child.stdin.end();
    for (const stream of child.stdio.slice(1)) stream?.resume();
  });
}
