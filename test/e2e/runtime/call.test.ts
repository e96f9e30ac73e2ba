// The one path of a call, through the toolbox: never a throw, one shape, one frozen plan, all faults at once.

import fc from 'fast-check';
import { expect } from 'vitest';
import { ERROR_CODES } from '../../../src/core/error.js';
import type { Part, ToolResult } from '../../../src/core/result.js';
import { createToolbox } from '../../../src/index.js';
import { echo, TYPED } from '../../support/echo-tool.js';
import { rounds } from '../../support/effort.js';
import { nodeScript, READ_STDIN, shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

// TOOL-20
function expectShape(result: ToolResult): void {
  const allowed = ['ok', 'content', 'structured', 'error', 'meta'];
  expect(Object.keys(result).filter((key) => !allowed.includes(key))).toEqual([]);
  expect(result.ok).toBe(result.error === undefined);
  expect(result.content.length).toBeGreaterThan(0);
  expect(result.content.every((part: Part) => typeof part.type === 'string')).toBe(true);
  expect(result.meta.durationMs).toBeGreaterThanOrEqual(0);
  if (result.error === undefined) return;
  expect(Object.hasOwn(ERROR_CODES, result.error.code)).toBe(true);
  expect(result.error.code).not.toBe('internal');
  expect(result.error.message).toMatch(/\S/);
  expect(result.error.hint).toMatch(/./);
  expect(JSON.parse(JSON.stringify(result.error))).toEqual(result.error);
}

const anything = fc.oneof(
  fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withNullPrototype: true,
    withBoxedValues: true,
    withObjectString: true,
    withUnicodeString: true,
  }),
  fc.dictionary(fc.constantFrom(...Object.keys(TYPED.properties), '__proto__', 'constructor'), fc.anything()),
  fc.constantFrom(
    Symbol('x'),
    () => 1,
    new Proxy({}, { ownKeys: () => [][0]! }),
    Object.defineProperty({}, 'text', { enumerable: true, get: () => JSON.parse('{') }),
    Array(2 ** 32 - 1),
  ),
);

spec.thorough('RUN-1 TOOL-20 ERR-6', 'whatever is called with whatever, the outcome is a result', async () => {
  const workspace = createWorkspace();
  workspace.script('script', shellScript('cat', '@param text string', '@param object object'));
  const toolbox = workspace.toolbox({
    tools: [echo(TYPED), echo(undefined, 'none'), echo({ type: 'object' }, 'open')],
  });
  const ref = fc.oneof(
    fc.constantFrom('echo', 'none', 'open', 'script', '__proto__', 'constructor', 'toString', '../x', 'a:b', ''),
    fc.string({ unit: 'binary' }),
    fc.anything() as fc.Arbitrary<string>,
  );
  await fc.assert(
    fc.asyncProperty(ref, anything, async (name, input) => {
      expectShape(await toolbox.call(name, input));
    }),
    { numRuns: rounds(60, 400) },
  );
});

spec('RUN-1', 'a circle in the input is refused', async () => {
  const circle: Record<string, unknown> = {};
  circle.text = circle;
  const result = await createToolbox({ tools: [echo({ type: 'object' })] }).call('echo', circle);
  expect(result.error?.code).toBe('invalid_input');
});

spec('RUN-1', 'the caller keeps its input: it is neither changed nor frozen', async () => {
  const input = { object: { inner: 1 }, count: '3', text: undefined };
  const result = await createToolbox({ tools: [echo(TYPED)] }).call('echo', input);
  expect(result.structured).toEqual({ got: { object: { inner: 1 }, count: 3 } });
  expect(Object.isFrozen(input) || Object.isFrozen(input.object)).toBe(false);
  expect(input).toEqual({ object: { inner: 1 }, count: '3', text: undefined });
});

spec('RUN-2', 'the plan is frozen at every depth, and is what runs', async () => {
  const workspace = createWorkspace();
  workspace.script(
    'mirror',
    nodeScript(
      `${READ_STDIN}
      console.log(JSON.stringify({ input, argv: process.argv.slice(1), cwd: process.cwd(), env: process.env, binary: process.execPath }));`,
      '@param object object',
    ),
  );
  const toolbox = workspace.toolbox();
  const { plan } = await toolbox.plan('mirror', { object: { deep: [{ x: 1 }] } });
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    expect(Object.isFrozen(value), path).toBe(true);
    for (const [key, child] of Object.entries(value)) walk(child, `${path}.${key}`);
  };
  walk(plan, 'plan');
  if (plan.kind !== 'process') throw new Error('a script is a process');
  const ran = (await toolbox.call('mirror', { object: { deep: [{ x: 1 }] } })).structured as unknown as {
    input: string;
    argv: string[];
    cwd: string;
    env: Record<string, string>;
    binary: string;
  };
  const { WIELD_CALL, ...env } = ran.env;
  expect(WIELD_CALL).toMatch(/./);
  expect(env).toEqual(plan.environment);
  expect({ input: ran.input, argv: ran.argv, cwd: ran.cwd, binary: ran.binary }).toEqual({
    input: plan.stdin,
    argv: plan.argv,
    cwd: plan.cwd,
    binary: plan.interpreter,
  });
});

spec('RUN-3', 'all faults at once, each with path, what was expected and what came', async () => {
  const toolbox = createToolbox({ tools: [echo({ ...TYPED, required: ['text', 'flag'] })] });
  const result = await toolbox.call('echo', {
    count: 'many',
    list: [1, 'x'],
    object: { inner: 1.5 },
    colour: 'red',
  });
  expect(result.error?.code).toBe('invalid_input');
  const { faults } = result.error!.data as { faults: { path: string; expected: string; got: string }[] };
  expect(faults.map((fault) => fault.path).sort()).toEqual(
    ['/colour', '/count', '/flag', '/list/1', '/object/inner', '/text'].sort(),
  );
  for (const fault of faults)
    expect(fault).toEqual({
      path: fault.path,
      expected: expect.stringMatching(/./),
      got: expect.stringMatching(/./),
    });
  expect(faults).toContainEqual({ path: '/count', expected: 'integer', got: 'text "many"' });
  expect(result.error?.message).toContain('missing required parameter "text"');
});

spec('RUN-3', 'undeclared parameters are refused, unless the root speaks of them or declares none', async () => {
  const toolbox = createToolbox({
    tools: [
      echo(TYPED, 'closed'),
      echo(undefined, 'none'),
      echo({ ...TYPED, additionalProperties: true }, 'said'),
      echo({ ...TYPED, additionalProperties: { type: 'integer' } }, 'typed'),
      echo({ type: 'object' }, 'open'),
      echo({ ...TYPED, allOf: [{ properties: { extra: { type: 'string' } } }] }, 'composed'),
    ],
  });
  const code = async (name: string, input: unknown): Promise<string> =>
    (await toolbox.call(name, input)).error?.code ?? 'ok';
  expect(await code('closed', { extra: 'x' })).toBe('invalid_input');
  expect(await code('none', { extra: 'x' })).toBe('invalid_input');
  expect(await code('said', { extra: 'x' })).toBe('ok');
  expect(await code('typed', { extra: 'x' })).toBe('invalid_input');
  expect(await code('typed', { extra: 1 })).toBe('ok');
  expect(await code('open', { extra: 'x' })).toBe('ok');
  expect(await code('composed', { extra: 'x' })).toBe('ok');
  expect(await code('composed', { other: 'x' })).toBe('invalid_input');
});
