// The approval inbox: calls of other processes, answers that name the plan, refusals with a reason.

import { describe, expect } from 'vitest';
import { askFor, createAskingWorkspace } from '../../support/approvals.js';
import { json, wield } from '../../support/cli.js';
import { createLabelled, inSession } from '../../support/labelled.js';
import { openPage } from '../../support/page.js';
import { share } from '../../support/share.js';
import { spec } from '../../support/spec.js';

const opened = share(async () => {
  const workspace = createAskingWorkspace();
  return { workspace, page: await openPage(workspace) };
});

describe('the inbox', () => {
  const find = async (id: string) =>
    (await opened().page.get('/api/approvals')).json.approvals.find((one: { id: string }) => one.id === id);

  spec('UI-8', 'lists pending calls of other processes, with the diff to the last approved one', async () => {
    const { workspace, page } = opened();
    const id = await askFor(workspace, 'first');
    const item = await find(id);
    expect(item).toMatchObject({ state: 'pending', tool: 'deploy', input: { branch: 'first' } });
    expect(item.changes).toBeUndefined();
    expect(item.rows.map(([label]: [string]) => label)).toEqual(expect.arrayContaining(['says', 'runs', 'input']));
    expect(Date.parse(item.until) - Date.parse(item.since)).toBe(7 * 24 * 3_600_000);
    const approved = await page.post(`/api/approvals/${id}`, { answer: 'once', digest: item.digest });
    expect(approved.json.approval).toMatchObject({ id, state: 'approved' });
    expect((await workspace.deploy('first')).status).toBe(0);
    // Consent is used up.
    const again = await askFor(workspace, 'first');
    expect(again).toBe(id);
    const second = await find(await askFor(workspace, 'second'));
    expect(second.changes.lines.join('\n')).toMatch(/-.*first[\s\S]*\+.*second/);
  });

  spec('FLW-8', 'shows what sessions have read', async () => {
    const workspace = createLabelled();
    const page = await openPage(workspace);
    expect((await page.get('/api/labels')).json).toEqual({ sessions: [] });
    const toolbox = workspace.open();
    for (const ref of ['read_mail', 'fetch_page']) await toolbox.call(ref, {}, { caller: inSession('one') });
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\dZ`;
    const labels = ['private from read_mail', 'untrusted from fetch_page'].map((text) =>
      expect.stringMatching(new RegExp(`^${text}, ${time}$`)),
    );
    const { sessions } = (await page.get('/api/labels')).json;
    expect(sessions).toEqual([{ id: expect.stringMatching(/^[0-9a-f]{16}$/), of: 'model mcp', labels }]);
    await wield(workspace, ['approvals', 'clear', sessions[0].id]);
    expect((await page.get('/api/labels')).json).toEqual({ sessions: [] });
  });

  spec('UI-8', 'decides nothing for another plan, and nothing twice', async () => {
    const { workspace, page } = opened();
    const id = await askFor(workspace, 'altered');
    const other = await find(await askFor(workspace, 'other'));
    const { digest } = await find(id);
    const answer = (body: object, to = id) => page.post(`/api/approvals/${to}`, body);
    for (const wrong of [other.digest, digest.slice(0, -1), `${digest}0`, '', digest.toUpperCase()])
      for (const kind of ['once', 'always', 'deny'])
        expect([wrong, kind, (await answer({ answer: kind, digest: wrong })).status]).toEqual([wrong, kind, 409]);
    expect((await answer({ answer: 'once' })).status).toBe(400);
    expect((await answer({ answer: 'allow', digest })).status).toBe(400);
    expect((await answer({ answer: 'once', digest }, '0'.repeat(16))).status).toBe(404);
    expect((await answer({ answer: 'once', digest }, '..%2f..%2fx')).status).toBe(404);
    expect((await find(id)).state).toBe('pending');
    expect(workspace.runs()).not.toContain('altered');
    // A replayed approval: the call was approved, then denied, then used up.
    expect((await answer({ answer: 'once', digest })).status).toBe(200);
    expect((await answer({ answer: 'once', digest })).status).toBe(409);
    expect((await answer({ answer: 'deny', digest })).status).toBe(200);
    expect((await answer({ answer: 'once', digest })).status).toBe(409);
    expect((await workspace.deploy('altered')).status).toBe(5);
    expect(workspace.runs()).not.toContain('altered');
    const used = await find(await askFor(workspace, 'used'));
    await answer({ answer: 'once', digest: used.digest }, used.id);
    await workspace.deploy('used');
    expect((await answer({ answer: 'once', digest: used.digest }, used.id)).status).toBe(404);
    expect(workspace.runs().filter((branch) => branch === 'used')).toEqual(['used']);
  });

  spec('UI-8', 'denies with a reason that the caller is told, several calls at once', async () => {
    const { workspace, page } = opened();
    const ids = [await askFor(workspace, 'a'), await askFor(workspace, 'b')];
    const items = await Promise.all(ids.map(find));
    const deny = items.map(({ id, digest }) => ({ id, digest }));
    const wrong = await page.post('/api/approvals', { deny: [deny[0], { ...deny[1], digest: 'x' }] });
    expect(wrong.status).toBe(409);
    expect((await find(ids[0]!)).state).toBe('pending');
    const reason = 'not on Fridays\u202e';
    expect((await page.post('/api/approvals', { deny, reason })).json.denied).toEqual(ids);
    expect(await find(ids[1]!)).toMatchObject({ state: 'denied', note: reason });
    const { error } = json(await workspace.deploy('a', ['--json']));
    expect(error.code).toBe('denied');
    expect(error.message).toContain('a person refused this call: not on Fridays');
    expect(error.message).not.toContain('\u202e');
    const id = await askFor(workspace, 'c');
    expect((await wield(workspace, ['approvals', 'deny', id, '--reason', 'no'])).status).toBe(0);
    expect(json(await workspace.deploy('c', ['--json'])).error.message).toContain('refused this call: no');
  });

  spec('UI-8', 'approves always, and revokes', async () => {
    const { workspace, page } = opened();
    const item = await find(await askFor(workspace, 'x'));
    const { approval } = (await page.post(`/api/approvals/${item.id}`, { answer: 'always', digest: item.digest })).json;
    expect(approval).toMatchObject({ state: 'standing', until: null });
    expect((await workspace.deploy('y')).status).toBe(0);
    await page.post(`/api/approvals/${approval.id}`, { answer: 'deny', digest: approval.digest });
    expect((await workspace.deploy('z')).status).toBe(5);
  });
});
