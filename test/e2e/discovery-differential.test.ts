// Proves by random histories of a directory that a long-lived toolbox and the index answer as a naive reading does.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { createNodeToolbox, type NodeToolbox } from '../../src/node.js';
import { sleep } from '../support/processes.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const NAMES = ['a', 'b', 'c-d', 'e.sh', 'F', '-g'];
const TEXTS = [
  '#!/bin/sh\n# @description one\n',
  '#!/bin/sh\n# @description two\n',
  '#!/bin/sh\n# @description one\n# @param *x int X\n',
  '#!/bin/sh\n# @param x int X\n',
  '#!/bin/sh\n# @description one\n# @hidden\n',
  'no shebang\n',
  '',
];
const DIRECTORIES = ['p', 'q'];
const RUNS = 120;

type Step =
  | { do: 'write'; name: string; text: string; backdate: boolean }
  | { do: 'rename' | 'link'; name: string; to: string }
  | { do: 'delete'; name: string }
  | { do: 'chmod'; name: string; mode: number }
  | { do: 'workdir'; directory: string }
  | { do: 'list' | 'restart' }
  | { do: 'find'; name: string };

const name = fc.constantFrom(...NAMES);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      name,
      text: fc.constantFrom(...TEXTS),
      backdate: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('rename' as const, 'link' as const), name, to: name }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('chmod' as const), name, mode: fc.constantFrom(0o644, 0o755) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('workdir' as const), directory: fc.constantFrom(...DIRECTORIES) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('list' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('find' as const), name }) },
);

// Everything that a caller can learn, schemas included.
async function answers(toolbox: NodeToolbox) {
  const look = (tool: Awaited<ReturnType<NodeToolbox['find']>>) => ({
    name: tool.name,
    description: tool.description,
    input: tool.input.json,
    origin: { ...tool.origin, digest: null },
    traits: tool.traits,
  });
  return {
    tools: (await toolbox.list({ hidden: true })).map(look),
    visible: (await toolbox.list()).map((tool) => tool.name),
    problems: await toolbox.problems(),
  };
}

async function findOne(toolbox: NodeToolbox, ref: string) {
  try {
    const { description, input, origin } = await toolbox.find(ref);
    return { description, input: input.json, digest: origin.digest };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
}

function act(tools: string, action: Step): void {
  if (!('name' in action) || action.do === 'find') return;
  const path = join(tools, action.name);
  switch (action.do) {
    case 'write':
      if (existsSync(path)) writeFileSync(path, action.text);
      else {
        rmSync(path, { force: true });
        writeFileSync(path, action.text, { mode: 0o755 });
      }
      if (action.backdate) utimesSync(path, 1_000_000, 1_000_000);
      break;
    case 'rename':
      if (existsSync(path)) renameSync(path, join(tools, action.to));
      break;
    case 'link':
      rmSync(path, { force: true });
      symlinkSync(action.to, path);
      break;
    case 'delete':
      rmSync(path, { force: true });
      break;
    case 'chmod':
      if (existsSync(path)) chmodSync(path, action.mode);
      break;
  }
}

// Two directories with enough files that the index on disk is kept, and some of those that the steps change.
function prepare(root: string): string {
  for (const directory of DIRECTORIES) {
    const tools = join(root, directory, '.agents/tools');
    mkdirSync(tools, { recursive: true });
    for (let index = 0; index < 16; index++)
      writeFileSync(join(tools, `z${index}`), `#!/bin/sh\n# @description filler ${index}\n`, { mode: 0o755 });
    for (const file of NAMES.slice(0, 4)) writeFileSync(join(tools, file), TEXTS[0]!, { mode: 0o755 });
  }
  return root;
}

async function live(workspace: Workspace, root: string, steps: readonly Step[]): Promise<void> {
  let workdir = join(root, 'p');
  let fresh = 0;
  const open = (state: string) =>
    createNodeToolbox({ workdir, env: { ...workspace.env, WIELD_HOME: join(root, state) } });
  let toolbox = open('state');
  for (const action of [{ do: 'list' } as const, ...steps]) {
    if (action.do === 'restart') toolbox = open('state');
    else if (action.do === 'workdir') {
      workdir = join(root, action.directory);
      toolbox.setWorkdir(workdir);
    } else if (action.do === 'list') {
      expect(await answers(toolbox)).toEqual(await answers(open(`fresh${fresh++}`)));
    } else if (action.do === 'find') {
      expect(await findOne(toolbox, action.name)).toEqual(
        await findOne(open(`fresh${fresh++}`), action.name),
      );
    } else act(join(workdir, '.agents/tools'), action);
  }
  expect(await answers(toolbox)).toEqual(await answers(open('last')));
  expect(await answers(open('state'))).toEqual(await answers(open('last')));
}

spec(
  'SCR-15 SCR-16 RES-13',
  'random histories: the answers are always those of a naive reading',
  async () => {
    const workspace = createWorkspace();
    const create = () => prepare(mkdtempSync(join(workspace.dir, 'run-')));
    const roots = Array.from({ length: RUNS }, create);
    // What changed a moment ago is read at every look; only what rested is believed, and worth trying.
    await sleep(2300);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        await live(workspace, roots.pop() ?? create(), steps);
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 15_000 },
    );
  },
  120_000,
);
