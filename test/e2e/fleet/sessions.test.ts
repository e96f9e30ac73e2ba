// Sessions of a fleet: a client may talk to any front, in both protocol versions.

import { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { Mode } from '../../../src/core/view.js';
import { connect, parseFleetAddress } from '../../../src/fleet/connection.js';
import { createFleetKey } from '../../../src/fleet/key.js';
import { createMcpHttp, type HttpHandler } from '../../../src/mcp-server/index.js';
import { openRedisState } from '../../../src/state/redis/state.js';
import { wield } from '../../support/cli.js';
import { patience } from '../../support/patience.js';
import { hasRedis, NO_REDIS, type RedisServer, startRedis } from '../../support/redis.js';
import { OLDER } from '../../support/server.js';
import { onEnd } from '../../support/share.js';
import { specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const KEY = '5e'.repeat(32);
const RUN = 'run it once';
const NEWER = '2026-07-28';
const TOOLS = {
  wipe: '#!/bin/sh\n# @description Wipe.\n# @destructive\necho wiped\n',
  rows: '#!/bin/sh\n# @description Rows.\nseq 1 20000\n',
};

const META = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': {},
};

type Post = (body: object, headers?: Record<string, string>) => Promise<Response>;

interface Front {
  readonly post: Post;
  readonly handler: HttpHandler;
  readonly env: Record<string, string>;
  readonly dir: string;
  readonly home: string;
  readonly script: Workspace['script'];
}

/** A front that runs its tools itself, with the shared state of the fleet. */
async function openFront({ url }: RedisServer, alike?: Front, mode?: Mode): Promise<Front> {
  const workspace = createWorkspace();
  for (const [name, text] of Object.entries(TOOLS)) workspace.script(name, text);
  const address = parseFleetAddress(url, {});
  const [redis, subscriber] = await Promise.all(['state', 'messages'].map((name) => connect(address, { name })));
  const key = createFleetKey(KEY);
  const warn = (message: string): never => {
    throw new Error(message);
  };
  const shared = await openRedisState({ redis: redis!, subscriber: subscriber!, key, warn, address: url });
  // The same workdir and home, as on machines that are set up alike; state of its own.
  const { dir, home } = alike ?? workspace;
  const env = { ...workspace.env, HOME: home };
  const toolbox = workspace.toolbox({ workdir: dir, env, trust: true, shared, offer: ['run_code'], mode });
  const handler = createMcpHttp(toolbox, { version: '1', access: { host: '127.0.0.1' }, shared: shared.sessions });
  onEnd(async () => {
    await handler.close();
    await toolbox.close();
    await shared.keyspace.flush();
    await Promise.all([redis!.quit(), subscriber!.quit()]);
  });
  const post: Post = (body, headers = {}) => handler.fetch(toRequest('POST', headers, body));
  return { post, handler, env, dir, home, script: workspace.script };
}

function toRequest(method: string, headers: Record<string, string>, body?: object): Request {
  return new Request('http://127.0.0.1/mcp', {
    method,
    headers: {
      host: '127.0.0.1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

// biome-ignore lint/suspicious/noExplicitAny: messages of any kind
type Received = any;

/** Reads the messages of a response as they arrive. */
async function* messagesOf(response: Response): AsyncGenerator<Received> {
  if (response.headers.get('content-type') === 'application/json') {
    yield await response.json();
    return;
  }
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = events.pop()!;
    for (const event of events) {
      const data = /^data: (\{.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}

async function lastOf(response: Response): Promise<Received> {
  let last: Received;
  for await (const message of messagesOf(response)) last = message;
  return last;
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: OLDER, capabilities: { elicitation: {} }, clientInfo: { name: 'raw', version: '1' } },
};
const callOf = (name: string, args: object = {}, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

specIf(
  hasRedis,
  NO_REDIS,
  'SRV-100',
  'mode auto is the same at all fronts, for a session and without one',
  async () => {
    const redis = await startRedis();
    const one = await openFront(redis, undefined, 'auto');
    const two = await openFront(redis, one, 'auto');
    const begin = async (): Promise<Record<string, string>> => {
      const begun = await one.post(initialize);
      await lastOf(begun);
      return { 'mcp-session-id': begun.headers.get('mcp-session-id')!, 'mcp-protocol-version': OLDER };
    };
    const list = async (front: Front, session?: Record<string, string>): Promise<string[]> => {
      const message = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: session === undefined ? { _meta: META } : {},
      };
      const headers = session ?? { 'mcp-protocol-version': NEWER, 'mcp-method': 'tools/list' };
      return (await lastOf(await front.post(message, headers))).result.tools.map(({ name }: { name: string }) => name);
    };
    const session = await begin();
    for (const names of [await list(one, session), await list(one)]) expect(names).not.toContain('call_tool');
    for (let at = 0; at < 41; at++) one.script(`more-${at}`, TOOLS.rows);
    expect(await list(one, await begin())).toContain('call_tool');
    for (const names of [await list(two, session), await list(two), await list(one, session)])
      expect([names.includes('call_tool'), names.includes('more-0')]).toEqual([false, true]);
  },
);

const SESSION_TITLE = 'a session that one front began is continued and ended by another, without tasks';

specIf(hasRedis, NO_REDIS, 'FLT-65 FLT-76', SESSION_TITLE, async () => {
  const redis = await startRedis();
  const one = await openFront(redis);
  const two = await openFront(redis, one);
  const begun = await one.post(initialize);
  const { protocolVersion, capabilities } = (await lastOf(begun)).result;
  expect(protocolVersion).toBe(OLDER);
  expect(Object.keys(capabilities).sort()).toEqual([
    'completions',
    'extensions',
    'logging',
    'prompts',
    'resources',
    'tools',
  ]);
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id')!, 'mcp-protocol-version': OLDER };
  expect((await two.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)).status).toBe(202);

  // A result that one front stored is read at the other. A call that should be a task is answered like any other.
  const asTask = { ...callOf('rows'), params: { name: 'rows', arguments: {}, task: {} } };
  const { result } = await lastOf(await two.post(asTask, session));
  const [handle = ''] = /r_[\w-]{22}/.exec(result.content[0].text) ?? [];
  const read = await lastOf(await one.post(callOf('read_result', { id: handle, lines: '19999-20000' }), session));
  expect(read.result.content[0].text).toContain('19999\n20000');

  const list = { jsonrpc: '2.0', id: 3, method: 'tasks/list', params: {} };
  expect((await lastOf(await one.post(list, session))).error.code).toBe(-32601);

  // A question of one front is answered at the other.
  const asking = messagesOf(await one.post(callOf('wipe', {}, 7), session));
  const question = (await asking.next()).value;
  expect(question).toMatchObject({ method: 'elicitation/create' });
  const content = { decision: RUN };
  const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept', content } };
  expect((await two.post(answer, session)).status).toBe(202);
  expect((await asking.next()).value).toMatchObject({ id: 7, result: { content: [{ text: 'wiped\n' }] } });

  expect((await two.handler.fetch(toRequest('DELETE', session))).status).toBe(200);
  await expect
    .poll(async () => (await one.post(callOf('rows'), session)).status, { timeout: patience(30_000) })
    .toBe(404);
  expect((await two.post(callOf('rows'), session)).status).toBe(404);
});

specIf(
  hasRedis,
  NO_REDIS,
  'FLT-66 FLT-76 FLT-78',
  'in the newer version a question of one front is answered once, at any, and no call is a task',
  async () => {
    const redis = await startRedis();
    const one = await openFront(redis);
    const two = await openFront(redis, one);
    const meta = {
      'io.modelcontextprotocol/protocolVersion': NEWER,
      'io.modelcontextprotocol/clientCapabilities': {
        elicitation: { form: {} },
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      },
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    };
    const headers = { 'mcp-protocol-version': NEWER, 'mcp-method': 'tools/call', 'mcp-name': 'wipe' };
    const call = (more: object = {}) => ({
      ...callOf('wipe'),
      params: { name: 'wipe', arguments: {}, _meta: meta, ...more },
    });
    const { result: asked } = await lastOf(await one.post(call(), headers));
    expect(asked).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    const content = { decision: RUN };
    const answered = call({
      requestState: asked.requestState,
      inputResponses: { consent: { action: 'accept', content } },
    });
    const answers = await Promise.all([two.post(answered, headers), one.post(answered, headers)]);
    const results = await Promise.all(answers.map(lastOf));
    const texts: string[] = results.map(({ result }) => result.content[0].text).sort();
    expect(texts[0]).toContain('[needs_approval]');
    expect(texts[1]).toBe('wiped\n');
    const client = new Redis(redis.port);
    const used = await client.keys('*:state:answer:*');
    expect([used.length, await client.del(used)]).toEqual([1, 1]);
    client.disconnect();
    for (const front of [one, two]) {
      const { result } = await lastOf(await front.post(answered, headers));
      expect(result.content[0].text).toContain('[needs_approval]');
    }
  },
);

const RESUMED_TITLE =
  'results of a program belong to the session that resumes it, at every front, and no longer to the first';

specIf(hasRedis, NO_REDIS, 'COD-14 FLT-60', RESUMED_TITLE, async () => {
  const redis = await startRedis();
  const one = await openFront(redis);
  const two = await openFront(redis, one);
  const begin = async (): Promise<Record<string, string>> => {
    const { params } = initialize;
    const begun = await one.post({ ...initialize, params: { ...params, capabilities: {} } });
    await lastOf(begun);
    return { 'mcp-session-id': begun.headers.get('mcp-session-id')!, 'mcp-protocol-version': OLDER };
  };
  const first = await begin();
  const code =
    'const rows = await tools.rows(); await tools.wipe(); return [rows.id, (await rows.page(1)).slice(0, 4)]';
  const { result: asked } = await lastOf(await one.post(callOf('run_code', { code }), first));
  const { hint, data } = asked._meta['wield/error'];
  const { resume } = data;
  const person = { ...createWorkspace(), env: { ...one.env, WIELD_FLEET_KEY: KEY } };
  const [, approve = ''] = /wield (approvals approve [^;]+);/.exec(hint)!;
  expect(await wield(person, approve.split(' '))).toMatchObject({ status: 0 });
  const read = async (front: Front, id: string, session: Record<string, string>) =>
    (await lastOf(await front.post(callOf('read_result', { id, lines: '19999-20000' }), session))).result;
  const second = await begin();
  const { result } = await lastOf(await one.post(callOf('run_code', { resume }), second));
  const [id, page] = JSON.parse(result.content[0].text);
  expect(page).toBe('1\n2\n');
  for (const front of [two, one]) {
    expect((await read(front, id, first))._meta['wield/error'].code).toBe('not_found');
    expect((await read(front, id, second)).content[0].text).toContain('19999\n20000');
  }
});
