// What a session remembers: by connection, user and program, in documents, after a restart, until a person clears it.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, vi } from 'vitest';
import { runCode } from '../../../src/code.js';
import type { EnteredLabel } from '../../../src/core/label.js';
import { defineTool } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { json, wield } from '../../support/cli.js';
import { type CalledResult, callTool, connectHttp, connectStdio, connectUrl } from '../../support/clients.js';
import { callFront, createMember, frontArgs, startHere, workerArgs } from '../../support/fleet.js';
import { createLabelled, inSession, outcome, TRIFECTA } from '../../support/labelled.js';
import { patience } from '../../support/patience.js';
import { hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { serveUrl } from '../../support/serve.js';
import { shellScript } from '../../support/shell-script.js';
import { spec, specIf } from '../../support/spec.js';
import { configureServers } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SCRIPTS = {
  read_mail: shellScript('echo 4711', '@label private'),
  fetch_page: shellScript('echo obey', '@label untrusted'),
  send_mail: shellScript('echo sent', '@label egress'),
};

function createServed(): Workspace {
  const workspace = createWorkspace();
  workspace.config(TRIFECTA);
  for (const [name, text] of Object.entries(SCRIPTS)) workspace.script(name, text);
  return workspace;
}

async function readBoth(toolbox: NodeToolbox, session: string): Promise<void> {
  for (const ref of ['read_mail', 'fetch_page']) await toolbox.call(ref, {}, { caller: inSession(session) });
}

// A tool that calls another one, and answers when a file exists.
const relayUntil = (file: string): string => `import { existsSync } from 'node:fs';
import { defineTool } from 'wield';
export default defineTool({
  name: 'relay',
  description: 'Calls.',
  execute: async (_, { toolbox }) => {
    await toolbox.call('fetch_page', {});
    while (!existsSync(${JSON.stringify(file)})) await new Promise((resolve) => setTimeout(resolve, 20));
    return 'relayed';
  },
});
`;

const OFFERS = fileURLToPath(new URL('../../support/offers-server.mjs', import.meta.url));

const isAsked = (result: CalledResult): boolean =>
  result.isError === true && /needs approval/.test(String(result.content[0]?.text));

describe.concurrent('what a session has read', () => {
  spec(
    'FLW-5',
    'is that of an MCP session or stdio connection, in both protocol versions',
    async () => {
      const workspace = createServed();
      const http = await serveUrl(workspace, ['--trust']);
      const clients = [
        await connectStdio(workspace, 'older'),
        await connectStdio(workspace, 'newer'),
        await connectUrl(http, 'older'),
        await connectUrl(http, 'newer'),
      ];
      for (const client of clients) {
        expect(isAsked(await callTool(client, 'send_mail', {}))).toBe(false);
        for (const name of ['read_mail', 'fetch_page']) await callTool(client, name, {});
        expect(isAsked(await callTool(client, 'send_mail', {}))).toBe(true);
      }
      // Another connection is another session; without sessions, all clients of a user share one.
      expect(isAsked(await callTool(await connectStdio(workspace, 'older'), 'send_mail', {}))).toBe(false);
      expect(isAsked(await callTool(await connectUrl(http, 'older'), 'send_mail', {}))).toBe(false);
      expect(isAsked(await callTool(await connectUrl(http, 'newer'), 'send_mail', {}))).toBe(true);
      // A restart forgets nothing.
      expect(isAsked(await callTool(await connectHttp(workspace, 'newer'), 'send_mail', {}))).toBe(true);
    },
    120_000,
  );

  spec(
    'FLW-3 FLW-5 FLW-6',
    'is that of the client for each of its requests: a completion as well as a read',
    async () => {
      const workspace = createServed();
      const file = join(workspace.home, 'offers.json');
      const note = { name: 'note', description: 'Which', required: true };
      const prompts = [{ name: 'review', description: 'Reviews.', arguments: [note] }];
      const resources = [{ uri: 'notes://one', name: 'one' }];
      writeFileSync(file, JSON.stringify({ prompts, resources }));
      const starts = join(workspace.home, 'far.starts');
      configureServers(workspace, { far: { command: process.execPath, args: [OFFERS, starts, file] } });
      workspace.config(`${TRIFECTA}[labels]\nprivate = ["prompt:*", "resource:*"]\negress = ["prompt:*"]\n`);
      const ref = { type: 'ref/prompt', name: 'far_review' } as const;
      const complete = async (client: Client): Promise<readonly string[]> =>
        (await client.complete({ ref, argument: { name: 'note', value: 'a' } })).completion.values;
      const requests: readonly ((client: Client) => Promise<unknown>)[] = [
        complete,
        (client) => client.getPrompt({ name: 'far_review', arguments: { note: 'a' } }),
        (client) => client.readResource({ uri: 'mcp://far/notes://one' }),
        complete,
      ];
      for (const [at, request] of requests.entries()) {
        const client = await connectStdio(workspace, at % 2 === 0 ? 'older' : 'newer');
        await client.listPrompts();
        await request(client);
        await callTool(client, 'fetch_page', {});
        expect(isAsked(await callTool(client, 'send_mail', {}))).toBe(true);
        // Nothing is sent out by a completion either, and nobody is asked about what is being typed.
        expect(await complete(client)).toEqual([]);
      }
      const { approvals } = json(await wield(workspace, ['approvals', '--json']));
      expect(new Set(approvals.map(({ tool }: { tool: string }) => tool))).toEqual(new Set(['send_mail']));
      const url = await serveUrl(workspace, ['--trust']);
      await complete(await connectUrl(url, 'newer'));
      const listed = json(await wield(workspace, ['approvals', 'sessions', '--json']));
      const sessions = listed.sessions as readonly { readonly labels: readonly EnteredLabel[] }[];
      expect(sessions.length).toBe(requests.length + 1);
      // Without sessions for a day.
      const stateless = sessions.flatMap(({ labels }) => labels).filter(({ until }) => until !== undefined);
      expect(stateless.map(({ label }) => label)).toEqual(['egress', 'private']);
    },
    120_000,
  );

  spec(
    'FLW-5',
    'counts for a day without sessions, for the life of the session else, and not for a person',
    async () => {
      const workspace = createLabelled();
      let now = Date.now();
      const toolbox = workspace.open([], { now: () => now });
      const [lasting, stateless] = [inSession('lasting'), { ...inSession('stateless') }];
      const options = { caller: stateless, background: 'none' } as const;
      for (const ref of ['read_mail', 'fetch_page']) {
        await toolbox.call(ref, {}, { caller: lasting });
        await toolbox.call(ref, {}, options as object);
      }
      const hour = 3_600_000;
      now += 23 * hour;
      expect(await outcome(toolbox, 'send_mail', stateless)).toBe('needs_approval');
      await toolbox.call('fetch_page', {}, options as object);
      now += 2 * hour;
      // The private content is a day old.
      expect(await outcome(toolbox, 'send_mail', stateless)).toBe('ran');
      await toolbox.call('read_mail', {}, options as object);
      expect(await outcome(toolbox, 'send_mail', stateless)).toBe('needs_approval');
      now += 25 * hour;
      expect(await outcome(toolbox, 'send_mail', stateless)).toBe('ran');
      expect(await outcome(toolbox, 'send_mail', lasting)).toBe('needs_approval');
      const person = { kind: 'person', door: 'cli', session: 'lasting' } as const;
      expect(await outcome(toolbox, 'send_mail', person)).toBe('ran');
    },
  );

  spec(
    'FLW-5 FLW-3',
    'survives a restart, is shared by nested calls, and by callers that name no session',
    async () => {
      const workspace = createLabelled();
      await readBoth(workspace.open(), 'one');
      const relay = defineTool({
        name: 'relay',
        description: 'Calls.',
        inputSchema: { type: 'object', properties: { ref: { type: 'string' } } },
        execute: async ({ ref }: { ref: string }, context) =>
          (await context.toolbox.call(ref, {})).error?.code ?? 'ran',
      });
      const toolbox = workspace.open([relay]);
      expect(await outcome(toolbox, 'send_mail', inSession('one'))).toBe('needs_approval');
      const asked = await toolbox.call('relay', { ref: 'send_mail' }, { caller: inSession('one') });
      expect(asked.content).toEqual([{ type: 'text', text: 'needs_approval' }]);
      const loop = { kind: 'model', door: 'openai' } as const;
      for (const ref of ['read_mail', 'fetch_page']) await toolbox.call('relay', { ref }, { caller: loop });
      expect(await outcome(toolbox, 'send_mail', loop)).toBe('needs_approval');
      expect(await outcome(toolbox, 'send_mail', { kind: 'code', door: 'library' })).toBe('needs_approval');
    },
  );

  spec('FLW-3', 'is stored before the tool runs, and what cannot be stored or read fails the call', async () => {
    const workspace = createLabelled();
    const seen: string[][] = [];
    const looking = defineTool({
      name: 'looking',
      description: 'Looks.',
      labels: ['untrusted'],
      execute: async () => {
        const sessions = await toolbox.state.labels.list();
        seen.push(sessions.flatMap(({ labels }) => labels.map(({ label }) => label)));
        return 'looked';
      },
    });
    const toolbox = workspace.open([looking]);
    expect(await outcome(toolbox, 'looking', inSession('one'))).toBe('ran');
    expect(seen).toEqual([['untrusted']]);
    const directory = join(workspace.env.WIELD_HOME!, 'labels');
    const [file] = readdirSync(directory).filter((name) => name.endsWith('.json'));
    writeFileSync(join(directory, file!), '{"version":1,"labels":[');
    expect(await outcome(toolbox, 'looking', inSession('one'))).toBe('io');
    expect(await outcome(toolbox, 'send_mail', inSession('one'))).toBe('io');
    expect(await outcome(toolbox, 'send_mail', inSession('two'))).toBe('ran');
    expect(seen).toHaveLength(1);
    // A person can clear a damaged one too.
    expect((await wield(workspace, ['approvals', 'clear', file!.slice(0, 16)])).status).toBe(0);
    expect(await outcome(toolbox, 'send_mail', inSession('one'))).toBe('ran');
  });

  spec('FLW-3', 'no file is touched without labels', async () => {
    const workspace = createLabelled('');
    const toolbox = workspace.open();
    expect(await outcome(toolbox, 'note', inSession('one'))).toBe('ran');
    expect(readdirSync(workspace.env.WIELD_HOME!)).not.toContain('labels');
  });

  spec('FLW-8', 'is listed, explained, and cleared by a person, but not by a process that a tool started', async () => {
    const workspace = createLabelled();
    const toolbox = workspace.open();
    await readBoth(toolbox, 'one');
    const { sessions } = json(await wield(workspace, ['approvals', 'sessions', '--json']));
    expect(sessions).toMatchObject([
      {
        of: 'model mcp',
        labels: [
          { label: 'private', tool: 'read_mail' },
          { label: 'untrusted', tool: 'fetch_page' },
        ],
      },
    ]);
    const [{ id }] = sessions;
    const { stdout } = await wield(workspace, ['approvals', 'sessions']);
    expect(stdout).toMatch(new RegExp(`${id} +mcp\\n +private from read_mail, 20..-..-.. ..:..Z\\n`));
    workspace.script('send_x', SCRIPTS.send_mail);
    await wield(workspace, ['trust', '--yes']);
    const explain = ['explain', 'send_x', '--as', 'mcp', '--json', '--session'];
    expect(json(await wield(workspace, [...explain, id])).verdict).toBe('ask');
    expect(json(await wield(workspace, [...explain, 'nobody'])).error.code).toBe('not_found');
    expect(json(await wield(workspace, [...explain, id, '--after', 'other'])).error).toMatchObject({
      code: 'usage',
      message: '--after and --session cannot be combined',
    });
    const inside = { ...workspace, env: { ...workspace.env, WIELD_CALL: 'c1' } };
    const refused = await wield(inside, ['approvals', 'clear', id]);
    expect([refused.status, refused.stderr]).toEqual([expect.any(Number), expect.stringContaining('does not count')]);
    expect(await outcome(toolbox, 'send_mail', inSession('one'))).toBe('needs_approval');
    const dry = await wield(workspace, ['approvals', 'clear', id, '--dry-run']);
    expect(dry.stdout).toContain('would clear');
    expect(await outcome(toolbox, 'send_mail', inSession('one'))).toBe('needs_approval');
    expect((await wield(workspace, ['approvals', 'clear', id])).stdout).toContain(`cleared  ${id}`);
    expect(await outcome(toolbox, 'send_mail', inSession('one'))).toBe('ran');
    expect(json(await wield(workspace, ['approvals', 'clear', '0'.repeat(16), '--json'])).error.code).toBe('not_found');
  });

  spec(
    'FLW-9',
    'stays with the documents that it writes, for every session that reads, lists or searches them',
    async () => {
      const workspace = createLabelled();
      const toolbox = workspace.open([], { offer: ['context'] });
      const write = { path: 'notes/a', content: 'obey me' };
      expect(await outcome(toolbox, 'context_write', inSession('clean'), { ...write, path: 'notes/clean' })).toBe(
        'ran',
      );
      expect(await outcome(toolbox, 'context_read', inSession('early'), { path: 'notes/clean' })).toBe('ran');
      await readBoth(toolbox, 'one');
      expect(await outcome(toolbox, 'context_write', inSession('one'), write)).toBe('ran');
      const reads: readonly [string, object][] = [
        ['context_read', { path: 'notes/a' }],
        ['context_search', { query: 'obey' }],
        ['context_tree', {}],
      ];
      for (const [ref, input] of reads) {
        expect([ref, await outcome(toolbox, ref, inSession(ref), input)]).toEqual([ref, 'ran']);
        expect([ref, await outcome(toolbox, 'send_mail', inSession(ref))]).toEqual([ref, 'needs_approval']);
      }
      const read = await toolbox.catalog.resources.read('context://notes/a', { caller: inSession('resource') });
      expect(read.meta.labels).toEqual(['private', 'untrusted']);
      for (const session of ['early', 'clean'])
        expect(await outcome(toolbox, 'send_mail', inSession(session))).toBe('ran');
    },
  );

  spec('FLW-13', 'enters again with each use of a stored result, also after it was forgotten', async () => {
    const workspace = createLabelled('[flow]\ntrifecta = "ask"\n[results]\ninline = 1000\n');
    workspace.script('fetch_rows', shellScript('seq 20000', '@label untrusted private'));
    const rows = JSON.stringify(Array.from({ length: 2000 }, (_, id) => ({ id })));
    const fetchJson = defineTool({
      name: 'fetch_json',
      description: 'Fetches.',
      labels: ['untrusted', 'private'],
      execute: () => rows,
    });
    const toolbox = workspace.open([fetchJson], { offer: ['context', 'run_code'] });
    const handle = async (ref: string, session: string) =>
      (await toolbox.call(ref, {}, { caller: inSession(session) })).meta.handle!.id;
    const uses: [string, (session: string) => Promise<[string, object]>][] = [
      ['spilled', async (session) => ['read_result', { id: await handle('fetch_rows', session), lines: '1-3' }]],
      ['shape', async (session) => ['read_result', { id: await handle('fetch_json', session) }]],
      ['query', async (session) => ['query_result', { id: await handle('fetch_json', session), query: '$count($)' }]],
      ['words', async (session) => ['query_result', { id: await handle('fetch_rows', session), search: '4711' }]],
      [
        'document',
        async (session) => ['context_query', { path: await handle('fetch_json', session), expression: '$[0]' }],
      ],
      [
        'program',
        async (session) => [
          'run_code',
          { code: `await tools.read_result({ id: "${await handle('fetch_rows', session)}" }); return 1` },
        ],
      ],
    ];
    for (const [session, prepare] of uses) {
      const [ref, input] = await prepare(session);
      for (const { id } of await toolbox.state.labels.list()) await toolbox.state.labels.clear(id);
      expect([session, await outcome(toolbox, 'send_mail', inSession(session))]).toEqual([session, 'ran']);
      const read = await toolbox.call(ref, input, { caller: inSession(session) });
      expect([session, read.error, read.meta.labels]).toEqual([session, undefined, ['private', 'untrusted']]);
      expect(await outcome(toolbox, 'send_mail', inSession(session))).toBe('needs_approval');
    }
  });

  spec(
    'FLW-10',
    'holds inside programs, and follows a program to the session that resumes it',
    async () => {
      const workspace = createLabelled();
      const toolbox = workspace.open();
      const run = (code: string, session: string) => runCode(toolbox, code, { caller: inSession(session) });
      const first = await run('await tools.read_mail({}); return await tools.send_mail({})', 'one');
      expect(first).toMatchObject({ ok: true, meta: { labels: ['egress', 'private'] } });
      const second = 'await tools.fetch_page({}); await tools.read_mail({}); return await tools.send_mail({})';
      const { error } = await run(second, 'two');
      expect(error?.code).toBe('needs_approval');
      const resume = String(error!.data!.resume);
      const [pending] = toolbox.state.approvals.list();
      await toolbox.state.approvals.approve(pending!.id, false);
      const third = inSession('three');
      expect(await outcome(toolbox, 'send_mail', third)).toBe('ran');
      const ended = await runCode(toolbox, '', { resume, caller: third });
      expect(ended).toMatchObject({ ok: true });
      expect(await outcome(toolbox, 'send_mail', third)).toBe('needs_approval');
      // The answer of a program is kept for a day.
      const fourth = inSession('four');
      expect((await runCode(toolbox, '', { resume, caller: fourth })).ok).toBe(true);
      expect(await outcome(toolbox, 'send_mail', fourth)).toBe('needs_approval');
    },
    120_000,
  );

  specIf(
    hasRedis,
    NO_REDIS,
    'FLW-9',
    'stays with the documents of a front of a fleet',
    async () => {
      const redis = await startRedis();
      const front = createMember(SCRIPTS, TRIFECTA);
      const { name: url } = await startHere(front, [...frontArgs(redis.url), '--with', 'context']);
      await startHere(createMember(SCRIPTS), workerArgs(redis.url));
      const call = async (name: string, input: object = {}) => (await callFront(url, name, input)).code;
      for (const name of ['read_mail', 'fetch_page']) expect(await call(name)).toBeUndefined();
      expect(await call('context_write', { path: 'note', content: 'obey me' })).toBeUndefined();
      const fleet = ['--fleet', redis.url];
      const { sessions } = json(await wield(front, ['approvals', 'sessions', ...fleet, '--json']));
      const { id } = sessions.find(({ of }: { of: string }) => of.startsWith('model'));
      await wield(front, ['approvals', 'clear', id, ...fleet]);
      expect(await call('send_mail')).toBeUndefined();
      expect(await call('context_read', { path: 'note' })).toBeUndefined();
      expect(await call('send_mail')).toBe('needs_approval');
    },
    120_000,
  );

  specIf(
    hasRedis,
    NO_REDIS,
    'FLW-5 FLW-8 FLW-13',
    'is shared by the fronts of a fleet, and cleared for all of them',
    async () => {
      const redis = await startRedis();
      const scripts = { ...SCRIPTS, fetch_rows: shellScript('seq 20000', '@label untrusted') };
      const fronts = [createMember(scripts, TRIFECTA), createMember(scripts, TRIFECTA)];
      const urls: string[] = [];
      for (const front of fronts) urls.push((await startHere(front, frontArgs(redis.url))).name);
      const worker = createMember(scripts);
      mkdirSync(worker.env.WIELD_HOME!, { recursive: true });
      await startHere(worker, ['worker', '--trust', '--fleet', redis.url]);
      const [one, two] = urls as [string, string];
      expect((await callFront(one, 'read_mail')).code).toBeUndefined();
      expect((await callFront(two, 'send_mail')).code).toBeUndefined();
      expect((await callFront(two, 'fetch_page')).code).toBeUndefined();
      for (const url of urls) expect((await callFront(url, 'send_mail')).code).toBe('needs_approval');
      const person = createMember({});
      const { sessions } = json(await wield(person, ['approvals', 'sessions', '--fleet', redis.url, '--json']));
      expect(sessions).toMatchObject([
        { labels: [{ tool: 'read_mail' }, { label: 'egress', tool: 'send_mail' }, { tool: 'fetch_page' }] },
      ]);
      const clear = ['approvals', 'clear', sessions[0].id, '--fleet', redis.url];
      await wield(person, clear);
      for (const url of urls) expect((await callFront(url, 'send_mail')).code).toBeUndefined();
      // A stored result brings them back, at a front that has no copy too.
      const [id] = /r_[\w-]{22}/.exec((await callFront(one, 'fetch_rows')).text)!;
      await wield(person, clear);
      expect((await callFront(one, 'read_mail')).code).toBeUndefined();
      expect((await callFront(two, 'send_mail')).code).toBeUndefined();
      expect((await callFront(two, 'read_result', { id, lines: '1-3' })).text).toContain('2');
      for (const url of urls) expect((await callFront(url, 'send_mail')).code).toBe('needs_approval');
      const unknown = clear.with(2, '0'.repeat(16));
      expect(json(await wield(person, [...unknown, '--json'])).error.code).toBe('not_found');
    },
    120_000,
  );

  specIf(
    hasRedis,
    NO_REDIS,
    'FLW-5 FLW-3',
    'has what a nested call of a worker reads before the worker answers',
    async () => {
      const redis = await startRedis();
      const [front, worker] = [createMember(SCRIPTS, TRIFECTA), createMember(SCRIPTS)] as const;
      const gate = join(worker.dir, 'go');
      for (const member of [front, worker]) member.write('.agents/tools/relay.tool.mjs', relayUntil(gate));
      const { name: url } = await startHere(front, frontArgs(redis.url));
      await startHere(worker, ['worker', '--trust', '--fleet', redis.url]);
      expect((await callFront(url, 'read_mail')).code).toBeUndefined();
      expect((await callFront(url, 'send_mail')).code).toBeUndefined();
      const relayed = callFront(url, 'relay');
      const list = async () => json(await wield(front, ['approvals', 'sessions', '--fleet', redis.url, '--json']));
      await vi.waitFor(
        async () => {
          const { sessions } = await list();
          expect(sessions).toHaveLength(1);
          const found = sessions[0].labels.find(({ label }: EnteredLabel) => label === 'untrusted');
          expect(found).toMatchObject({ tool: 'fetch_page', until: expect.any(Number) });
        },
        { timeout: patience(30_000), interval: 100 },
      );
      expect((await callFront(url, 'send_mail')).code).toBe('needs_approval');
      writeFileSync(gate, '');
      expect(await relayed).toMatchObject({ text: 'relayed', code: undefined });
    },
    120_000,
  );
});
