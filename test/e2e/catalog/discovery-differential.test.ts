// Property test: after random changes, a long-lived toolbox and its indexes agree with a naive implementation.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { registerTool } from '../../../src/helpers.js';
import { createNodeToolbox, type NodeToolbox } from '../../../src/node.js';
import { ALL_TESTS } from '../../support/effort.js';
import { act, CONFIGS, EVERY_NAME, prepare, ROOTS, type Step, step } from '../../support/histories.js';
import { predict } from '../../support/naive-resolver.js';
import { sleep } from '../../support/processes.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

// More with `npm run histories`.
const RUNS = Number(process.env.WIELD_HISTORIES ?? (ALL_TESTS ? 6 : 2));
const READY = Math.min(RUNS, 400);
const LIMIT_MS = process.env.WIELD_HISTORIES === undefined ? 20_000 : 3_600_000;

// Everything that a caller can see, including schemas.
async function answers(toolbox: NodeToolbox) {
  const look = (tool: Awaited<ReturnType<NodeToolbox['find']>>) => ({
    name: tool.name,
    description: tool.description,
    input: tool.input.json,
    origin: { ...tool.origin, digest: null },
    traits: tool.traits,
  });
  const { tools, shadowed, problems, skills } = await toolbox.catalog.survey();
  return {
    tools: tools.map(look),
    visible: (await toolbox.list()).map((tool) => tool.name),
    shadowed: shadowed.map(({ tool, by }) => [look(tool), by.origin.uri]),
    problems,
    skills,
  };
}

async function findOne(toolbox: NodeToolbox, ref: string) {
  try {
    const { name, description, input, origin } = await toolbox.find(ref);
    return {
      name,
      description,
      input: input.json,
      uri: origin.uri,
      owner: origin.owner,
      digest: origin.digest,
    };
  } catch (error) {
    const { code, message, hint, data } = error as Record<string, unknown>;
    return { code, message, hint, data };
  }
}

async function live(workspace: Workspace, root: string, steps: readonly Step[]): Promise<void> {
  let workdir = join(root, ROOTS[0]!);
  let config = '';
  let fresh = 0;
  const home = join(root, 'home');
  const registered = new Map<string, string>();
  const open = (state: string): NodeToolbox => {
    const wieldHome = join(root, state);
    mkdirSync(wieldHome, { recursive: true });
    writeFileSync(join(wieldHome, 'config.toml'), config);
    const toolbox = createNodeToolbox({
      workdir,
      env: { ...workspace.env, HOME: home, WIELD_HOME: wieldHome },
    });
    for (const [name, word] of registered) register(toolbox, name, word);
    return toolbox;
  };
  const register = (toolbox: NodeToolbox, name: string, word: string): void =>
    registerTool(toolbox, { name, description: word, src: `inline://${name}`, fn: () => word });
  // The long-lived toolbox keeps its state and index; every other one starts empty.
  let toolbox = open('state');
  for (const action of [{ do: 'list' } as const, ...steps, { do: 'list' } as const]) {
    switch (action.do) {
      case 'restart':
        toolbox = open('state');
        break;
      case 'workdir':
        workdir = join(root, action.root);
        toolbox.workspace.setWorkdir(workdir);
        break;
      case 'config':
        config = CONFIGS[action.config]!;
        writeFileSync(join(root, 'state/config.toml'), config);
        break;
      case 'register':
        if (!registered.has(action.name)) register(toolbox, action.name, action.word);
        if (!registered.has(action.name)) registered.set(action.name, action.word);
        break;
      case 'unregister':
        expect(toolbox.catalog.unregister(action.name)).toBe(registered.delete(action.name));
        break;
      case 'clear':
        if (action.name === undefined) toolbox.catalog.clearAllCaches();
        else toolbox.catalog.clearToolCache(action.name);
        break;
      case 'list': {
        const known = await answers(toolbox);
        expect(known).toEqual(await answers(open(`fresh${fresh++}`)));
        const given = known.tools.filter(({ origin }) => origin.uri !== null && !origin.uri.endsWith('/SKILL.md'));
        expect(Object.fromEntries(given.map(({ name, origin }) => [name, origin.uri]))).toEqual(
          predict({ workdir, home, config, registered }),
        );
        break;
      }
      case 'find':
        expect(await findOne(toolbox, action.ref)).toEqual(await findOne(open(`fresh${fresh++}`), action.ref));
        break;
      case 'findAll': {
        const predicted = predict({ workdir, home, config, registered });
        const naive = open(`fresh${fresh++}`);
        for (const name of EVERY_NAME) {
          const known = await findOne(toolbox, name);
          expect([name, known]).toEqual([name, await findOne(naive, name)]);
          if (predicted[name] !== undefined) expect([name, known.uri]).toEqual([name, predicted[name]]);
        }
        break;
      }
      default:
        act(root, workdir, action);
    }
  }
  expect(await answers(open('state'))).toEqual(await answers(open('last')));
}

spec.thorough(
  'SCR-15 SCR-16 RES-3 RES-6 RES-9 RES-13 RES-14 RES-23',
  'agrees with a naive implementation after random changes',
  async () => {
    const workspace = createWorkspace();
    const create = () => prepare(mkdtempSync(join(workspace.dir, 'run-')));
    const roots = Array.from({ length: READY }, create);
    // Files that just changed are always read; only settled ones test the cache.
    await sleep(2300);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
        const root = roots.pop() ?? create();
        await live(workspace, root, steps);
        rmSync(root, { recursive: true });
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: LIMIT_MS },
    );
  },
  LIMIT_MS + 120_000,
);
