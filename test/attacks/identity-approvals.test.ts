// Attacks on approvals of a server with users: by callers, by users who are no approvers, and on the messages about them.

import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { json, wield } from '../support/cli.js';
import { listen } from '../support/http.js';
import { createProvider } from '../support/identity-provider.js';
import { patience } from '../support/patience.js';
import { serveUrl } from '../support/serve.js';
import { share } from '../support/share.js';
import { spec } from '../support/spec.js';
import { approvalsAs, askApprovals, asUser, callRaw, createTeam, type Groups, tokenOf } from '../support/team.js';
import { trustNow } from '../support/trusted.js';

const TEAM: Groups = { ada: ['ops'], Ada: ['ops'], bob: ['dev'], eve: ['dev'], kim: ['ops'] };
const STRICT = '[approvals]\napprovers = ["group:ops"]\nfour-eyes = true\n';
const APPROVE = { answer: 'approve' };
const SHARED = 'shared-token-of-everybody';
const PUBLIC_URL = 'https://wield.example.com/mcp';

// One server for all attacks that leave it as it is; each uses a text of its own.
const open = share(async () => {
  const provider = await createProvider(PUBLIC_URL);
  const workspace = createTeam(TEAM, `${STRICT}[serve.auth]\nissuer = "${provider.issuer}"\n`);
  writeFileSync(join(workspace.home, 'shared'), SHARED);
  const url = await serveUrl(workspace, ['--public-url', PUBLIC_URL, '--token-file', join(workspace.home, 'shared')]);
  return { provider, workspace, url };
});

async function wait(user: string, text: string): Promise<{ url: string; id: string }> {
  const { url } = await open();
  return { url, id: (await callRaw(url, asUser(user), 'deploy', { text })).approval };
}

describe.concurrent('approvals of a server with users', () => {
  spec('IDN-10', 'are not given by a user who is no approver', async () => {
    const { url, id } = await wait('bob', 'a1');
    for (const user of ['bob', 'eve'])
      for (const answer of ['approve', 'always', 'deny'])
        expect((await askApprovals(url, asUser(user), `/${id}`, { answer })).status, `${user} ${answer}`).toBe(403);
    expect((await approvalsAs(url, 'eve', ['approve', id])).status).toBe(5);
    expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'a1' })).isError).toBe(true);
  });

  spec('IDN-10', 'of another user are unknown to users who are no approvers, as ids that do not exist', async () => {
    const { url, id } = await wait('bob', 'a2');
    const { body } = await askApprovals(url, asUser('eve'));
    expect(JSON.stringify(body)).not.toContain(id);
    const foreign = await askApprovals(url, asUser('eve'), `/${id}`);
    const unknown = await askApprovals(url, asUser('eve'), '/0000000000000000');
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect(JSON.stringify(foreign.body).replace(id, '')).toBe(
      JSON.stringify(unknown.body).replace('0000000000000000', ''),
    );
    const own = await askApprovals(url, asUser('bob'));
    expect(
      own.body.approvals.every((one: { caller: { name: string } }) => one.caller.name === 'user bob at token'),
    ).toBe(true);
    expect((await askApprovals(url, asUser('bob'), `/${id}`)).status).toBe(200);
  });

  spec('IDN-10', 'are not reached without a login, or with a shared token', async () => {
    const { url, id } = await wait('bob', 'a3');
    const shared = { authorization: `Bearer ${SHARED}` };
    for (const body of [undefined, APPROVE]) {
      expect((await askApprovals(url, {}, `/${id}`, body)).status).toBe(401);
      expect((await askApprovals(url, shared, `/${id}`, body)).status).toBe(403);
      expect((await askApprovals(url, { authorization: `Bearer ${'x'.repeat(40)}` }, `/${id}`, body)).status).toBe(401);
    }
    expect((await askApprovals(url, shared)).status).toBe(403);
  });

  spec(
    'IDN-9',
    'are not given by the caller with four-eyes: another client, another spelling, another issuer',
    async () => {
      const { url, provider } = await open();
      const call = async (headers: Record<string, string>, client: string) =>
        (await callRaw(url, headers, 'deploy', { text: 'a4' }, { client })).approval;
      const login = { authorization: `Bearer ${await provider.sign({ sub: 'ada', groups: ['ops'] })}` };
      const ids = [await call(asUser('ada'), 'one'), await call(login, 'two')];
      expect(new Set(ids).size).toBe(2);
      for (const id of ids)
        for (const headers of [asUser('ada'), asUser('Ada'), login, { ...asUser('ada'), 'user-agent': 'another' }]) {
          const { status, body } = await askApprovals(url, headers, `/${id}`, APPROVE);
          expect([status, body.error?.message]).toEqual([403, 'not approved: it is your own call']);
          expect((await askApprovals(url, headers, `/${id}`, { answer: 'always' })).status).toBe(403);
        }
      expect((await askApprovals(url, asUser('kim'), `/${ids[0]}`, APPROVE)).status).toBe(200);
      expect((await callRaw(url, asUser('ada'), 'deploy', { text: 'a4' })).text).toContain('ran deploy a4');
    },
  );

  spec('IDN-9', 'are not given for a call that the approver may have made with a shared token', async () => {
    const { url } = await open();
    const shared = { authorization: `Bearer ${SHARED}` };
    const { approval } = await callRaw(url, shared, 'deploy', { text: 'a5' }, { client: 'user kim at token' });
    const { status, body } = await askApprovals(url, asUser('ada'), `/${approval}`, APPROVE);
    expect([status, body.error.message]).toEqual([403, expect.stringContaining('no user')]);
    expect((await callRaw(url, shared, 'deploy', { text: 'a5' }, { client: 'user kim at token' })).isError).toBe(true);
  });

  spec('IDN-9', 'are for the user who asked, for one call, with the input that was shown', async () => {
    const { url, id } = await wait('bob', 'a6');
    expect((await askApprovals(url, asUser('ada'), `/${id}`, APPROVE)).status).toBe(200);
    expect((await callRaw(url, asUser('eve'), 'deploy', { text: 'a6' }, { client: 'bob' })).isError).toBe(true);
    expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'a6 and more' })).isError).toBe(true);
    const runs = await Promise.all([1, 2, 3, 4].map(() => callRaw(url, asUser('bob'), 'deploy', { text: 'a6' })));
    expect(runs.filter(({ isError }) => !isError)).toHaveLength(1);
    // The pending question of the refused ones is another one to answer; the used approval is gone.
    expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'a6' })).isError).toBe(true);
  });

  spec('IDN-10', 'cannot be answered again after they were used', async () => {
    const { url, id } = await wait('bob', 'a7');
    await askApprovals(url, asUser('ada'), `/${id}`, APPROVE);
    expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'a7' })).isError).toBe(false);
    for (const body of [APPROVE, { answer: 'always' }])
      expect((await askApprovals(url, asUser('ada'), `/${id}`, body)).status).toBe(404);
  });

  spec('IDN-9', 'cannot claim that somebody else gave them', async () => {
    const { url, id } = await wait('bob', 'a8');
    const forged = { ...APPROVE, by: 'kim', approvedBy: 'kim', user: 'kim', identity: { user: 'kim' } };
    const { body } = await askApprovals(url, { ...asUser('ada'), 'x-forwarded-user': 'kim' }, `/${id}`, forged);
    expect(body.approval.approvedBy).toBe('ada');
  });

  spec(
    'IDN-10',
    'are not answered by what is not a JSON answer, another method, another site or another host',
    async () => {
      const { url, id } = await wait('bob', 'a9');
      for (const body of [
        {},
        { answer: 'yes' },
        { answer: ['approve'] },
        [],
        'approve',
        { answer: 'approve', reason: 5 },
      ])
        expect((await askApprovals(url, asUser('ada'), `/${id}`, body)).status, JSON.stringify(body)).toBe(400);
      const post = (headers: Record<string, string>, method = 'POST', path = `/approvals/${id}`): Promise<number> =>
        new Promise((resolve, reject) => {
          const { port } = new URL(url);
          const sent = request({ port, host: '127.0.0.1', path, method, headers: { ...asUser('ada'), ...headers } });
          sent.on('response', (response) => {
            response.resume();
            resolve(response.statusCode!);
          });
          sent.on('error', reject);
          sent.end(JSON.stringify(APPROVE));
        });
      const typed = { 'content-type': 'application/json' };
      expect(await post({ 'content-type': 'text/plain' })).toBe(400);
      expect(await post({ ...typed, origin: 'https://evil.example.com' })).toBe(403);
      expect(await post({ ...typed, host: 'evil.example.com' })).toBe(403);
      for (const method of ['PUT', 'DELETE', 'PATCH']) expect(await post(typed, method)).toBe(400);
      expect(await post(typed, 'POST', '/approvals')).toBe(400);
      expect(await post(typed, 'POST', `/approvals/../approvals/${id}/x`)).toBe(404);
      expect((await askApprovals(url, asUser('bob'), `/${id}`)).body.approval.state).toBe('pending');
    },
  );

  spec('IDN-9', 'are not given by a form of a client whose user is no approver', async () => {
    const workspace = createTeam(TEAM, '[approvals]\napprovers = ["group:ops"]\n');
    const url = await serveUrl(workspace, []);
    const form = { capabilities: { elicitation: { form: {} } } };
    const asked = await callRaw(url, asUser('ada'), 'deploy', {}, form);
    const { requestState } = asked.result as { requestState: string };
    expect(requestState).toBeDefined();
    const inputResponses = { consent: { action: 'accept', content: { decision: 'run it once' } } };
    const answered = { ...form, more: { requestState, inputResponses } };
    expect((await callRaw(url, asUser('bob'), 'deploy', {}, form)).approval).not.toBe('');
    // The state of an approver's question is not consent of somebody else.
    expect((await callRaw(url, asUser('bob'), 'deploy', {}, answered)).isError).toBe(true);
    expect((await callRaw(url, asUser('ada'), 'deploy', {}, answered)).text).toContain('ran deploy');
    expect((await callRaw(url, asUser('ada'), 'deploy', {}, answered)).isError).toBe(true);
  });

  spec('IDN-10', 'are not given by a process that a tool started, with the token of an approver', async () => {
    const workspace = createTeam(TEAM, '[approvals]\napprovers = ["group:ops"]\n');
    const url = await serveUrl(workspace, []);
    const { approval } = await callRaw(url, asUser('bob'), 'deploy');
    const address = JSON.stringify(url.replace('/mcp', `/approvals/${approval}`));
    const headers = { ...asUser('ada'), 'content-type': 'application/json' };
    const init = JSON.stringify({ method: 'POST', headers, body: JSON.stringify(APPROVE) });
    workspace.write('client.mjs', `const r = await fetch(${address}, ${init}); console.log(r.status, await r.text());`);
    workspace.script(
      'attack',
      `#!/bin/sh\n# @description Approves\n"${process.execPath}" "$WIELD_WORKDIR/client.mjs"\n`,
    );
    trustNow(workspace);
    expect((await callRaw(url, asUser('ada'), 'attack')).text).toMatch(/^403 .*a process that a tool started/);
    expect((await askApprovals(url, asUser('ada'), `/${approval}`)).body.approval.state).toBe('pending');
  });

  spec('IDN-9', 'are not read from a stored file whose user was changed into an approval', async () => {
    const { workspace } = await open();
    const { url, id } = await wait('bob', 'b1');
    const file = join(workspace.env.WIELD_HOME!, 'approvals', `${id}.pending.json`);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('user bob at token', 'user eve at token'), { mode: 0o600 });
    expect((await askApprovals(url, asUser('eve'), `/${id}`)).status).toBe(404);
    expect((await askApprovals(url, asUser('ada'), `/${id}`, APPROVE)).status).toBe(404);
  });
});

describe.concurrent('the token of an approver', () => {
  spec('IDN-10', 'is not sent to another origin, nor is a foreign document believed', async () => {
    const other = await listen((_request, response) => response.end('{"approvals":[]}'));
    const redirecting = await listen((_request, response) =>
      response.writeHead(307, { location: `${other.origin}/approvals` }).end(),
    );
    expect((await approvalsAs(`${redirecting.origin}/mcp`, 'ada', [])).status).toBe(8);
    expect(other.requests).toHaveLength(0);
    const odd = await listen((_request, response) => response.end('{"approvals":[{"id":"\\u001b[2J"}]}'));
    const { status, stdout, stderr } = await approvalsAs(`${odd.origin}/mcp`, 'ada', []);
    expect(status).toBe(8);
    expect(stdout + stderr).not.toContain('\u001b[2J');
    expect(stderr).not.toContain(tokenOf('ada'));
  });
});

describe.concurrent('messages about waiting calls', () => {
  const notify = (value: string) => `[approvals]\nnotify = ${value}\n`;

  spec('IDN-11', 'do not follow a redirect to another origin', async () => {
    const inner = await listen((_request, response) => response.end());
    for (const status of [301, 302, 303, 307, 308]) {
      const hook = await listen((_request, response) =>
        response.writeHead(status, { location: `${inner.origin}/latest/meta-data` }).end(),
      );
      const url = await serveUrl(createTeam(TEAM, notify(`{ url = "${hook.origin}" }`)), []);
      await callRaw(url, asUser('bob'), 'deploy');
      await vi.waitFor(() => expect(hook.requests.length).toBeGreaterThan(0), { timeout: patience(10_000) });
    }
    expect(inner.requests).toHaveLength(0);
  });

  spec('IDN-11', 'are not sent unsigned if the secret cannot be read, nor make the call wait', async () => {
    const hook = await listen(() => {});
    const url = await serveUrl(createTeam(TEAM, notify(`{ url = "${hook.origin}", secret = "file:~/none" }`)), []);
    expect((await callRaw(url, asUser('bob'), 'deploy')).approval).not.toBe('');
    const slow = await serveUrl(createTeam(TEAM, notify(`{ url = "${hook.origin}" }`)), []);
    const since = performance.now();
    expect((await callRaw(slow, asUser('bob'), 'deploy')).approval).not.toBe('');
    expect(performance.now() - since).toBeLessThan(patience(5000));
    await vi.waitFor(() => expect(hook.requests).toHaveLength(1), { timeout: patience(10_000) });
    expect(hook.requests[0]!.headers['wield-signature']).toBeUndefined();
  });

  spec('IDN-11', 'are not sent for a project, and its command cannot consent', async () => {
    const hook = await listen((_request, response) => response.end());
    const workspace = createTeam(TEAM, notify('{ command = ["sh", "-c", "env > ~/told"] }'));
    workspace.write('.agents/config.toml', notify(`{ url = "${hook.origin}" }`));
    trustNow(workspace);
    const url = await serveUrl(workspace, []);
    await callRaw(url, asUser('bob'), 'deploy');
    const told = join(workspace.home, 'told');
    await vi.waitFor(() => expect(readFileSync(told, 'utf8')).toContain('WIELD_CALL='), { timeout: patience(10_000) });
    expect(readFileSync(told, 'utf8')).not.toContain('WIELD_TOKEN');
    expect(hook.requests).toHaveLength(0);
    expect(json(await wield(workspace, ['approvals', '--json'])).approvals).toHaveLength(1);
  });
});
