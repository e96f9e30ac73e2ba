// Row module: cost of a typed tool in the tool host, compared with in process and a script; listing 200 of them.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createNodeToolbox } from '../../dist/node.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createDirectory, createWorkspace, settle } from '../support/workspace.mjs';

const COUNT = sized(200, 2);
const FIRST_ROUNDS = 15;
const LATER_ROUNDS = 15;
const LIST_ROUNDS = 7;
const CALLS = sized({ function: 2000, module: 500, script: 5 }, { function: 5, module: 5, script: 1 });

const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const greet = {
  name: 'greet_function',
  description: 'Greets.',
  inputSchema,
  execute: ({ name }) => `Hello, ${name}`,
};

const moduleText = (name) => `import { defineTool } from 'wield';
import { z } from 'zod';
export const tool = defineTool({
  name: '${name}',
  description: 'Greets.',
  inputSchema: z.object({ name: z.string() }),
  execute: ({ name }: { name: string }) => \`Hello, \${name}\`,
});
`;
const SCRIPT = '#!/bin/sh\n# @description Greets.\n# @param *name string Whom\necho "Hello, $WIELD_PARAM_NAME"\n';

export const row = {
  id: 'module',
  title: 'a typed tool in the tool host',
  async run() {
    const workspace = createWorkspace(0);
    writeFileSync(join(workspace.tools, 'greet_module.tool.ts'), moduleText('greet_module'));
    writeFileSync(join(workspace.tools, 'greet_script'), SCRIPT, { mode: 0o755 });
    const many = createModules();
    await settle();
    return [...(await measureCalls(workspace)), ...(await measureLists(many))];
  },
};

function createModules() {
  const root = createDirectory();
  const tools = join(root, '.agents', 'tools');
  mkdirSync(tools, { recursive: true });
  for (let at = 0; at < COUNT; at++) writeFileSync(join(tools, `m${at}.tool.ts`), moduleText(`tool_${at}`));
  return root;
}

async function measureCalls({ dir, env }) {
  const open = () => createNodeToolbox({ workdir: dir, env, trust: true, tools: [greet] });
  const call = async (toolbox, kind) => {
    const { ok, error } = await toolbox.call(`greet_${kind}`, { name: 'Ada' });
    if (!ok) throw new Error(error.message);
  };
  const first = async (kind) => {
    const toolbox = open();
    const began = performance.now();
    await call(toolbox, kind);
    const took = performance.now() - began;
    await toolbox.close();
    return took;
  };
  const toolbox = open();
  const later = async (kind) => {
    const began = performance.now();
    for (let at = 0; at < CALLS[kind]; at++) await call(toolbox, kind);
    return ((performance.now() - began) * 1000) / CALLS[kind];
  };
  const kinds = Object.keys(CALLS);
  const firsts = await measureRounds(Object.fromEntries(kinds.map((kind) => [kind, () => first(kind)])), FIRST_ROUNDS);
  for (const kind of kinds) await later(kind);
  const laters = await measureRounds(Object.fromEntries(kinds.map((kind) => [kind, () => later(kind)])), LATER_ROUNDS);
  await toolbox.close();
  const names = { function: 'in process', module: 'in the tool host, zod', script: 'a shell script' };
  const rows = (samples, title, unit) =>
    kinds.map((kind) => ({
      case: `${title}, ${names[kind]}${kind === 'script' ? ' (floor)' : ''}`,
      value: spread(samples[kind]),
      unit,
      ratio: kind === 'module' ? ratios(samples.module, samples.script) : undefined,
    }));
  return [...rows(firsts, 'first call of a toolbox', 'ms'), ...rows(laters, 'a later call', 'µs')];
}

async function measureLists(dir) {
  const list = async (home) => {
    const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield') };
    const toolbox = createNodeToolbox({ workdir: dir, env, trust: true });
    const began = performance.now();
    const { length } = await toolbox.list();
    const took = performance.now() - began;
    await toolbox.close();
    if (length !== COUNT) throw new Error(`${length} of ${COUNT} tools are listed`);
    return took;
  };
  const warm = createDirectory();
  await list(warm);
  const samples = await measureRounds({ cold: () => list(createDirectory()), warm: () => list(warm) }, LIST_ROUNDS);
  return [
    { case: `list, ${COUNT} modules, cold`, value: spread(samples.cold), unit: 'ms' },
    { case: `list, ${COUNT} modules, warm`, value: spread(samples.warm), unit: 'ms' },
  ];
}
