// Many tabs of one browser, reloads and logins, in a real Chromium.

import type { BrowserContext, Page as Tab } from 'playwright-core';
import { describe, expect } from 'vitest';
import { type AskingWorkspace, askFor, createAskingWorkspace } from '../support/approvals.js';
import { browserSpec, openBrowser } from '../support/browser.js';
import { rounds } from '../support/effort.js';
import { openPage, type Page } from '../support/page.js';

// A browser has six connections to a server.
const TABS = rounds(7, 10);

const WAIT = '#!/bin/sh\n# @description Wait.\nwhile [ ! -e "$WIELD_WORKDIR/go" ]; do sleep 0.05; done\necho went\n';

async function open(): Promise<{ workspace: AskingWorkspace; server: Page; context: BrowserContext }> {
  const workspace = createAskingWorkspace();
  const server = await openPage(workspace);
  const { context } = await openBrowser();
  return { workspace, server, context };
}

const poll = <T>(read: () => T) => expect.poll(read, { timeout: 60_000 });
const waitsFor = (tab: Tab, count: number) => poll(() => tab.title()).toBe(count === 0 ? 'wield' : `(${count}) wield`);

describe('tabs', () => {
  browserSpec('UI-75', 'are live in any number: all load, and approve, and another follows the events', async () => {
    const { workspace, server, context } = await open();
    const tabs: Tab[] = [];
    for (let at = 0; at < TABS; at++) {
      const tab = await context.newPage();
      await tab.goto(at === 0 ? server.url : `${server.origin}/#/inbox`);
      await tab.getByLabel('Catalog').getByText('deploy').first().waitFor();
      tabs.push(tab);
    }
    await askFor(workspace, 'one');
    for (const tab of tabs) await waitsFor(tab, 1);
    const last = tabs.at(-1)!;
    await last.keyboard.press('j');
    await last.getByRole('button', { name: 'Approve once' }).click();
    for (const tab of tabs) await waitsFor(tab, 0);
    // The first one followed the events.
    await tabs.shift()!.close();
    await askFor(workspace, 'two');
    for (const tab of tabs) await waitsFor(tab, 1);
    await tabs.shift()!.close();
    await tabs.shift()!.reload();
    await askFor(workspace, 'three');
    for (const tab of tabs) await waitsFor(tab, 2);
  });

  browserSpec('UI-82', 'answer however many tools run, and more than three of them start later', async () => {
    const { workspace, server, context } = await open();
    workspace.script('wait', WAIT);
    const tabs: Tab[] = [];
    for (let at = 0; at < 5; at++) {
      const tab = await context.newPage();
      await tab.goto(at === 0 ? `${server.url}/tools/wait` : `${server.origin}/#/tools/wait`);
      await tab.getByText('Show plan').click();
      await tab.getByText('Run this plan').click();
      const shown = at < 3 ? 'running …' : 'waiting for other runs of this browser …';
      await tab.getByLabel('Running').getByText(shown).waitFor();
      tabs.push(tab);
    }
    await askFor(workspace, 'one');
    const last = tabs.at(-1)!;
    await waitsFor(last, 1);
    await last.keyboard.press('a');
    await last.getByRole('button', { name: 'Approve once' }).click();
    await last.getByText('No call waits for approval.').waitFor();
    // One that still waits is cancelled; the other ones end.
    await tabs[3]!.getByRole('button', { name: 'Cancel' }).click();
    await tabs[3]!.getByLabel('Result').getByText('cancelled by you').waitFor();
    workspace.write('go', '');
    for (const tab of tabs.slice(0, 3)) await tab.getByLabel('Result').getByText('went').waitFor();
    await poll(async () => (await server.get('/api/recording')).json.calls.length).toBe(4);
  });

  browserSpec.thorough(
    'UI-54 UI-3',
    'of an older process ask for its new address, and go on after it was opened',
    async () => {
      const { workspace, server, context } = await open();
      const { port } = new URL(server.url);
      const sent: string[] = [];
      context.on('request', (request) => sent.push(`${request.url()} ${JSON.stringify(request.headers())}`));
      const tab = await context.newPage();
      await tab.goto(server.url);
      const catalog = tab.getByLabel('Catalog').getByText('deploy').first();
      await catalog.waitFor();
      // The code is in no address, Referer or other header of a request.
      expect(sent.length).toBeGreaterThan(3);
      const code = new URL(server.url).hash.slice(1);
      expect(sent.filter((one) => one.replace(`/#${code}`, '').includes(code))).toEqual([]);
      await server.stop();
      await tab.getByText('no connection to wield').waitFor();
      const next = await openPage(workspace, ['ui', '--json', '--port', port]);
      await tab.getByText('this browser is not logged in').waitFor();
      const other = await context.newPage();
      await other.goto(next.url);
      await other.getByLabel('Catalog').getByText('deploy').first().waitFor();
      await poll(() => tab.getByText('this browser is not logged in').count()).toBe(0);
      // A name of this machine is another site.
      await other.goto(`http://localhost:${port}/`);
      expect(await other.textContent('body')).toBe('Host header not allowed\n');
    },
  );

  browserSpec.thorough(
    'UI-54 UI-3',
    'keep their login when they are reloaded, and leave nothing that can be used',
    async () => {
      const { server, context } = await open();
      const code = new URL(server.url).hash.slice(1);
      const tab = await context.newPage();
      await tab.goto(`${server.url}/tools/deploy`);
      await tab.getByText('Show plan').waitFor();
      expect(tab.url()).toBe(`${server.origin}/#/tools/deploy`);
      await tab.reload();
      await tab.getByText('Show plan').waitFor();
      expect(await tab.evaluate('document.cookie')).toBe('');
      const [cookie, ...others] = await context.cookies(`${server.origin}/api/`);
      expect(others).toEqual([]);
      expect(cookie).toMatchObject({
        httpOnly: true,
        sameSite: 'Strict',
        path: '/api',
        domain: '127.0.0.1',
        expires: -1,
      });
      // What is in the history of the browser, in a browser that is not logged in.
      expect((await server.logIn(code)).status).toBe(403);
      const { context: other } = await openBrowser();
      const stranger = await other.newPage();
      await stranger.goto(server.url);
      await stranger.getByText('open the whole address that wield ui printed').waitFor();
      expect(await stranger.getByText('deploy').count()).toBe(0);
      // The new address, pasted into the same tab, logs in.
      const printed = /a new one: (http:\S+)/.exec(server.stderr())![1]!;
      await stranger.goto(printed);
      await stranger.getByLabel('Catalog').getByText('deploy').first().waitFor();
      expect(stranger.url()).toBe(`${server.origin}/#/tools`);
    },
  );

  browserSpec.thorough('UI-3 UI-4', 'of another port get the cookie, and can do nothing with it', async () => {
    const { workspace, server, context } = await open();
    const tab = await context.newPage();
    await tab.goto(server.url);
    await tab.getByLabel('Catalog').getByText('deploy').first().waitFor();
    // Served by another server of 127.0.0.1, which is the same site.
    const { createServer } = process.getBuiltinModule('node:http');
    const seen: string[] = [];
    const evil = createServer((request, response) => {
      seen.push(request.headers.cookie ?? '');
      response.writeHead(200, {
        'content-type': 'text/html',
        'set-cookie': `wield-${new URL(server.url).port}=x; Path=/api`,
      });
      response.end(
        `<p>evil</p><form method="post" enctype="text/plain"><input name="x" value="y"><button></button></form>`,
      );
    });
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    const { port } = evil.address() as { port: number };
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}/api/`);
    expect(seen[0]).toContain('wield-');
    const statuses = await page.evaluate(
      `Promise.all(['GET', 'POST'].flatMap((method) => ['cors', 'no-cors'].map((mode) => fetch('${server.origin}/api/' + (method === 'GET' ? 'session' : 'plan'), {
        method, mode, credentials: 'include', ...(method === 'POST' ? { body: '{}' } : {}),
      }).then(({ type, status }) => type + status, () => 'failed'))))`,
    );
    // A response that cannot be read is opaque.
    expect(statuses).toEqual(['failed', 'opaque0', 'failed', 'opaque0']);
    // A form needs no CORS; the cookie is sent, and nothing is decided.
    const id = await askFor(workspace, 'forged');
    const answer = page.waitForResponse((response) => response.url().includes('/api/approvals/'));
    await page.evaluate(
      `document.forms[0].action = '${server.origin}/api/approvals/${id}'; document.forms[0].submit()`,
    );
    expect((await answer).status()).toBe(403);
    const { approvals } = (await server.get('/api/approvals')).json;
    expect(approvals).toEqual([expect.objectContaining({ id, state: 'pending' })]);
    evil.close();
    evil.closeAllConnections();
    // The page still works: the cookie of the other server is ignored, or replaced ours and the login is lost.
    const { cookie } = { cookie: seen[0]!.split('; ').find((pair) => pair.startsWith('wield-'))! };
    const refused = await server.request('/api/session', { headers: { authorization: undefined, cookie } });
    expect(refused.status).toBe(401);
  });
});
