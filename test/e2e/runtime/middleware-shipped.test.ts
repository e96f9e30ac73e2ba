// retry, cache and rateLimit: for which tools and outcomes they act, and within which bounds.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import {
  type Caller,
  cache,
  createToolbox,
  defineTool,
  type Middleware,
  rateLimit,
  retry,
  type Toolbox,
  type ToolDefinition,
  ToolError,
} from '../../../src/index.js';
import { patience } from '../../support/patience.js';
import { sleep } from '../../support/processes.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

function counting(
  name: string,
  rest: Partial<ToolDefinition> = {},
  answer: (run: number, input: unknown) => unknown = (run) => run,
): ToolDefinition & { runs(): number } {
  let runs = 0;
  const definition = defineTool({
    name,
    description: 'Counts its runs.',
    inputSchema: { type: 'object', properties: { q: {}, r: {} } },
    execute: (input) => answer(++runs, input),
    ...rest,
  });
  return Object.assign({ ...definition }, { runs: () => runs });
}

function open(tools: readonly (ToolDefinition & { runs(): number })[], middleware: readonly Middleware[]): Toolbox {
  const toolbox = createToolbox({
    tools: tools.map(({ runs: _, ...definition }) => definition as ToolDefinition),
    middleware,
  });
  onTestFinished(() => toolbox.close());
  return toolbox;
}

const failing = (code: ConstructorParameters<typeof ToolError>[0], times: number) => (run: number) => {
  if (run <= times) throw new ToolError(code, 'not yet', { hint: 'wait' });
  return 'done';
};

describe('retry', () => {
  spec('RUN-9', 'repeats what may pass by itself, for tools that say a second run does no harm', async () => {
    const tools = {
      reads: counting('reads', { readOnly: true }, failing('io', 2)),
      same: counting('same', { idempotent: true }, failing('busy', 2)),
      changes: counting('changes', {}, failing('io', 2)),
      forced: counting('forced', {}, failing('io', 2)),
      wrong: counting('wrong', { readOnly: true }, failing('tool_failed', 2)),
      never: counting('never', { readOnly: true }, failing('io', 99)),
    };
    const toolbox = open(Object.values(tools), [
      retry({ for: 'forced', waitMs: 1, assumeIdempotent: true }),
      retry({ for: 'reads same changes wrong never', attempts: 3, waitMs: 1 }),
    ]);
    for (const name of ['reads', 'same', 'forced'] as const) {
      expect(await toolbox.call(name, {})).toMatchObject({ structured: 'done', meta: { attempts: 3 } });
      expect(tools[name].runs()).toBe(3);
    }
    expect((await toolbox.call('changes', {})).error?.code).toBe('io');
    expect((await toolbox.call('wrong', {})).error?.code).toBe('tool_failed');
    expect(await toolbox.call('never', {})).toMatchObject({ error: { code: 'io' }, meta: { attempts: 3 } });
    expect([tools.changes.runs(), tools.wrong.runs(), tools.never.runs()]).toEqual([1, 1, 3]);
    expect((await toolbox.call('reads', {})).meta.attempts).toBeUndefined();
  });

  spec('RUN-9', 'waits neither past the time limit nor past the signal', async () => {
    const fails = counting('fails', { readOnly: true }, failing('io', 99));
    const toolbox = open([fails], [retry({ waitMs: 1_000_000, maxWaitMs: 1_000_000 })]);
    const began = performance.now();
    expect((await toolbox.call('fails', {}, { timeoutMs: 100_000 })).error?.code).toBe('io');
    expect(fails.runs()).toBe(1);
    const controller = new AbortController();
    const call = toolbox.call('fails', {}, { signal: controller.signal, timeoutMs: 10_000_000 });
    await expect.poll(fails.runs).toBe(2);
    controller.abort();
    expect((await call).error?.code).toBe('cancelled');
    expect(fails.runs()).toBe(2);
    expect(performance.now() - began).toBeLessThan(patience(90_000));
  });

  spec('RUN-9', 'repeats a process with the same plan, and never one whose bytes changed', async () => {
    const workspace = createWorkspace();
    const log = join(workspace.dir, 'log');
    workspace.script(
      'flaky',
      `#!/bin/sh\n# @description Flaky.\n# @readonly\necho run >> log\n[ $(wc -l < log) -ge 2 ] && echo fine\n`,
    );
    const toolbox = workspace.toolbox({ middleware: [(_, next) => next().then(() => next())] });
    const result = await toolbox.call('flaky', {}, { timeoutMs: 90_000 });
    expect(result.content).toEqual([{ type: 'text', text: 'fine\n' }]);
    expect(readFileSync(log, 'utf8')).toBe('run\nrun\n');
    const script = join(workspace.dir, '.agents/tools/flaky');
    const changing = workspace.toolbox({
      middleware: [
        async (_, next) => {
          await next();
          writeFileSync(script, '#!/bin/sh\n# @description Flaky.\n# @readonly\necho other\n');
          return next();
        },
      ],
    });
    expect((await changing.call('flaky', {})).error?.code).toBe('integrity');
  });
});

describe('cache', () => {
  const caller = (name: string): { caller: Caller } => ({ caller: { kind: 'model', door: 'test', name } });

  spec('RUN-9', 'answers an equal call of a read-only tool, for the same caller and workdir', async () => {
    const reads = counting('reads', { readOnly: true });
    const toolbox = open([reads], [cache()]);
    const call = async (input: unknown, options = caller('Ada')) => {
      const { structured, meta } = await toolbox.call('reads', input, options);
      return [structured, meta.cached];
    };
    expect(await call({ q: 1, r: { a: 1, b: 2 } })).toEqual([1, undefined]);
    expect(await call({ r: { b: 2, a: 1 }, q: 1 })).toEqual([1, true]);
    expect(await call({ q: 2 })).toEqual([2, undefined]);
    expect(await call({ q: 2 }, caller('Ben'))).toEqual([3, undefined]);
    toolbox.workspace.setWorkdir('/tmp');
    expect(await call({ q: 2 })).toEqual([4, undefined]);
    toolbox.workspace.setWorkdir('/');
    expect(await call({ q: 2 })).toEqual([2, true]);
    expect(reads.runs()).toBe(4);
  });

  spec('RUN-9', 'never keeps a failure, a cut output, or what a changing tool gave', async () => {
    const tools = {
      changes: counting('changes'),
      destroys: counting('destroys', { readOnly: true, destructive: true }),
      fails: counting('fails', { readOnly: true }, failing('tool_failed', 1)),
    };
    const toolbox = open(Object.values(tools), [cache()]);
    for (const name of Object.keys(tools)) for (let at = 0; at < 3; at++) await toolbox.call(name, {});
    expect(Object.values(tools).map((one) => one.runs())).toEqual([3, 3, 2]);

    const workspace = createWorkspace();
    workspace.config('[limits]\noutput = "10"\n');
    workspace.script('long', '#!/bin/sh\n# @description Long.\n# @readonly\necho x >> log\nseq 1 1000\n');
    workspace.script('short', '#!/bin/sh\n# @description Short.\n# @readonly\necho y >> log\necho 1\n');
    const files = workspace.toolbox({ middleware: [cache()] });
    for (let at = 0; at < 2; at++) {
      expect((await files.call('long', {})).meta.truncated).toBe(true);
      expect((await files.call('short', {})).meta.cached).toBe(at === 0 ? undefined : true);
    }
    expect(readFileSync(join(workspace.dir, 'log'), 'utf8').split('\n').sort().join('')).toBe('xxy');
  });

  spec('RUN-9', 'is bounded in age, entries and bytes, and cannot be changed by who got an answer', async () => {
    const reads = counting('reads', { readOnly: true }, (run, input) => ({ run, input }));
    const toolbox = open([reads], [cache({ maxEntries: 2, maxAgeMs: 60_000, maxBytes: 2000 })]);
    const call = async (q: unknown) => {
      const { structured, meta } = await toolbox.call('reads', { q });
      return { run: (structured as { run: number }).run, cached: meta.cached === true, structured };
    };
    const first = await call('a');
    (first.structured as { run: number }).run = 99;
    expect(await call('a')).toMatchObject({ run: 1, cached: true });
    await call('b');
    await call('a');
    await call('c');
    expect(await call('a')).toMatchObject({ run: 1, cached: true });
    expect(await call('b')).toMatchObject({ run: 4, cached: false });
    await call('x'.repeat(5000));
    expect(await call('x'.repeat(5000))).toMatchObject({ cached: false });
    expect(await call('b')).toMatchObject({ cached: true });

    const brief = counting('brief', { readOnly: true });
    const aging = open([brief], [cache({ maxAgeMs: 1 })]);
    await aging.call('brief', {});
    await sleep(20);
    expect((await aging.call('brief', {})).structured).toBe(2);
  });

  spec('RUN-9', 'holds for the same bytes only', async () => {
    const workspace = createWorkspace();
    const write = (word: string) =>
      workspace.script('say', `#!/bin/sh\n# @description Say.\n# @readonly\necho ${word}\n`);
    write('one');
    const toolbox = workspace.toolbox({ middleware: [cache()] });
    const say = async () => {
      const { content, meta } = await toolbox.call('say', {});
      return [content[0], meta.cached];
    };
    expect(await say()).toEqual([{ type: 'text', text: 'one\n' }, undefined]);
    expect(await say()).toEqual([{ type: 'text', text: 'one\n' }, true]);
    write('two');
    expect(await say()).toEqual([{ type: 'text', text: 'two\n' }, undefined]);
  });

  spec('RUN-9', 'equal calls at the same time each run, so that cancelling one ends only that one', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const waits = counting('waits', { readOnly: true }, async (run) => {
      await released;
      return run;
    });
    const toolbox = open([waits], [cache()]);
    const controller = new AbortController();
    const first = toolbox.call('waits', {}, { signal: controller.signal });
    const second = toolbox.call('waits', {});
    await expect.poll(waits.runs).toBe(2);
    controller.abort();
    expect((await first).error?.code).toBe('cancelled');
    release();
    expect((await second).ok).toBe(true);
    expect(waits.runs()).toBe(2);
  });
});

describe('rateLimit', () => {
  const codes = async (calls: readonly Promise<{ error?: { code: string } }>[]) =>
    (await Promise.all(calls)).map((result) => result.error?.code ?? 'ok');

  spec('RUN-9', 'lets so many through, then is busy and says when', async () => {
    const tools = [counting('a', { group: 'g' }), counting('b', { group: 'g' }), counting('c')];
    const everyMs = 3_600_000;
    const toolbox = open(tools, [rateLimit({ for: 'a b', calls: 2, everyMs })]);
    expect(await codes(['a', 'a', 'a', 'b', 'c', 'c', 'c'].map((name) => toolbox.call(name, {})))).toEqual([
      'ok',
      'ok',
      'busy',
      'ok',
      'ok',
      'ok',
      'ok',
    ]);
    const { error } = await toolbox.call('a', {});
    expect(error?.message).toBe('a was not run: at most 2 calls in 60 min');
    expect(error?.hint).toBe('call again in 30 min');
    expect(error?.data?.retryAfterMs).toBeGreaterThan(1_700_000);

    const grouped = open(tools, [rateLimit({ per: 'group', calls: 1, everyMs })]);
    expect(await codes(['a', 'b', 'c'].map((name) => grouped.call(name, {})))).toEqual(['ok', 'busy', 'ok']);
    const all = open(tools, [rateLimit({ per: 'all', calls: 1, everyMs })]);
    expect(await codes(['a', 'b', 'c'].map((name) => all.call(name, {})))).toEqual(['ok', 'busy', 'busy']);
    const callers = open(tools, [rateLimit({ per: 'caller', calls: 1, everyMs })]);
    const as = (name: string) => ({ caller: { kind: 'model', door: 'test', name } as const });
    expect(
      await codes([
        callers.call('a', {}, as('Ada')),
        callers.call('b', {}, as('Ada')),
        callers.call('b', {}, as('Ben')),
      ]),
    ).toEqual(['ok', 'busy', 'ok']);
  });

  spec('RUN-9', 'waits up to a bound, and gives back the turn of who did not wait', async () => {
    const counts = counting('a');
    const toolbox = open([counts], [rateLimit({ calls: 10, everyMs: 500, maxWaitMs: 60_000 })]);
    const began = performance.now();
    const results = await Promise.all(Array.from({ length: 16 }, () => toolbox.call('a', {})));
    expect(results.every((result) => result.ok)).toBe(true);
    // Six wait for a turn, one each 50 ms.
    expect(performance.now() - began).toBeGreaterThan(250);

    const slow = open([counting('a')], [rateLimit({ calls: 1, everyMs: 100_000, maxWaitMs: 150_000 })]);
    expect((await slow.call('a', {})).ok).toBe(true);
    const controller = new AbortController();
    const waiting = slow.call('a', {}, { signal: controller.signal });
    await sleep(20);
    expect((await slow.call('a', {})).error?.code).toBe('busy');
    controller.abort();
    expect((await waiting).error?.code).toBe('cancelled');
    const again = new AbortController();
    const taken = slow.call('a', {}, { signal: again.signal });
    await sleep(20);
    again.abort();
    expect((await taken).error?.code).toBe('cancelled');
  });

  spec('RUN-9', 'counts every run of a retry around it, which comes back when it is told to', async () => {
    const flaky = counting('flaky', { readOnly: true }, failing('io', 1));
    const toolbox = open([flaky], [retry({ attempts: 4, waitMs: 1 }), rateLimit({ calls: 1, everyMs: 200 })]);
    const began = performance.now();
    expect((await toolbox.call('flaky', {})).structured).toBe('done');
    expect(performance.now() - began).toBeGreaterThan(150);
    expect(flaky.runs()).toBe(2);
  });
});

spec('RUN-9', 'numbers that cannot be meant are refused', () => {
  for (const make of [
    () => retry({ attempts: 0 }),
    () => retry({ waitMs: -1 }),
    () => cache({ maxAgeMs: Number.NaN }),
    () => cache({ maxEntries: 0 }),
    () => rateLimit({ calls: 0 }),
    () => rateLimit({} as never),
  ])
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
});

describe('results that are too large to be shown', () => {
  const large = '#!/bin/sh\n# @description Counts.\n# @readonly\ndate +%N > ran\nseq 1 20000\n';
  const textAt = async (toolbox: Toolbox, id: string, lines: string): Promise<unknown> =>
    (await toolbox.call('read_result', { id, lines })).content[0];

  spec('RUN-9 CTX-1', 'come from a cache as they came from the tool, each with a handle of its own', async () => {
    const workspace = createWorkspace();
    workspace.script('numbers', large);
    const toolbox = workspace.toolbox({ middleware: [cache()] });
    const first = await toolbox.call('numbers', {});
    const ran = readFileSync(join(workspace.dir, 'ran'), 'utf8');
    const second = await toolbox.call('numbers', {});
    expect(readFileSync(join(workspace.dir, 'ran'), 'utf8')).toBe(ran);
    expect([second.error, second.meta.cached]).toEqual([undefined, true]);
    expect(second.meta.handle!.id).not.toBe(first.meta.handle!.id);
    for (const { meta } of [first, second]) {
      expect(meta.handle).toMatchObject({ size: 108_894, kind: 'text' });
      expect(await textAt(toolbox, meta.handle!.id, '20000')).toEqual({ type: 'text', text: '20000\n' });
    }
  });

  spec('RUN-9 EXE-7', 'keep their bytes through what only looks on, and hold what was put in their place', async () => {
    const workspace = createWorkspace();
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.alloc(20_000, 0x61)]);
    workspace.write('payload', bytes);
    workspace.script('payload', '#!/bin/sh\n# @description Prints.\nexec cat payload\n');
    const looking = workspace.toolbox({ middleware: [rateLimit({ calls: 10 })] });
    const { handle } = (await looking.call('payload', {})).meta;
    expect(handle).toMatchObject({ size: bytes.length, kind: 'binary' });
    const changing = workspace.toolbox({
      middleware: [
        async (_call, next) => ({
          ...(await next()),
          content: [{ type: 'text', text: 'x'.repeat(20_000) }],
        }),
      ],
    });
    const changed = (await changing.call('payload', {})).meta.handle;
    expect(changed).toMatchObject({ size: 20_000, kind: 'text', preview: expect.stringMatching(/^x+…$/) });
  });
});
