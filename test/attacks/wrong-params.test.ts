// Requests whose parameters have wrong types: every one of them gets exactly one answer, over stdio and HTTP.

import { describe, expect, vi } from 'vitest';
import { SAMPLED, sample } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { serveHere, serveUrl } from '../support/serve.js';
import { OLDER } from '../support/server.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const NEWER = '2026-07-28';
const WRONG = [null, true, 0, -1, 1.5, 1e300, '', 'x', '\0', [], [1], {}, { a: { b: [] } }] as const;
const CAPABILITIES = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: { form: {} },
  extensions: {},
  experimental: {},
};
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/logLevel': 'warning',
};
const META = {
  progressToken: 1,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=b',
  'wield/key': 'k',
  'io.modelcontextprotocol/related-task': { taskId: 't' },
};

type Params = Readonly<Record<string, unknown>>;

const METHODS: readonly (readonly [method: string, params: Params, version?: 'older' | 'newer'])[] = [
  [
    'initialize',
    { protocolVersion: OLDER, capabilities: CAPABILITIES, clientInfo: { name: 'raw', version: '1' } },
    'older',
  ],
  ['server/discover', {}, 'newer'],
  ['ping', {}, 'older'],
  ['logging/setLevel', { level: 'emergency' }, 'older'],
  ['tools/list', { cursor: 'c' }],
  [
    'tools/call',
    {
      name: 'notes',
      arguments: {},
      task: { ttl: 1000 },
      requestState: 's',
      inputResponses: { a: { action: 'accept' } },
    },
  ],
  ['tools/call', { name: 'read_skill', arguments: { skill_name: 'notes', file: 'x', page: 1 } }],
  ['resources/list', { cursor: 'c' }],
  ['resources/templates/list', { cursor: 'c' }],
  ['resources/read', { uri: 'skill://notes/SKILL.md', requestState: 's', inputResponses: {} }],
  ['resources/subscribe', { uri: 'skill://notes/SKILL.md' }, 'older'],
  ['resources/unsubscribe', { uri: 'skill://notes/SKILL.md' }, 'older'],
  ['resources/directory/read', { uri: 'skill://notes', cursor: 'c' }],
  ['skills/list', { cursor: 'c' }],
  ['skills/get', { uri: 'skill://notes/SKILL.md' }],
  ['prompts/list', { cursor: 'c' }],
  ['prompts/get', { name: 'p', arguments: { a: 'b' } }],
  [
    'completion/complete',
    {
      ref: { type: 'ref/prompt', name: 'p' },
      argument: { name: 'a', value: 'b' },
      context: { arguments: { c: 'd' } },
    },
  ],
  ['tasks/get', { taskId: 't' }],
  ['tasks/cancel', { taskId: 't' }],
  ['tasks/update', { taskId: 't', inputResponses: {} }, 'newer'],
  ['tasks/result', { taskId: 't' }, 'older'],
  ['tasks/list', { cursor: 'c' }, 'older'],
  ['no/such/method', { a: 1 }],
];

// Every request with one value replaced or removed, at any depth, and with other parameters as a whole.
function requestsOf(version: 'older' | 'newer'): readonly { readonly method: string; readonly params?: unknown }[] {
  return METHODS.filter(([, , only = version]) => only === version).flatMap(([method, own]) => {
    const params = { ...own, _meta: version === 'newer' ? { ...ENVELOPE, ...META } : META };
    return [{ method }, ...[...variantsOf(params)].map((changed) => ({ method, params: changed }))];
  });
}

function* variantsOf(value: unknown): Generator<unknown> {
  yield* WRONG;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const { [key]: _, ...others } = value as Record<string, unknown>;
    yield others;
    for (const changed of variantsOf(inner)) yield { ...value, [key]: changed };
  }
}

function createNotes(): Workspace {
  const workspace = createWorkspace();
  workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: Notes.\n---\nText.\n');
  workspace.script('slow', '#!/bin/sh\n# @description Wait.\nsleep 0.4\necho done\n');
  return workspace;
}

const isAnswer = ({ method, id }: { method?: string; id?: unknown }): boolean =>
  method === undefined && id !== undefined;

describe.concurrent('parameters of wrong types', () => {
  for (const version of ['older', 'newer'] as const) {
    spec(
      'SRV-96',
      `each get one answer over stdio, ${version} version${SAMPLED}`,
      async () => {
        const server = serveHere(createNotes());
        if (version === 'older') await server.initialize();
        else await server.request('first', 'tools/list', { _meta: ENVELOPE });
        const requests = sample(requestsOf(version), 500);
        for (const [at, request] of requests.entries()) server.send({ jsonrpc: '2.0', id: `r${at}`, ...request });
        // Only what is new is parsed.
        const answers: { id: unknown; result?: unknown; error?: unknown }[] = [];
        let read = 0;
        const missing = () => {
          for (; read < server.lines.length; read++) {
            const message = JSON.parse(server.lines[read]!);
            if (isAnswer(message) && /^r\d/.test(message.id)) answers.push(message);
          }
          const ids = new Set(answers.map(({ id }) => id));
          return requests.filter((_, at) => !ids.has(`r${at}`)).map((request) => JSON.stringify(request));
        };
        await vi.waitFor(() => expect(missing()).toEqual([]), { timeout: patience(30_000), interval: 200 });
        expect(answers).toHaveLength(requests.length);
        expect(answers.every(({ result, error }) => (result === undefined) !== (error === undefined))).toBe(true);
        // The connection is not damaged.
        const params = version === 'newer' ? { _meta: ENVELOPE } : {};
        expect((await server.request('last', 'tools/list', params)).result.tools.length).toBeGreaterThan(0);
        expect(server.stderr()).not.toMatch(/goes on|unexpected|^\s+at /m);
      },
      600_000,
    );

    spec(
      'SRV-96',
      `each get one answer over HTTP, ${version} version${SAMPLED}`,
      async () => {
        const url = await serveUrl(createNotes(), ['--trust']);
        const accepted = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
        const post = async (body: object, headers: Record<string, string>): Promise<Response> =>
          fetch(url, { method: 'POST', headers: { ...accepted, ...headers }, body: JSON.stringify(body) });
        let headers: Record<string, string> = { 'mcp-protocol-version': NEWER };
        if (version === 'older') {
          const params = { protocolVersion: OLDER, capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
          const opened = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, {});
          await opened.text();
          headers = { 'mcp-session-id': opened.headers.get('mcp-session-id')!, 'mcp-protocol-version': OLDER };
        }
        for (const [at, request] of sample(requestsOf(version), 120).entries()) {
          const id = `r${at}`;
          const named = (request.params as Params | undefined)?.name ?? (request.params as Params | undefined)?.uri;
          const own: Record<string, string> =
            version === 'older'
              ? {}
              : {
                  'mcp-method': request.method,
                  ...(typeof named === 'string' && /^[\w:/.]+$/.test(named) ? { 'mcp-name': named } : {}),
                };
          const response = await post({ jsonrpc: '2.0', id, ...request }, { ...headers, ...own });
          const text = await response.text();
          const messages = text.startsWith('{')
            ? [text]
            : [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => data!);
          const found = messages.map((one) => JSON.parse(one)).filter(isAnswer);
          // What the transport refuses is answered by its status, as servers of the SDK do.
          const ids = found.map((one) => (response.status >= 400 && one.id === null ? id : one.id));
          expect([request, response.status, ids]).toEqual([request, response.status, [id]]);
        }
      },
      600_000,
    );
  }

  spec('SRV-96', 'of a cancellation leave its request as it was', async () => {
    const server = serveHere(createNotes());
    await server.initialize();
    const wrong = [{ reason: 3 }, { reason: null }, { reason: {} }, { _meta: 3 }, { _meta: { progressToken: {} } }];
    for (const [at, params] of wrong.entries()) {
      const id = `c${at}`;
      server.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'slow', arguments: {} } });
      server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, ...params } });
    }
    for (const at of wrong.keys()) {
      const { result } = await server.receive(
        ({ id, method }) => id === `c${at}` && method === undefined,
        patience(10_000),
      );
      expect(result.content[0].text).toContain('done');
    }
  });
});
