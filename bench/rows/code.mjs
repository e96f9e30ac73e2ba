// Row code: programs of code mode: their start, a call inside one against a direct call, suspending and resuming.

import { runCode } from '../../dist/code.js';
import { defineTool } from '../../dist/index.js';
import { createNodeToolbox } from '../../dist/node.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createWorkspace } from '../support/workspace.mjs';

const ROUNDS = 15;
const CALLS = sized(40, 2);
const MODEL = { kind: 'model', door: 'bench' };

const echo = defineTool({ name: 'echo', description: 'Echoes.', execute: () => 'ok' });
const deploy = defineTool({ name: 'deploy', description: 'Deploys.', destructive: true, execute: () => 'ok' });

export const row = {
  id: 'code',
  title: 'a program of code mode: start, calls, suspending and resuming',
  async run() {
    const { dir, env } = createWorkspace(0);
    const toolbox = createNodeToolbox({ workdir: dir, env, tools: [echo, deploy], trust: true });
    const timed = async (work) => {
      const began = performance.now();
      const result = await work();
      return { took: performance.now() - began, result };
    };
    const run = async (code) => {
      const { took, result } = await timed(() => runCode(toolbox, code));
      if (!result.ok) throw new Error(JSON.stringify(result.error));
      return took;
    };
    let resumed = 0;
    const suspend = async (round) => {
      const options = { caller: MODEL };
      const code = `return [await tools.deploy(), ${round}]`;
      const { took, result } = await timed(() => runCode(toolbox, code, options));
      const { resume, approvals } = result.error.data;
      await toolbox.state.approvals.approve(approvals[0].id, false);
      const again = await timed(() => runCode(toolbox, '', { ...options, resume }));
      if (!again.result.ok) throw new Error(JSON.stringify(again.result.error));
      resumed = again.took;
      return took;
    };
    const samples = await measureRounds(
      {
        direct: async () => (await timed(() => callAll(toolbox))).took / CALLS,
        start: () => run('return 1'),
        inner: () => run(`for (let at = 0; at < ${CALLS}; at++) await tools.echo(); return 1`),
        suspend,
        resume: () => resumed,
      },
      ROUNDS,
    );
    await toolbox.close();
    const inner = samples.inner.map((took, at) => Math.max(0.001, took - samples.start[at]) / CALLS);
    return [
      { case: 'start of a program, to its result', value: spread(samples.start), unit: 'ms' },
      { case: 'direct call', value: spread(samples.direct), unit: 'ms' },
      { case: 'call inside a program', value: spread(inner), unit: 'ms', ratio: ratios(inner, samples.direct) },
      { case: 'program that needs approval, to its suspension', value: spread(samples.suspend), unit: 'ms' },
      { case: 'resumed, to its result', value: spread(samples.resume), unit: 'ms' },
    ];
  },
};

async function callAll(toolbox) {
  for (let at = 0; at < CALLS; at++) await toolbox.call('echo', {});
}
