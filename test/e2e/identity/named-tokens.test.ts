// Named tokens: the user is the caller, in rules, lists, approvals, limits, sessions and the audit log.

import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { wield } from '../../support/cli.js';
import { callTool as callWith, connectUrl, type ProtocolVersion } from '../../support/clients.js';
import { SAMPLED, some } from '../../support/effort.js';
import { serveUrl } from '../../support/serve.js';
import { spec } from '../../support/spec.js';
import { trustNow } from '../../support/trusted.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const TOKENS = { ada: `ada-${'a'.repeat(30)}`, bob: `bob-${'b'.repeat(30)}` };
type User = keyof typeof TOKENS;

const RULES = `[trust]
rules = ["deploy($group=ops,$policy=allow)", "deploy($user=bob,$policy=ask)", "secret($group=contractors,$deny)"]
`;

function createTeam(more = '', rules = RULES): Workspace {
  const workspace = createWorkspace();
  const tables = (Object.keys(TOKENS) as User[]).map((user) => {
    writeFileSync(join(workspace.home, user), `${TOKENS[user]}\n`);
    const groups = user === 'ada' ? ['ops'] : ['contractors'];
    return `[serve.tokens.${user}]\nfile = "~/${user}"\ngroups = ${JSON.stringify(groups)}\n`;
  });
  workspace.config([rules, more, ...tables].join('\n'));
  for (const name of ['deploy', 'secret', 'hello'])
    workspace.script(
      name,
      `#!/bin/sh\n# @description Runs ${name}\n# @param text string A text\necho ran ${name} "$WIELD_PARAM_TEXT"\n`,
    );
  trustNow(workspace);
  return workspace;
}

const as = (user: User): Record<string, string> => ({ authorization: `Bearer ${TOKENS[user]}` });
const connectAs = (url: string, user: User, protocol: ProtocolVersion = 'older') =>
  connectUrl(url, protocol, undefined, as(user));
async function callTool(...given: Parameters<typeof callWith>): Promise<{ text: string; isError: boolean }> {
  const { content, isError = false } = await callWith(...given);
  return { text: content.map(({ text = '' }) => text).join('\n'), isError };
}
const namesOf = async (client: Awaited<ReturnType<typeof connectAs>>): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

function initialize(url: string, headers: Record<string, string>, name = 'client'): Promise<Response> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '1' } };
  return post(url, headers, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
}

function post(url: string, headers: Record<string, string>, body: object): Promise<Response> {
  const accepts = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers: { ...accepts, ...headers }, body: JSON.stringify(body) });
}

describe.concurrent('users with named tokens', () => {
  spec(
    'IDN-1',
    'are let in by the token of their file, also by a new one, and nobody if the table becomes invalid',
    async () => {
      const workspace = createTeam();
      const url = await serveUrl(workspace, []);
      expect((await initialize(url, as('ada'))).status).toBe(200);
      const refused = await initialize(url, { authorization: `Bearer ${'x'.repeat(34)}` });
      expect(refused.status).toBe(401);
      expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
      expect((await initialize(url, {})).status).toBe(401);
      writeFileSync(join(workspace.home, 'ada'), `# new\n${'n'.repeat(32)}\n`);
      expect((await initialize(url, { authorization: `Bearer ${'n'.repeat(32)}` })).status).toBe(200);
      expect((await initialize(url, as('ada'))).status).toBe(401);
      workspace.config('[serve.tokens.bob]\nfile = 5\n');
      expect((await initialize(url, as('bob'))).status).toBe(503);
      expect((await initialize(url, {})).status).toBe(401);
      workspace.config('');
      expect((await initialize(url, as('bob'))).status).toBe(401);
      expect((await initialize(url, {})).status).toBe(401);
    },
  );

  const table = (rest: string): string => `[serve.tokens.ada]\nfile = "~/ada"\n${rest}`;
  spec('IDN-1', `are needed when a file that was invalid at the start is fixed${SAMPLED}`, async () => {
    const all = [
      table('x = ['),
      table('groups = 5'),
      '[serve.tokens."a b"]\nfile = "~/ada"',
      '[serve.tokens.ada]\nfile = "ada"',
      '[serve.tokens.ada]',
    ];
    for (const invalid of some(all, 2)) {
      const workspace = createTeam();
      workspace.config(invalid);
      const url = await serveUrl(workspace, []);
      expect((await initialize(url, {})).status, invalid).toBe(401);
      expect((await initialize(url, as('ada'))).status, invalid).toBe(503);
      expect((await fetch(url.replace('/mcp', '/metrics'))).status, invalid).toBe(401);
      workspace.config(table(''));
      expect((await initialize(url, {})).status, invalid).toBe(401);
      expect((await initialize(url, as('ada'))).status, invalid).toBe(200);
    }
    const workspace = createTeam();
    workspace.config(table('x = ['));
    const { status, stderr } = await wield(workspace, ['serve', '--http', '0.0.0.0:0']);
    expect([status, stderr]).toEqual([2, expect.stringContaining('config.toml:3')]);
  });

  spec('IDN-1', 'are needed as soon as they are named, but not while another value is invalid', async () => {
    const workspace = createTeam();
    workspace.config('');
    const url = await serveUrl(workspace, []);
    expect((await initialize(url, {})).status).toBe(200);
    workspace.config(table(''));
    expect((await initialize(url, {})).status).toBe(401);
    expect((await initialize(url, as('ada'))).status).toBe(200);
    workspace.config(table('[limits]\ntimeout = "soon"'));
    expect((await initialize(url, as('ada'))).status).toBe(200);
    expect((await initialize(url, as('bob'))).status).toBe(401);
  });

  spec('IDN-1', 'are removed at once, whatever the same change adds', async () => {
    const workspace = createTeam();
    const url = await serveUrl(workspace, []);
    expect((await initialize(url, as('bob'))).status).toBe(200);
    workspace.config(table('[serve.tokens.eve]\nfile = "~/eve"\n'));
    const eve = { authorization: `Bearer ${'e'.repeat(32)}` };
    const statuses = async (): Promise<number[]> => {
      const all = [];
      for (const headers of [as('ada'), as('bob'), eve]) all.push((await initialize(url, headers)).status);
      return all;
    };
    expect(await statuses()).toEqual([200, 401, 401]);
    writeFileSync(join(workspace.home, 'eve'), 'short\n');
    expect(await statuses()).toEqual([200, 401, 401]);
    writeFileSync(join(workspace.home, 'eve'), `${'e'.repeat(32)}\n`);
    expect(await statuses()).toEqual([200, 401, 200]);
    // Its audience is missing.
    workspace.config('[serve.auth]\nissuer = "https://id.example.com"\n');
    expect(await statuses()).toEqual([503, 503, 503]);
    expect(await statuses()).toEqual([503, 503, 503]);
    workspace.config(table(''));
    expect(await statuses()).toEqual([200, 401, 401]);
  });

  spec('IDN-1', 'of a project do not exist, and without users nothing changes', async () => {
    const workspace = createTeam();
    workspace.config('');
    workspace.write('.agents/config.toml', '[serve.tokens.eve]\nfile = "/etc/hostname"\n');
    const url = await serveUrl(workspace, []);
    expect((await initialize(url, {})).status).toBe(200);
    expect((await wield(workspace, ['doctor'])).stdout).toContain('serve.tokens');
  });

  for (const protocol of ['older', 'newer'] as const)
    spec('IDN-2', `get what the rules about them and their groups allow: ${protocol} protocol version`, async () => {
      const url = await serveUrl(createTeam(), []);
      const [ada, bob] = await Promise.all([connectAs(url, 'ada', protocol), connectAs(url, 'bob', protocol)]);
      expect(await namesOf(ada)).toEqual(expect.arrayContaining(['deploy', 'hello', 'secret']));
      expect(await namesOf(bob)).not.toContain('secret');
      expect((await callTool(ada, 'deploy')).text).toContain('ran deploy');
      expect((await callTool(ada, 'secret')).text).toContain('ran secret');
      expect((await callTool(bob, 'secret')).isError).toBe(true);
      const asked = await callTool(bob, 'deploy');
      expect(asked.isError).toBe(true);
      expect(asked.text).toContain('wield approvals approve');
    });

  spec('IDN-2', 'are found by code with a user and groups, and explained', async () => {
    const toolbox = createTeam().toolbox();
    const caller = { kind: 'model', door: 'mcp' } as const;
    const verdictOf = async (more: object) =>
      (await toolbox.explain('deploy', {}, { caller: { ...caller, ...more } })).verdict.verdict;
    expect(await verdictOf({ user: 'x', groups: ['ops'] })).toBe('allow');
    expect(await verdictOf({ user: 'bob' })).toBe('ask');
    const found = await toolbox.search('secret', 10, { caller: { ...caller, user: 'x', groups: ['contractors'] } });
    expect(found.map(({ name }) => name)).not.toContain('secret');
  });

  spec('IDN-3', 'cannot use the approval of another one by taking the name of their client', async () => {
    const workspace = createTeam('', '[trust]\nrules = ["deploy($policy=ask)"]\n');
    const url = await serveUrl(workspace, []);
    const ask = async (user: User) => callTool(await connectAs(url, user), 'deploy');
    const waiting = (await ask('bob')).text;
    const id = /approvals approve (\w+)/.exec(waiting)![1]!;
    expect((await wield(workspace, ['approvals', 'approve', id])).status).toBe(0);
    const other = await ask('ada');
    expect(other.isError).toBe(true);
    expect(other.text).not.toContain(id);
    expect((await ask('bob')).text).toContain('ran deploy');
  });

  spec('IDN-3', 'have one rate limit, whatever their clients are called', async () => {
    const url = await serveUrl(createTeam('[limits]\ncalls-per-minute = 3\n'), []);
    const outcomes: boolean[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const began = await initialize(url, as('ada'), name);
      const session = { ...as('ada'), 'mcp-session-id': began.headers.get('mcp-session-id')! };
      const params = { name: 'hello', arguments: {} };
      const answer = await (await post(url, session, { jsonrpc: '2.0', id: 2, method: 'tools/call', params })).text();
      outcomes.push(answer.includes('ran hello'));
    }
    expect(outcomes).toEqual([true, true, true, false, false]);
    expect((await callTool(await connectAs(url, 'bob'), 'hello')).text).toContain('ran hello');
  });

  spec('IDN-4', 'do not find sessions of others, nor their stored results', async () => {
    const url = await serveUrl(createTeam('[results]\ninline = 100\n'), []);
    const began = await initialize(url, as('ada'));
    const id = began.headers.get('mcp-session-id')!;
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
    expect((await post(url, { ...as('ada'), 'mcp-session-id': id }, list)).status).toBe(200);
    for (const method of ['POST', 'GET', 'DELETE']) {
      const headers = {
        ...as('bob'),
        'mcp-session-id': id,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      };
      const body = method === 'POST' ? { body: JSON.stringify(list) } : {};
      expect((await fetch(url, { method, headers, ...body })).status, method).toBe(404);
    }
    expect((await post(url, { ...as('ada'), 'mcp-session-id': id }, list)).status).toBe(200);

    const [ada, again, bob] = await Promise.all([
      connectAs(url, 'ada', 'newer'),
      connectAs(url, 'ada', 'newer'),
      connectAs(url, 'bob', 'newer'),
    ]);
    const { text } = await callTool(ada, 'hello', { text: 'x'.repeat(500) });
    const handle = /r_[\w-]+/.exec(text)![0];
    expect((await callTool(again, 'read_result', { id: handle })).text).toContain('xxx');
    const foreign = await callTool(bob, 'read_result', { id: handle });
    expect(foreign.isError).toBe(true);
    const unknown = await callTool(bob, 'read_result', { id: 'r_0000000000' });
    expect(foreign.text.replace(handle, '')).toBe(unknown.text.replace('r_0000000000', ''));
  });

  spec('IDN-1', 'whose file is emptied, broken or removed are not let in, and others are', async () => {
    const workspace = createTeam();
    const url = await serveUrl(workspace, []);
    const statuses = () =>
      Promise.all((['ada', 'bob'] as const).map(async (user) => (await initialize(url, as(user))).status));
    const file = join(workspace.home, 'bob');
    const add = (user: string) =>
      appendFileSync(join(workspace.env.WIELD_HOME!, 'config.toml'), `[serve.tokens.${user}]\nfile = "~/${user}"\n`);
    for (const text of ['', 'short', `# ${TOKENS.bob}`]) {
      writeFileSync(file, `${TOKENS.bob}\n`);
      expect(await statuses()).toEqual([200, 200]);
      writeFileSync(file, text);
      expect([text, ...(await statuses())]).toEqual([text, 200, 401]);
    }
    // Nor does it depend on another user.
    add('eve');
    expect(await statuses()).toEqual([200, 401]);
    writeFileSync(file, `${TOKENS.bob}\n`);
    expect(await statuses()).toEqual([200, 200]);
    rmSync(file);
    expect(await statuses()).toEqual([200, 401]);
  });

  spec('IDN-5', 'are in the audit log, and their tokens nowhere', async () => {
    const workspace = createTeam();
    const url = await serveUrl(workspace, []);
    await callTool(await connectAs(url, 'ada'), 'hello');
    await callTool(await connectAs(url, 'bob'), 'hello');
    const { stdout } = await wield(workspace, ['audit', '--user', 'a*', '--json']);
    const { records } = JSON.parse(stdout);
    expect(records.map(({ user, tool }: { user: string; tool: string }) => [user, tool])).toEqual([['ada', 'hello']]);
    expect((await wield(workspace, ['audit'])).stdout).toContain('bob (mcp:');
    const log = join(workspace.env.WIELD_HOME!, 'audit/000001.jsonl');
    expect(existsSync(log) && readFileSync(log, 'utf8')).not.toContain(TOKENS.ada);
  });

  spec('IDN-8', 'come through a proxy by its address, and by no other', async () => {
    const url = await serveUrl(createTeam(), ['--public-url', 'https://wield.example.com/mcp']);
    const { port } = new URL(url);
    const statusOf = (headers: Record<string, string>): Promise<number> => rawStatus(Number(port), headers);
    const token = as('ada');
    expect(await statusOf({ ...token, host: 'wield.example.com' })).toBe(200);
    expect(await statusOf({ ...token, host: 'wield.example.com', origin: 'https://wield.example.com' })).toBe(200);
    expect(await statusOf({ ...token, host: `127.0.0.1:${port}`, origin: 'https://wield.example.com' })).toBe(200);
    expect(await statusOf({ ...token, host: 'wield.example.com:443' })).toBe(200);
    expect(await statusOf({ ...token, host: 'wield.example.com:80' })).toBe(403);
    expect(await statusOf({ ...token, host: 'other.example.com' })).toBe(403);
    expect(await statusOf({ ...token, host: 'other.example.com', 'x-forwarded-host': 'wield.example.com' })).toBe(403);
    expect(await statusOf({ ...token, host: 'wield.example.com', origin: 'https://evil.example.com' })).toBe(403);
    for (const wrong of ['wield.example.com', 'http://wield.example.com/mcp', 'https://a@b/mcp', 'https://a/mcp?x'])
      expect((await wield(createTeam(), ['serve', '--http', '0', '--public-url', wrong])).status, wrong).toBe(2);
  });
});

async function rawStatus(port: number, headers: Record<string, string>): Promise<number> {
  const { request } = await import('node:http');
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const accepts = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      path: '/mcp',
      method: 'POST',
      headers: { ...accepts, ...headers },
    });
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
