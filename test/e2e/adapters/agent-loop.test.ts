// The agent loop, tested with the vendors' real SDKs and a scripted model.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type AgentLoopOptions,
  type LoopResult,
  type Provider,
  runAgentLoop,
  runChatTurn,
} from '../../../src/adapters/loop/index.js';
import { createToolbox, defineTool } from '../../../src/index.js';
import { type ModelServer, type Script, serveModel } from '../../support/model-server.js';
import { until } from '../../support/server.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { VENDORS, type Vendor } from '../../support/vendors.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const ASK = [{ role: 'user', content: 'Greet Ada and Bob.' }];

function createOffice(): Workspace {
  const workspace = createWorkspace();
  workspace.script(
    'greet',
    shellScript(
      '[ -z "$WIELD_PARAM_WAIT" ] || sleep "$WIELD_PARAM_WAIT"; echo "Hello, $WIELD_PARAM_WHO"',
      '@param *who string Whom to greet',
      '@param wait number Seconds to wait',
    ),
  );
  workspace.script(
    'deploy',
    shellScript('echo "$WIELD_PARAM_BRANCH" >> "$WIELD_WORKDIR/ran"; echo deployed', '@param *branch string Branch'),
  );
  workspace.config('[trust]\nrules = "deploy(branch=main,$deny) deploy(branch=next)"\n');
  return workspace;
}

interface Run {
  readonly server: ModelServer;
  readonly result: LoopResult;
}

async function drive(
  vendor: Vendor,
  workspace: Workspace,
  script: Script,
  more: Partial<AgentLoopOptions> = {},
): Promise<Run> {
  const server = await serveModel(script);
  const result = await runAgentLoop({
    client: vendor.connect(server.url),
    provider: vendor.provider,
    model: 'scripted',
    toolbox: workspace.toolbox({ trust: true }),
    messages: ASK,
    offer: ['task'],
    ...more,
  });
  expect(server.refused).toEqual([]);
  return { server, result };
}

describe.each(VENDORS)('$name', (vendor) => {
  spec(
    'SDK-3 SDK-4 SDK-5 SDK-6 SDK-10',
    'completes a task with parallel, malformed, denied, unapproved and repaired calls',
    async () => {
      const workspace = createOffice();
      const broken = vendor.sendsText ? '{"who": "Ad' : { whom: 'Ada' };
      const { server, result } = await drive(vendor, workspace, [
        ({ tools }) => {
          expect(tools).toEqual([
            'deploy',
            'greet',
            'complete_task',
            'fail_task',
            'wait_task',
            'query_result',
            'read_result',
          ]);
          return {
            text: 'Both at once.',
            calls: [
              { name: 'greet', args: { who: 'Ada', wait: 0.3 } },
              { name: 'greet', args: { who: 'Bob' } },
            ],
          };
        },
        ({ results }) => {
          // In the order of the calls, not in the order of completion.
          expect(results).toEqual([
            { text: 'Hello, Ada\n', isError: false },
            { text: 'Hello, Bob\n', isError: false },
          ]);
          return {
            calls: [
              { name: 'greet', args: broken },
              { name: 'grete', args: {} },
            ],
          };
        },
        ({ results }) => {
          expect(results.map(({ isError }) => isError)).toEqual([true, true]);
          expect(results[0]!.text).toMatch(/^\[invalid_input\].*\nhint: /s);
          expect(results[1]!.text).toMatch(/^\[not_found\].*hint: did you mean .*greet/s);
          return {
            calls: [
              { name: 'greet', args: { who: 'Ada' } },
              { name: 'deploy', args: { branch: 'main' } },
              { name: 'deploy', args: { branch: 'next' } },
              { name: 'deploy', args: { branch: 'test' } },
            ],
          };
        },
        ({ results }) => {
          expect(results.map(({ isError }) => isError)).toEqual([false, true, true, false]);
          expect(results[1]!.text).toMatch(/^\[denied\].*hint: /s);
          expect(results[2]!.text).toMatch(/^\[needs_approval\].*hint: .*wield approvals approve/s);
          return { text: 'Done.', calls: [{ name: 'complete_task', args: { summary: 'greeted' } }] };
        },
      ]);
      expect(result).toMatchObject({ status: 'completed', turns: 4, text: 'Done.' });
      expect(result.terminal?.tool).toBe('complete_task');
      expect(result.terminal?.result.content).toEqual([{ type: 'text', text: 'Task completed: greeted' }]);
      expect(server.seen).toHaveLength(4);
      expect(result.messages.slice(0, 1)).toEqual(ASK);
    },
  );

  spec('SDK-6 CTX-1 CTX-2', 'replaces a large result by a handle that the model can read', async () => {
    const workspace = createOffice();
    workspace.script('numbers', shellScript('seq 1 20000'));
    const { result } = await drive(vendor, workspace, [
      () => ({ calls: [{ name: 'numbers', args: {} }] }),
      ({ results }) => {
        const [{ text, isError }] = results as [{ text: string; isError: boolean }];
        expect([isError, text.length < 2000]).toEqual([false, true]);
        const id = /stored as (r_\S+)\./.exec(text)![1];
        return { calls: [{ name: 'read_result', args: { id, lines: '19999-20000' } }] };
      },
      ({ results }) => {
        expect(results).toEqual([{ text: '19999\n20000\n', isError: false }]);
        return { calls: [{ name: 'complete_task', args: { summary: 'read' } }] };
      },
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 3 });
  });

  spec('SDK-4', 'answers every call when cancelled', async () => {
    const workspace = createOffice();
    const started = join(workspace.dir, 'started');
    workspace.script('slow', shellScript(`touch ${started}; sleep 600`));
    const controller = new AbortController();
    const running = drive(
      vendor,
      workspace,
      [
        () => ({
          calls: [
            { name: 'greet', args: {} },
            { name: 'slow', args: {} },
          ],
        }),
      ],
      { signal: controller.signal },
    );
    await until(() => existsSync(started), 'the tool runs');
    controller.abort();
    const { result } = await running;
    expect(result).toMatchObject({ status: 'cancelled', turns: 1 });
    // As vendors require, so that the conversation can be continued.
    const server = await serveModel([({ results }) => ({ text: results.map(({ text }) => text).join('|') })]);
    const next = await runChatTurn({
      client: vendor.connect(server.url),
      provider: vendor.provider,
      model: 'scripted',
      toolbox: workspace.toolbox({ trust: true }),
      messages: result.messages,
    });
    expect(server.refused).toEqual([]);
    expect(next.text).toMatch(/^\[invalid_input\].*\|\[cancelled\]/s);
  });

  spec.thorough('SDK-3', 'ends if no tool is called, and after the maximum number of turns', async () => {
    const workspace = createOffice();
    const silent = await drive(vendor, workspace, [() => ({ text: 'No need.' })]);
    expect(silent.result).toMatchObject({ status: 'stopped', text: 'No need.', turns: 1 });
    const call = () => ({ calls: [{ name: 'greet', args: { who: 'Ada' } }] });
    const endless = await drive(vendor, workspace, Array(5).fill(call), { maxTurns: 3 });
    expect(endless.result).toMatchObject({ status: 'max_turns', turns: 3 });
    expect(JSON.stringify(endless.result.messages.at(-1))).toContain('Hello, Ada');
  });

  spec('SDK-9', 'a chat turn ends when the model calls no tool', async () => {
    const workspace = createOffice();
    const server = await serveModel([
      () => ({ calls: [{ name: 'greet', args: { who: 'Ada' } }] }),
      ({ results }) => ({ text: `It said: ${results[0]!.text.trim()}` }),
      ({ body }) => ({ text: JSON.stringify(body).includes('And again?') ? 'Again.' : 'What?' }),
    ]);
    const options = {
      client: vendor.connect(server.url),
      provider: vendor.provider,
      model: 'scripted',
      toolbox: workspace.toolbox({ trust: true }),
    };
    const first = await runChatTurn({ ...options, messages: [], input: 'Greet Ada.' });
    expect(first).toMatchObject({ status: 'stopped', text: 'It said: Hello, Ada' });
    const second = await runChatTurn({ ...options, messages: first.messages, input: 'And again?' });
    expect(second.text).toBe('Again.');
    expect(server.refused).toEqual([]);
  });

  spec('SDK-4', 'does not run calls of a truncated message', async () => {
    const workspace = createOffice();
    await drive(vendor, workspace, [
      () => ({ calls: [{ name: 'deploy', args: { branch: 'test' } }], reason: 'cut' }),
      ({ results }) => {
        expect(results[0]).toMatchObject({ isError: true, text: expect.stringContaining('cut off') });
        return { text: 'I see.' };
      },
    ]);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });

  const INCOMPLETE: Record<Provider, readonly string[]> = {
    anthropic: ['model_context_window_exceeded', 'refusal'],
    openai: ['content_filter', 'model_length'],
    'openai-responses': ['failed', 'cancelled'],
    ollama: ['error'],
  };
  for (const [reason, runs] of [
    ...INCOMPLETE[vendor.provider].map((word) => [word, false] as const),
    ...['a word of another server', null].map((word) => [word, true] as const),
  ])
    spec('SDK-4', `${runs ? 'runs' : 'does not run'} calls of a message that ended by ${reason}`, async () => {
      const workspace = createOffice();
      await drive(vendor, workspace, [
        () => ({ calls: [{ name: 'greet', args: { who: 'Ada' } }], reason }),
        ({ results }) => {
          expect(results[0]).toEqual(
            runs
              ? { isError: false, text: 'Hello, Ada\n' }
              : { isError: true, text: expect.stringContaining(`cut off (${reason})`) },
          );
          return { text: 'I see.' };
        },
      ]);
    });

  test('asks for approval, with the model as the caller', async () => {
    const workspace = createOffice();
    const asked: string[] = [];
    await drive(
      vendor,
      workspace,
      [
        () => ({ calls: [{ name: 'deploy', args: { branch: 'next' } }] }),
        ({ results }) => {
          expect(results).toEqual([{ text: 'deployed\n', isError: false }]);
          return {};
        },
      ],
      {
        approve: async ({ caller }) => {
          asked.push(`${caller.kind} ${caller.door} ${caller.name}`);
          return 'once';
        },
      },
    );
    expect(asked).toEqual([`model ${vendor.door} scripted`]);
  });

  test('gives the same result in strict mode', async () => {
    const workspace = createOffice();
    const strict = vendor.provider !== 'ollama';
    const { server } = await drive(
      vendor,
      workspace,
      [
        () => ({
          calls: [{ name: 'greet', args: { who: 'Ada', ...(vendor.door === 'openai' ? { wait: null } : {}) } }],
        }),
        ({ results }) => {
          expect(results).toEqual([{ text: 'Hello, Ada\n', isError: false }]);
          return {};
        },
      ],
      { strict: true },
    );
    expect(JSON.stringify(server.seen[0]!.body.tools).includes('"strict":true')).toBe(strict);
  });
});

describe('terminal tools', () => {
  const anthropic = VENDORS[0]!;

  spec('SDK-10', 'each sets the status and result after its turn', async () => {
    for (const [name, args, status, text] of [
      ['complete_task', { summary: 'all' }, 'completed', 'Task completed: all'],
      ['fail_task', { reason: 'no way' }, 'failed', 'Task failed: no way'],
      ['wait_task', { reason: 'Bob' }, 'waiting', 'Task waiting: Bob'],
    ] as const) {
      const { result, server } = await drive(anthropic, createOffice(), [
        () => ({
          calls: [
            { name, args },
            { name: 'greet', args: { who: 'Ada' } },
          ],
        }),
      ]);
      expect(result).toMatchObject({
        status,
        terminal: { tool: name, result: { ok: true, content: [{ text }] } },
      });
      expect(JSON.stringify(result.messages.at(-1))).toContain('Hello, Ada');
      expect(server.seen).toHaveLength(1);
    }
  });

  spec('SDK-5', 'are offered only on request, and a failed one does not end the loop', async () => {
    const workspace = createOffice();
    await drive(
      anthropic,
      workspace,
      [
        ({ tools }) => {
          expect(tools).toEqual(['deploy', 'greet', 'query_result', 'read_result']);
          return { calls: [{ name: 'complete_task', args: { summary: 'x' } }] };
        },
        ({ results }) => {
          expect(results[0]).toMatchObject({ isError: true, text: expect.stringContaining('[not_found]') });
          return {};
        },
      ],
      { offer: [] },
    );
    const { result } = await drive(anthropic, workspace, [
      () => ({ calls: [{ name: 'complete_task', args: {} }] }),
      () => ({ calls: [{ name: 'complete_task', args: { summary: 'x' } }] }),
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect((await workspace.toolbox().list()).map((tool) => tool.name)).toEqual(['deploy', 'greet']);
  });

  spec('SDK-3 SDK-5', 'work with tools defined in code; a custom terminal tool completes', async () => {
    const server = await serveModel([
      ({ tools }) => {
        expect(tools).toEqual(['finish', 'complete_task', 'fail_task', 'wait_task']);
        return { calls: [{ name: 'finish', args: {} }] };
      },
    ]);
    const result = await runAgentLoop({
      client: anthropic.connect(server.url),
      model: 'scripted',
      toolbox: createToolbox({
        tools: [defineTool({ name: 'finish', description: 'End.', terminal: true, execute: () => 'over' })],
      }),
      messages: ASK,
      offer: ['task'],
    });
    expect(result).toMatchObject({ status: 'completed', terminal: { tool: 'finish' } });
  });
});

describe('the loop', () => {
  const toolbox = createToolbox({ tools: [] });

  test('recognises clients by their methods and rejects unknown ones', async () => {
    for (const vendor of VENDORS.filter(({ provider }) => provider !== 'openai-responses')) {
      const server = await serveModel([() => ({ text: 'Here.' })]);
      const client = vendor.connect(server.url);
      expect((await runAgentLoop({ client, model: 'scripted', toolbox, messages: ASK })).text).toBe('Here.');
    }
    const unknown = runAgentLoop({ client: {} as never, model: 'x', toolbox, messages: ASK });
    await expect(unknown).rejects.toMatchObject({ code: 'usage', hint: expect.stringContaining('provider') });
  });

  test('rejects with unavailable if the model cannot be reached', async () => {
    for (const vendor of VENDORS) {
      const options = { client: vendor.connect('http://127.0.0.1:9'), provider: vendor.provider };
      const running = runAgentLoop({ ...options, model: 'scripted', toolbox, messages: ASK });
      await expect(running).rejects.toMatchObject({ code: 'unavailable' });
    }
  });
});
