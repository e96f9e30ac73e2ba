// What agent loops and the adapters of model SDKs remember: by conversation, also in loops that tools run.

import { describe, expect } from 'vitest';
import { runAISDKCall, toAISDKTools } from '../../../src/adapters/ai-sdk/index.js';
import { runAnthropicCall } from '../../../src/adapters/anthropic/index.js';
import { type AgentLoopOptions, type LoopResult, runAgentLoop, runChatTurn } from '../../../src/adapters/loop/index.js';
import { runOllamaCall } from '../../../src/adapters/ollama/index.js';
import { runOpenAICall } from '../../../src/adapters/openai/index.js';
import { defineTool, type Toolbox } from '../../../src/index.js';
import { some } from '../../support/effort.js';
import { createLabelled, outcome } from '../../support/labelled.js';
import { serveModel } from '../../support/model-server.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { VENDORS, type Vendor } from '../../support/vendors.js';

interface Conversed extends LoopResult {
  /** The tools that the model was offered, by request. */
  readonly offered: readonly (readonly string[])[];
  /** What the last call did. */
  readonly last: 'ran' | 'asked';
}

// Runs a model that calls these tools, one per turn.
async function converse(
  vendor: Vendor,
  toolbox: Toolbox,
  calls: readonly string[],
  more: Partial<AgentLoopOptions> & { readonly input?: string } = {},
): Promise<Conversed> {
  let at = 0;
  let last = '';
  const offered: (readonly string[])[] = [];
  const { url } = await serveModel(({ results, tools }) => {
    offered.push(tools);
    if (at > 0) last = results.at(-1)!.text;
    const name = calls[at++];
    return name === undefined ? { text: 'Done.' } : { calls: [{ name, args: {} }] };
  });
  const run = more.input === undefined ? runAgentLoop : runChatTurn;
  const result = await run({
    client: vendor.connect(url),
    provider: vendor.provider,
    model: 'scripted',
    toolbox,
    messages: [{ role: 'user', content: 'Go on.' }],
    ...more,
  });
  return { ...result, offered, last: last.includes('needs_approval') ? 'asked' : 'ran' };
}

const BOTH = ['read_mail', 'fetch_page'];
const SEND = ['send_mail'];
const CODE = { kind: 'code', door: 'library' } as const;

describe.each(VENDORS)('what a loop has read ($name)', (vendor) => {
  spec('FLW-12', 'counts for its own calls and for those that continue it, not for other loops', async () => {
    const toolbox = createLabelled().open();
    const messages = [{ role: 'user', content: 'The same message object.' }];
    const first = await converse(vendor, toolbox, [...BOTH, ...SEND], { messages });
    expect(first.last).toBe('asked');
    const other = await converse(vendor, toolbox, SEND, { messages });
    const go = { input: 'Send it.' };
    const next = await converse(vendor, toolbox, SEND, { ...go, messages: other.messages });
    expect([other.last, next.last]).toEqual(['ran', 'ran']);
    expect((await converse(vendor, toolbox, SEND, { ...go, messages: first.messages })).last).toBe('asked');
    expect((await converse(vendor, toolbox, SEND, { ...go, messages: first.messages.slice(-2) })).last).toBe('asked');
    // A copy cannot be told apart from the messages of another conversation, and neither can code without a session.
    const copied = JSON.parse(JSON.stringify(first.messages));
    expect((await converse(vendor, toolbox, SEND, { ...go, messages: copied })).last).toBe('asked');
    expect(await outcome(toolbox, 'send_mail', CODE)).toBe('needs_approval');
    // Two conversations in one have read what both have.
    const half = await Promise.all(BOTH.map((name) => converse(vendor, toolbox, [name, 'send_mail'])));
    expect(half.map(({ last }) => last)).toEqual(['ran', 'ran']);
    const joined = await converse(vendor, toolbox, SEND, { messages: half.flatMap((one) => one.messages) });
    expect(joined.last).toBe('asked');
  });
});

describe.each(some(VENDORS, 1))('a loop ($name)', (vendor) => {
  spec('FLW-12', 'that a tool of another one runs is part of its conversation', async () => {
    const inner = async (calls: readonly string[], session?: string): Promise<string> =>
      (await converse(vendor, toolbox, calls, session === undefined ? {} : { session })).last;
    const nested = { research: ['fetch_page'], pass_on: ['fetch_page', 'send_mail'] };
    const tools = Object.entries(nested).flatMap(([name, calls]) => [
      defineTool({ name, description: 'Runs a model.', execute: () => inner(calls) }),
      defineTool({ name: `${name}_apart`, description: 'Runs a model.', execute: () => inner(calls, 'apart') }),
    ]);
    const toolbox = createLabelled().open(tools);
    for (const suffix of ['', '_apart']) {
      const outer = await converse(vendor, toolbox, ['read_mail', `research${suffix}`, 'send_mail']);
      expect(outer.last).toBe('asked');
      const { messages } = await converse(vendor, toolbox, ['read_mail', `pass_on${suffix}`]);
      expect(JSON.stringify(messages)).toContain('asked');
    }
    expect((await converse(vendor, toolbox, SEND)).last).toBe('ran');
  });

  spec('SRV-100', 'has one list of tools in mode auto', async () => {
    const workspace = createLabelled();
    const grow = defineTool({
      name: 'grow',
      description: 'Adds tools.',
      execute() {
        for (let at = 0; at < 50; at++) workspace.script(`more-${at}`, shellScript('echo more'));
        return 'grown';
      },
    });
    const toolbox = workspace.open([grow], { mode: 'auto' });
    const { offered } = await converse(vendor, toolbox, ['grow', 'more-7', 'note']);
    expect(offered.map((names) => names.includes('call_tool'))).toEqual([false, false, false, false]);
    expect(offered.map((names) => names.includes('more-7'))).toEqual([false, true, true, true]);
    expect((await converse(vendor, toolbox, [])).offered[0]).toContain('call_tool');
  });
});

describe('what calls of an adapter have read', () => {
  const ADAPTERS: Readonly<Record<string, (toolbox: Toolbox, name: string, session?: string) => Promise<unknown>>> = {
    anthropic: (toolbox, name, session) =>
      runAnthropicCall(toolbox, { type: 'tool_use', id: '1', name, input: {} }, { session }),
    openai: (toolbox, name, session) =>
      runOpenAICall(toolbox, { type: 'function', id: '1', function: { name, arguments: '{}' } }, { session }),
    responses: (toolbox, name, session) =>
      runOpenAICall(toolbox, { type: 'function_call', call_id: '1', name, arguments: '{}' }, { session }),
    ollama: (toolbox, name, session) => runOllamaCall(toolbox, { function: { name, arguments: {} } }, { session }),
    'ai-sdk': (toolbox, toolName, session) =>
      runAISDKCall(toolbox, { toolCallId: '1', toolName, input: {} }, { session }),
    'ai-sdk tools': async (toolbox, name, session) =>
      (await toAISDKTools(toolbox, { session }))[name]!.execute({}, {}).catch(String),
  };
  for (const [name, call] of Object.entries(ADAPTERS))
    spec(
      'FLW-12',
      `counts for the session that they name, and is shared by those that name none (${name})`,
      async () => {
        const workspace = createLabelled();
        const toolbox = workspace.open();
        const isAsked = async (from: Toolbox, session?: string) =>
          JSON.stringify(await call(from, 'send_mail', session)).includes('needs_approval');
        for (const one of BOTH) await call(toolbox, one, 'a');
        expect([await isAsked(toolbox, 'a'), await isAsked(toolbox, 'b'), await isAsked(toolbox)]).toEqual([
          true,
          false,
          false,
        ]);
        // Also after a restart.
        expect(await isAsked(workspace.open(), 'a')).toBe(true);
        for (const one of BOTH) await call(toolbox, one);
        expect([await isAsked(toolbox, 'b'), await isAsked(toolbox)]).toEqual([false, true]);
      },
    );
});
