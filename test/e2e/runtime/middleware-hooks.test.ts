// Hooks of middleware, and what the helpers tell of the call that they are given.

import { expect, onTestFinished } from 'vitest';
import { ctxCwd, ctxHookTarget, ctxHookTrigger, ctxPaths, ctxTarget } from '../../../src/helpers.js';
import { createToolbox, defineTool, type Middleware, type ServedCall, type ToolContext } from '../../../src/index.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const inputSchema = { type: 'object' };
const leaf = defineTool({ name: 'leaf', description: 'A leaf.', inputSchema, execute: () => 'leaf' });
const branch = defineTool({
  name: 'branch',
  description: 'Calls a leaf.',
  inputSchema,
  execute: (_: unknown, { toolbox }: ToolContext) => toolbox.call('leaf', {}),
});

function record(seen: string[], name: string, hook?: Middleware['hook']): Middleware {
  return {
    name,
    ...(hook === undefined ? {} : { hook }),
    run: (call, next) => {
      seen.push(`${name}: ${ctxHookTrigger(call) ?? '-'} ${ctxHookTarget(call)} of ${call.tool.name}`);
      return next();
    },
  };
}

spec('RUN-9 HLP-7', '$next runs around each entry after it and the tool, $invoke around nested calls', async () => {
  const seen: string[] = [];
  const toolbox = createToolbox({
    tools: [leaf, branch],
    middleware: [
      record(seen, 'a'),
      record(seen, 'step', '$next'),
      record(seen, 'nested', '$invoke'),
      record(seen, 'b'),
    ],
  });
  onTestFinished(() => toolbox.close());
  await toolbox.call('branch', {});
  expect(seen).toEqual([
    'a: - b of branch',
    'step: $next b of branch',
    'b: - branch of branch',
    'step: $next branch of branch',
    'a: - b of leaf',
    'nested: $invoke b of leaf',
    'step: $next b of leaf',
    'b: - leaf of leaf',
    'step: $next leaf of leaf',
  ]);
});

spec('HLP-7', 'the served call is one for all entries; outside of middleware there is none', async () => {
  const workspace = createWorkspace();
  const targets: ServedCall[] = [];
  const told: unknown[] = [];
  let context: ToolContext | undefined;
  const entry: Middleware['run'] = (call, next) => {
    targets.push(ctxTarget(call));
    told.push(ctxPaths(call), ctxCwd(call));
    return next();
  };
  const toolbox = workspace.toolbox({
    tools: [
      defineTool({
        name: 'keep',
        description: 'Keeps its context.',
        inputSchema,
        execute: (_: unknown, given: ToolContext) => {
          context = given;
          return ctxCwd(given);
        },
      }),
    ],
    middleware: [entry, { name: 'hook', hook: '$next', run: entry }, entry],
  });
  expect((await toolbox.call('keep', {})).structured).toBe(workspace.dir);
  expect(targets).toHaveLength(4);
  expect(new Set(targets).size).toBe(1);
  expect(targets[0]).toMatchObject({ input: {}, depth: 0, tool: { name: 'keep' } });
  expect(told.slice(0, 2)).toEqual([expect.arrayContaining([`${workspace.dir}/.agents/tools`]), workspace.dir]);
  await toolbox.call('keep', {});
  expect(new Set(targets).size).toBe(2);
  for (const ask of [ctxTarget, ctxPaths, ctxHookTrigger, ctxHookTarget]) {
    for (const outside of [context!, targets[0]!, {}])
      expect(() => ask(outside)).toThrow(expect.objectContaining({ code: 'usage' }));
  }
});
