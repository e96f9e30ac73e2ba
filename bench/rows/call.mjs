// Row call: what the toolbox adds to spawning a script from the same process.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createNodeToolbox } from '../../dist/node.js';
import { differences, measureRounds, ratios, spread } from '../support/measure.mjs';
import { createWorkspace, settle, toolName } from '../support/workspace.mjs';

const ROUNDS = 60;
const CALLS = 5;

export const row = {
  id: 'call',
  title: 'a call of a shell script against a bare spawn of it',
  async run() {
    const { dir, tools, env } = createWorkspace(1);
    await settle();
    const name = toolName(0);
    const input = { name: 'Ada' };
    const toolbox = createNodeToolbox({ workdir: dir, env });
    // The bare spawn gets the same environment and stdin.
    const { plan } = await toolbox.plan(name, input);
    const options = { cwd: dir, env: plan.environment };
    const result = await toolbox.call(name, input);
    if (!result.ok) throw new Error(`the script was not run: ${JSON.stringify(result)}`);
    const samples = await measureRounds(
      {
        bare: () => timeCalls(() => spawnBare(join(tools, name), options, plan.stdin)),
        toolbox: () => timeCalls(() => toolbox.call(name, input)),
      },
      ROUNDS,
    );
    await toolbox.close();
    return [
      { case: 'child_process.spawn (floor)', value: spread(samples.bare), unit: 'ms' },
      {
        case: 'toolbox.call',
        value: spread(samples.toolbox),
        unit: 'ms',
        ratio: ratios(samples.toolbox, samples.bare),
      },
      {
        case: 'toolbox.call less the bare spawn',
        value: differences(samples.toolbox, samples.bare),
        unit: 'ms',
      },
    ];
  },
};

async function timeCalls(call) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await call();
  return (performance.now() - began) / CALLS;
}

function spawnBare(file, options, stdin) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, [], options);
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.stdin.on('error', () => {});
    child.once('error', reject);
    child.once('close', () => resolve(Buffer.concat(chunks)));
    child.stdin.end(stdin);
  });
}
