// Row 16: what bubblewrap adds to starting a process, and to a call of a script with `@sandbox`.

import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createNodeToolbox } from '../../dist/node.js';
import { differences, measureRounds, sized, spread } from '../support/measure.mjs';
import { createWorkspace, settle, toolName } from '../support/workspace.mjs';

const TARGET = { of: 'value', atMost: 5, unit: 'ms' };
const ROUNDS = 30;
const CALLS = sized(3, 1);
const BWRAP = ['bwrap', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--unshare-all', '/bin/true'];
const SANDBOXED = '#!/bin/sh\n# @description Says so.\n# @sandbox read-only\necho done\n';

export const row = {
  id: '16',
  title: 'bubblewrap, against a start without it',
  async run() {
    const { dir, tools, env } = createWorkspace(1);
    writeFileSync(join(tools, 'sandboxed'), SANDBOXED, { mode: 0o755 });
    await settle();
    const toolbox = createNodeToolbox({ workdir: dir, env });
    const cases = {
      'child_process.spawn of true (floor)': () => spawnBare(['/bin/true']),
      'a script, not sandboxed': () => toolbox.call(toolName(0), { name: 'Ada' }),
    };
    const { status, error } = spawnSync(BWRAP[0], BWRAP.slice(1));
    if (status === 0) cases['child_process.spawn of bwrap true'] = () => spawnBare(BWRAP);
    else console.error(`bubblewrap is left out: ${error?.message ?? `it exits with status ${status}`}`);
    const tried = await toolbox.call('sandboxed', {});
    if (tried.ok) cases['a script, sandboxed'] = () => toolbox.call('sandboxed', {});
    else console.error(`a sandboxed script is left out: ${tried.error.message}`);
    const samples = await measureRounds(
      Object.fromEntries(Object.entries(cases).map(([name, start]) => [name, () => timeCalls(start)])),
      ROUNDS,
    );
    await toolbox.close();
    return [
      ...Object.entries(samples).map(([name, values]) => ({ case: name, value: spread(values), unit: 'ms' })),
      ...difference(samples, 'child_process.spawn of bwrap true', 'child_process.spawn of true (floor)'),
      ...difference(samples, 'a script, sandboxed', 'a script, not sandboxed', TARGET),
    ];
  },
};

function difference(samples, name, against, target) {
  if (samples[name] === undefined) return [];
  const value = differences(samples[name], samples[against]);
  return [{ case: `${name}, less ${against.replace(' (floor)', '')}`, value, unit: 'ms', target }];
}

async function timeCalls(start) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await start();
  return (performance.now() - began) / CALLS;
}

function spawnBare([program, ...args]) {
  return new Promise((resolve, reject) => {
    spawn(program, args, { stdio: 'ignore' }).once('error', reject).once('close', resolve);
  });
}
