// Approvers: who approves calls of models, over HTTP and in forms, and who is told of calls that wait.

import { createHmac } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { createMember, FLEET_KEY, frontArgs, startHere, workerArgs } from '../../support/fleet.js';
import { listen, readBody } from '../../support/http.js';
import { patience } from '../../support/patience.js';
import { sleep } from '../../support/processes.js';
import { hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { serveUrl } from '../../support/serve.js';
import { spec, specIf } from '../../support/spec.js';
import {
  approvalsAs,
  askApprovals,
  asUser,
  callRaw,
  createTeam,
  type Groups,
  scriptOf,
  tokenOf,
} from '../../support/team.js';

const TEAM: Groups = { ada: ['ops'], bob: ['dev'], eve: ['dev'], kim: [] };
const APPROVERS = '[approvals]\napprovers = ["group:ops", "user:kim"]\n';
interface Recorded {
  readonly approval?: { readonly by: string; readonly approvedBy?: string };
  readonly decision: { readonly user?: string };
}
const FORM = { capabilities: { elicitation: { form: {} } } };

describe.concurrent('approvers', () => {
  spec('IDN-9 IDN-10', 'list, approve, deny and take back the calls of others, and are recorded', async () => {
    const workspace = createTeam(TEAM, APPROVERS);
    const url = await serveUrl(workspace, []);
    const waiting = await callRaw(url, asUser('bob'), 'deploy', { text: 'one', password: 'hunter2hunter2' });
    expect(waiting.text).toContain(
      `an approver can approve it with: wield approvals approve ${waiting.approval} --server`,
    );
    const listed = json(await approvalsAs(url, 'ada', ['--json']));
    expect(listed.approvals).toMatchObject([
      { id: waiting.approval, state: 'pending', tool: 'deploy', caller: { kind: 'model', name: 'user bob at token' } },
    ]);
    expect(JSON.stringify(listed)).not.toContain('hunter2');
    const local = json(await wield(workspace, ['approvals', '--json']));
    expect(listed).toEqual(local);
    expect((await approvalsAs(url, 'ada', ['show', waiting.approval])).stdout).toContain('user bob at token');
    expect((await approvalsAs(url, 'ada', [])).stdout).toContain(waiting.approval);

    const approved = json(await approvalsAs(url, 'ada', ['approve', waiting.approval, '--json']));
    expect(approved.approval).toMatchObject({ state: 'approved', approvedBy: 'ada' });
    expect((await approvalsAs(url, 'ada', ['show', '0123456789abcdef'])).stderr).toContain('--server URL');
    expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'one', password: 'hunter2hunter2' })).text).toContain(
      'ran deploy one',
    );

    const other = await callRaw(url, asUser('bob'), 'deploy', { text: 'two' });
    const refusal = ['deny', other.approval, '--reason', 'not today', '--json'];
    expect(json(await approvalsAs(url, 'kim', refusal)).approval).toMatchObject({
      state: 'denied',
      deniedBy: 'kim',
    });
    const refused = await callRaw(url, asUser('bob'), 'deploy', { text: 'two' });
    expect(refused.text).toContain('not today');
    expect(refused.text).toContain(`wield approvals approve ${other.approval} --server URL`);

    const third = await callRaw(url, asUser('bob'), 'deploy', { text: 'three' });
    const standing = json(await approvalsAs(url, 'ada', ['approve', third.approval, '--always', '--json']));
    expect(standing.approval).toMatchObject({ state: 'standing', approvedBy: 'ada' });
    expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'four' })).text).toContain('ran deploy four');
    expect((await approvalsAs(url, 'ada', [])).stdout).toContain(`wield approvals revoke ID --server ${url} takes`);
    const revoked = json(await approvalsAs(url, 'ada', ['revoke', standing.approval.id, '--json']));
    expect(revoked.approval.state).toBe('revoked');
    expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'five' })).isError).toBe(true);

    const { records } = json(await wield(workspace, ['audit', '--tool', 'deploy', '--json']));
    const found = records.map(({ approval, decision }: Recorded) => [
      approval?.by,
      approval?.approvedBy,
      decision.user,
    ]);
    expect(found).toEqual([
      [undefined, undefined, undefined],
      ['record', 'ada', 'ada'],
      [undefined, undefined, undefined],
      [undefined, undefined, 'kim'],
      [undefined, undefined, undefined],
      ['standing', 'ada', 'ada'],
      [undefined, undefined, undefined],
    ]);
  });

  spec('IDN-9', 'alone answer forms of their client, and nobody with four-eyes', async () => {
    const workspace = createTeam(TEAM, APPROVERS);
    const url = await serveUrl(workspace, []);
    expect((await callRaw(url, asUser('ada'), 'deploy', {}, FORM)).result.resultType).toBe('input_required');
    expect((await callRaw(url, asUser('bob'), 'deploy', {}, FORM)).approval).not.toBe('');
    const strict = await serveUrl(createTeam(TEAM, `${APPROVERS}four-eyes = true\n`), []);
    expect((await callRaw(strict, asUser('ada'), 'deploy', {}, FORM)).approval).not.toBe('');
    const without = await serveUrl(createTeam(TEAM, '[approvals]\nfour-eyes = true\n'), []);
    expect((await callRaw(without, asUser('bob'), 'deploy', {}, FORM)).approval).not.toBe('');
    const plain = await serveUrl(createTeam(TEAM), []);
    expect((await callRaw(plain, asUser('bob'), 'deploy', {}, FORM)).result.resultType).toBe('input_required');
    expect((await askApprovals(plain, asUser('ada'))).status).toBe(404);
  });

  spec('IDN-9', 'are named by the user, not by a project, and an invalid list denies everything', async () => {
    const workspace = createTeam(TEAM, '[approvals]\napprovers = ["ops"]\n');
    const { stdout, status } = await wield(workspace, ['call', 'hello']);
    expect(status).toBe(5);
    expect(stdout).toBe('');
    workspace.config('');
    workspace.write('.agents/config.toml', '[approvals]\napprovers = ["user:eve"]\n');
    expect((await wield(workspace, ['doctor'])).stdout).toContain('a project cannot set approvals.approvers');
  });

  spec('IDN-10', 'need the address of a server and a token', async () => {
    const url = await serveUrl(createTeam(TEAM, APPROVERS), []);
    const workspace = createTeam({});
    const without = await wield(workspace, ['approvals', '--server', url]);
    expect([without.status, without.stderr]).toEqual([2, expect.stringContaining('--token-file')]);
    const wrong = await approvalsAs(url, 'nobody', []);
    expect([wrong.status, wrong.stderr]).toEqual([5, expect.stringContaining('refused the token')]);
    expect((await approvalsAs('ftp://x/mcp', 'ada', [])).status).toBe(2);
    const plain = await approvalsAs('http://wield.example.com/mcp', 'ada', []);
    expect([plain.status, plain.stderr]).toEqual([8, expect.stringContaining('unencrypted')]);
    writeFileSync(join(workspace.home, 'mine'), tokenOf('ada'));
    const file = ['approvals', '--server', url, '--token-file', join(workspace.home, 'mine')];
    expect((await wield(workspace, file)).stdout).toBe('No pending approvals.\n');
  });

  specIf(
    hasRedis,
    NO_REDIS,
    'IDN-9 IDN-10',
    'of a fleet answer calls of every front, and workers record who',
    async () => {
      const redis = await startRedis();
      const front = createTeam(TEAM, `${APPROVERS}four-eyes = true\n`);
      front.env.WIELD_FLEET_KEY = FLEET_KEY;
      const worker = createMember({ deploy: scriptOf('deploy') }, '[trust]\nrules = ["deploy($policy=ask)"]\n');
      const { name: url } = await startHere(front, frontArgs(redis.url));
      await startHere(worker, workerArgs(redis.url));
      const { approval } = await callRaw(url, asUser('bob'), 'deploy', { text: 'far' });
      expect((await approvalsAs(url, 'bob', ['approve', approval])).status).toBe(5);
      const approved = json(await approvalsAs(url, 'ada', ['approve', approval, '--json']));
      expect(approved.approval).toMatchObject({ state: 'approved', approvedBy: 'ada' });
      expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'far' })).text).toContain('ran deploy far');
      const { records } = json(await wield(worker, ['audit', '--tool', 'deploy', '--json']));
      expect(records).toMatchObject([{ user: 'bob', approval: { by: 'record', approvedBy: 'ada' } }]);
      expect((await callRaw(url, asUser('bob'), 'deploy', { text: 'far' })).isError).toBe(true);
    },
  );
});

describe.concurrent('messages about waiting calls', () => {
  spec('IDN-11', 'are sent once, signed, and again until they are accepted', async () => {
    const bodies: { body: string; signature: string }[] = [];
    const receiver = await listen(async (request, response) => {
      bodies.push({ body: await readBody(request), signature: String(request.headers['wield-signature']) });
      response.writeHead(bodies.length === 1 ? 503 : 204).end();
    });
    const secret = 'a-secret-of-the-receiver';
    const workspace = createTeam(
      TEAM,
      `[approvals]\nnotify = { url = "${receiver.origin}/hook", secret = "file:~/key" }\n`,
    );
    writeFileSync(join(workspace.home, 'key'), `${secret}\n`);
    const url = await serveUrl(workspace, []);
    const input = { text: 'one', password: 'hunter2hunter2' };
    const { approval } = await callRaw(url, asUser('bob'), 'deploy', input);
    await callRaw(url, asUser('bob'), 'deploy', input);
    await vi.waitFor(() => expect(bodies).toHaveLength(2), { timeout: patience(10_000), interval: 50 });
    const [first, second] = bodies;
    expect(second!.body).toBe(first!.body);
    expect(JSON.parse(first!.body)).toMatchObject({
      schema: 1,
      type: 'approval.pending',
      approval: { id: approval, state: 'pending', tool: 'deploy', input: { text: 'one' } },
    });
    expect(first!.body).not.toContain('hunter2');
    expect(first!.body).not.toContain(tokenOf('bob'));
    for (const { body, signature } of bodies) {
      const [, time, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature)!;
      expect(createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')).toBe(digest);
    }
  });

  spec('IDN-11', 'that are not accepted before the process ends are a warning', async () => {
    const hook = await listen((_request, response) => response.writeHead(500).end());
    const workspace = createTeam(TEAM, `[approvals]\nnotify = { url = "${hook.origin}" }\n`);
    const { stderr } = await wield(workspace, ['call', 'deploy']);
    expect(stderr).toMatch(/approvals\.notify did not accept the message about the call \w+: status 500/);
  });

  spec.thorough(
    'IDN-11',
    'that were not accepted are sent again when the call is repeated',
    async () => {
      const hook = await listen((_request, response) => response.writeHead(hook.requests.length > 5 ? 204 : 500).end());
      const workspace = createTeam(TEAM, `[approvals]\nnotify = { url = "${hook.origin}" }\n`);
      const url = await serveUrl(workspace, []);
      for (const expected of [5, 6, 6]) {
        await callRaw(url, asUser('bob'), 'deploy');
        await vi.waitFor(() => expect(hook.requests).toHaveLength(expected), { timeout: 200_000, interval: 100 });
        await sleep(500);
      }
      expect(hook.requests).toHaveLength(6);
    },
    240_000,
  );

  spec('IDN-11', 'are the input of a command', async () => {
    const workspace = createTeam(TEAM, '[approvals]\nnotify = { command = ["sh", "-c", "cat > ~/told"] }\n');
    const url = await serveUrl(workspace, []);
    const { approval } = await callRaw(url, asUser('bob'), 'deploy');
    const told = join(workspace.home, 'told');
    await vi.waitFor(() => expect(existsSync(told) && readFileSync(told, 'utf8')).toContain(approval), {
      timeout: patience(10_000),
      interval: 50,
    });
  });

  spec('IDN-11', 'have an address whose path may be a secret, and is not shown', async () => {
    const token = 'T0123ABCD/B0456EFGH/xoxbSecretOfTheHook12345';
    const workspace = createTeam({}, `[approvals]\nnotify = { url = "https://hooks.example.com/services/${token}" }\n`);
    const { stdout } = await wield(workspace, ['config']);
    expect(stdout).toContain('https://hooks.example.com/services/');
    expect(stdout).not.toContain('xoxbSecretOfTheHook12345');
    expect((await wield(workspace, ['config', '--json'])).stdout).not.toContain('xoxbSecretOfTheHook12345');
  });

  spec('IDN-11', 'need a command or an address, and a reference to a secret', async () => {
    for (const [notify, expected] of [
      ['{ url = "http://hook.example.com" }', 'https://chat.example.com/hook'],
      ['{ url = "https://a.example", command = ["x"] }', 'a command or a url'],
      ['{ url = "https://a.example", secret = "plain" }', '${VARIABLE}'],
      ['{ command = ["x"], secret = "${X}" }', 'needs a url'],
      ['{ command = [] }', 'must name a program'],
    ] as const) {
      const workspace = createTeam({}, `[approvals]\nnotify = ${notify}\n`);
      const [problem] = workspace.toolbox().state.configuration().problems;
      expect(problem?.message, notify).toContain(expected);
    }
  });
});
