// Questions that nobody answers: they never block other clients, other calls or the server.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { createMcpHttp } from '../../src/mcp-server/index.js';
import { createTestToolbox } from '../../src/testing.js';
import { binary } from '../support/built.js';
import type { ProtocolVersion } from '../support/clients.js';
import { call, codeOf, createQuestionWorkspace, say, TYPED, textOf } from '../support/questions.js';
import { type Message, serveHttp, until } from '../support/server.js';
import { onEnd } from '../support/share.js';
import { finding } from '../support/spec.js';
import type { Workspace } from '../support/workspace.js';

const SILENT = 'silent';

interface Asked {
  readonly client: Client;
  /** How many questions the client received. */
  questions(): number;
}

/** Connects a client that answers every question with its name; one named `silent…` never answers. */
async function connect(
  transport: StreamableHTTPClientTransport | StdioClientTransport,
  protocol: ProtocolVersion,
  name: string,
): Promise<Asked> {
  const client = new Client(
    { name, version: '1' },
    {
      ...(protocol === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
      capabilities: { elicitation: { form: {} } },
    },
  );
  let questions = 0;
  client.setRequestHandler('elicitation/create', async () => {
    questions++;
    return name.startsWith(SILENT) ? new Promise<never>(() => {}) : say(name);
  });
  await client.connect(transport);
  onEnd(() => client.close());
  return { client, questions: () => questions };
}

const overHttp = (url: string, protocol: ProtocolVersion, name: string): Promise<Asked> =>
  connect(new StreamableHTTPClientTransport(new URL(url)), protocol, name);

const overStdio = ({ dir, env }: Workspace, protocol: ProtocolVersion, name: string): Promise<Asked> =>
  connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [binary(), 'serve', '--trust'],
      cwd: dir,
      env,
      stderr: 'ignore',
    }),
    protocol,
    name,
  );

/** Calls a tool that asks, so often, and waits until the questions have arrived. */
async function leaveOpen({ client, questions }: Asked, count: number): Promise<AbortController[]> {
  const controllers = Array.from({ length: count }, () => new AbortController());
  for (const { signal } of controllers) client.callTool(call('name'), { signal, timeout: 600_000 }).catch(() => {});
  await until(() => questions() >= count, `${count} questions arrived`);
  return controllers;
}

const askWith = async ({ client }: Asked, name = 'name'): Promise<Message> =>
  client.callTool(call(name), { timeout: 90_000 });

for (const protocol of ['older', 'newer'] as const) {
  // Each with its own server.
  describe.concurrent(`${protocol} protocol version`, () => {
    const check = protocol === 'newer' ? finding : finding.thorough;
    check(
      'C1',
      'sixteen unanswered questions of a client do not affect another client over HTTP',
      async () => {
        const { url } = await serveHttp(createQuestionWorkspace());
        await leaveOpen(await overHttp(url, protocol, SILENT), 16);
        const other = await overHttp(url, protocol, 'Ada');
        expect(textOf(await askWith(other))).toBe('heard Ada');
        expect(JSON.parse(textOf(await askWith(other, 'several')))).toEqual(['Ada', 'Ada', 'Ada']);
      },
      60_000,
    );

    check(
      'C1',
      'a question too many is refused as busy, for one client and for all together',
      async () => {
        const { url } = await serveHttp(createQuestionWorkspace());
        const silent = await overHttp(url, protocol, SILENT);
        await leaveOpen(silent, 16);
        // At the same time: questions that are left for long make room for others.
        const [refused, other] = await Promise.all([
          askWith(silent),
          overHttp(url, protocol, 'Ada'),
          ...['2', '3'].map(async (name) => leaveOpen(await overHttp(url, protocol, SILENT + name), 16)),
        ]);
        expect(codeOf(refused)).toBe('busy');
        expect(textOf(refused)).toContain('too many questions are open');
        // The process is at its limit too; calls that ask nothing still run.
        expect(codeOf(await askWith(other))).toBe('busy');
        expect((await other.client.listTools()).tools.length).toBeGreaterThan(3);
      },
      120_000,
    );

    const checkOlder = protocol === 'older' ? finding : finding.thorough;
    checkOlder(
      'C1',
      'a question too many is refused as busy over stdio, and cancelling a call makes room',
      async () => {
        const silent = await overStdio(createQuestionWorkspace(), protocol, SILENT);
        const [first] = await leaveOpen(silent, 16);
        expect(codeOf(await askWith(silent))).toBe('busy');
        if (protocol === 'newer') return;
        // In the newer version a suspended call has no request that could be cancelled.
        first!.abort();
        void silent.client.callTool(call('name')).catch(() => {});
        await until(() => silent.questions() === 17, 'the next question arrives');
      },
      60_000,
    );
  });
}

finding(
  'C1',
  'questions end with the connection of their client',
  async () => {
    const { url } = await serveHttp(createQuestionWorkspace());
    const silent = await Promise.all(['1', '2', '3'].map((name) => overHttp(url, 'older', SILENT + name)));
    for (const one of silent) await leaveOpen(one, 16);
    const other = await overHttp(url, 'older', 'Ada');
    expect(codeOf(await askWith(other))).toBe('busy');
    // Closes the connections, and leaves the session as it is.
    await silent[0]!.client.close();
    expect(textOf(await askWith(other))).toBe('heard Ada');
    // Ends a session.
    await (silent[1]!.client.transport as StreamableHTTPClientTransport).terminateSession();
    await leaveOpen(await overHttp(url, 'older', `${SILENT}4`), 16);
  },
  120_000,
);

finding('C1', 'questions left open for a minute make room for others of the same client', async () => {
  const toolbox = createTestToolbox(TYPED);
  const ended: string[] = [];
  toolbox.on((event) => void (event.type === 'end' && ended.push(textOf(event.result))));
  const handler = createMcpHttp(toolbox, { version: '1', access: { host: '127.0.0.1' } });
  onTestFinished(() => handler.close());
  const fetchHere = (to: string | URL, init?: RequestInit): Promise<Response> => {
    const headers = new Headers(init?.headers);
    headers.set('host', '127.0.0.1');
    return handler.fetch(new Request(to, { ...init, headers }));
  };
  const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), { fetch: fetchHere });
  const silent = await connect(transport, 'newer', SILENT);
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    await leaveOpen(silent, 16);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(61_000);
    silent.client.callTool(call('name')).catch(() => {});
    await until(() => silent.questions() >= 17 && ended.length > 0, 'another question arrived');
    expect(silent.questions()).toBe(17);
    expect(ended).toEqual(['heard null']);
  } finally {
    vi.useRealTimers();
  }
});
