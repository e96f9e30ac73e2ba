// Attempts to lose a label: every way to read untrusted content, followed by every way to send something out.

import { describe, expect } from 'vitest';
import { runCode } from '../../src/code.js';
import { type Caller, defineResource, defineTool, type ToolContext, type ToolResult } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { sample } from '../support/effort.js';
import { createLabelled, inSession } from '../support/labelled.js';
import { share } from '../support/share.js';
import { spec } from '../support/spec.js';

const CONFIG = `[labels]
untrusted = ["resource:news:*", "get_feed"]
[trust]
rules = ["#egress($after=untrusted,$policy=ask)"]
[tools.get_feed]
name = "look"
[tools.post]
name = "publish"
[[middleware]]
use = "cache"
for = "digest"
`;
const PLAIN = { type: 'object', properties: { ref: { type: 'string' }, input: { type: 'object' } } };
const untrusted = (name: string, execute: Parameters<typeof defineTool>[0]['execute']) =>
  defineTool({ name, description: 'Reads.', labels: ['untrusted'], readOnly: true, execute } as never);
const TOOLS = [
  untrusted('failing', () => {
    throw new Error('obey me');
  }),
  untrusted('telling', (_, { progress }) => {
    progress(1, 2, 'obey me');
    throw new Error('failed');
  }),
  untrusted('asking', async (_, { elicit }) => (await elicit({ message: 'obey me', schema: {} } as never)).action),
  untrusted('waiting', async (_, { progress, signal }) => {
    progress(1, 2, 'obey me');
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }),
  untrusted('dump', () => 'obey me '.repeat(4000)),
  untrusted('linking', () => ({
    content: [{ type: 'resource_link', uri: 'news:today', name: 'obey me' }],
  })),
  defineTool({ name: 'get_feed', description: 'Reads.', execute: () => 'obey me' }),
  defineTool({ name: 'post', description: 'Sends.', labels: ['egress'], execute: () => 'sent' }),
  defineTool({
    name: 'relay',
    description: 'Calls.',
    inputSchema: PLAIN,
    execute: async ({ ref, input = {} }: { ref: string; input?: object }, { toolbox }: ToolContext) => {
      const { error } = await toolbox.call(ref, input);
      return error?.code ?? 'ran';
    },
  } as never),
  defineTool({
    name: 'digest',
    description: 'Reads.',
    readOnly: true,
    execute: async (_, { toolbox }) => {
      await toolbox.call('fetch_page', {});
      return 'short';
    },
  }),
];

interface Place {
  readonly first: NodeToolbox;
  /** Another process with the same state. */
  readonly second: NodeToolbox;
}

type Read = (place: Place, caller: Caller) => Promise<unknown>;

const call =
  (ref: string, input: object = {}, more: object = {}): Read =>
  ({ first }, caller) =>
    first.call(ref, input, { caller, ...more } as never);
const program =
  (code: string): Read =>
  ({ first }, caller) =>
    runCode(first, code, { caller });

const READS: Readonly<Record<string, Read>> = {
  directly: call('fetch_page'),
  'by another name': call('look'),
  'by a tool that calls it': call('relay', { ref: 'fetch_page' }),
  'by a tool that calls a tool that calls it': call('relay', { ref: 'relay', input: { ref: 'fetch_page' } }),
  'through call_tool': call('call_tool', { name: 'fetch_page' }, { offer: ['call_tool'] }),
  'in a program': program('return await tools.fetch_page({})'),
  'in a program that catches the error': program(
    'try { await tools.failing({}) } catch (error) { return error.message }',
  ),
  'as the text of an error': call('failing'),
  'as progress before an error': call('telling', {}, { onProgress: () => {} }),
  'as a question': call('asking', {}, { elicit: async () => ({ action: 'decline' }) }),
  'as progress before it is cancelled': async ({ first }, caller) => {
    const controller = new AbortController();
    await first.call('waiting', {}, { caller, signal: controller.signal, onProgress: () => controller.abort() });
  },
  'as progress before its time is over': call('waiting', {}, { timeoutMs: 50, onProgress: () => {} }),
  'as a link': call('linking'),
  'as a resource': ({ first }, caller) => first.catalog.resources.read('news:today', { caller }),
  'as a handle': async ({ first }, caller) => {
    const { meta } = await first.call('dump', {}, { caller });
    expect(meta).toMatchObject({ labels: ['untrusted'], handle: { id: expect.any(String) } });
    return first.call('read_result', { id: meta.handle!.id, page: 1 }, { caller });
  },
  'from a cache': async ({ first }, caller) => {
    await first.call('digest', {}, { caller: inSession('cache') });
    const { meta } = await first.call('digest', {}, { caller });
    expect(meta.cached).toBe(true);
  },
  'as a document of another session': async ({ first }, caller) => {
    const other = inSession('writer');
    await first.call('fetch_page', {}, { caller: other });
    await first.call('context_write', { path: 'a', content: 'obey', on_conflict: 'overwrite' }, { caller: other });
    return first.call('context_search', { query: 'obey' }, { caller });
  },
  'in another process': ({ second }, caller) => second.call('fetch_page', {}, { caller }),
};

type Send = (place: Place, caller: Caller) => Promise<string | undefined>;

const codeOf = ({ error }: ToolResult): string | undefined => error?.code;
const SENDS: Readonly<Record<string, Send>> = {
  directly: async ({ first }, caller) => codeOf(await first.call('send_mail', {}, { caller })),
  'by another name': async ({ first }, caller) => codeOf(await first.call('publish', {}, { caller })),
  'by a tool': async ({ first }, caller) => {
    const { content } = await first.call('relay', { ref: 'send_mail' }, { caller });
    return content[0]?.type === 'text' ? content[0].text : '';
  },
  'through call_tool': async ({ first }, caller) => {
    const options = { caller, offer: ['call_tool'] };
    return codeOf(await first.call('call_tool', { name: 'send_mail' }, options));
  },
  'in a program': async ({ first }, caller) => codeOf(await runCode(first, 'await tools.send_mail({})', { caller })),
  'after a restart': async ({ second }, caller) => codeOf(await second.call('send_mail', {}, { caller })),
  'as code': async ({ first }, caller) =>
    codeOf(await first.call('send_mail', {}, { caller: { ...caller, kind: 'code' } })),
};

const CASES = Object.keys(READS).flatMap((read) => Object.keys(SENDS).map((send) => [read, send] as const));

describe('a label is not lost', () => {
  const place = share(async (): Promise<Place> => {
    const workspace = createLabelled(CONFIG);
    const news = defineResource({ uri: 'news:today', name: 'news', description: 'News.', read: () => 'obey me' });
    const open = () => workspace.open(TOOLS, { offer: ['context'], resources: [news] });
    return { first: open(), second: open() };
  });

  spec(
    'FLW-3 FLW-4',
    'before anything was read, every way sends',
    async () => {
      for (const [name, send] of Object.entries(SENDS)) {
        const code = await send(place(), inSession(`clean ${name}`));
        expect([name, code === 'ran' ? undefined : code]).toEqual([name, undefined]);
      }
    },
    120_000,
  );

  spec(
    'FLW-1 FLW-3 FLW-5 FLW-9 FLW-10',
    `${CASES.length} attempts to lose it`,
    async () => {
      expect(CASES.length).toBeGreaterThanOrEqual(100);
      for (const [read, send] of sample(CASES, 40)) {
        const caller = inSession(`${read}, ${send}`);
        await READS[read]!(place(), caller);
        expect([read, send, await SENDS[send]!(place(), caller)]).toEqual([read, send, 'needs_approval']);
      }
    },
    600_000,
  );
});
