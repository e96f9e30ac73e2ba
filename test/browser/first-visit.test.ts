// The first visit to the page, with nothing in the directory, in a real Chromium.

import { expect } from 'vitest';
import { browserSpec, openBrowser } from '../support/browser.js';
import { wield } from '../support/cli.js';
import { openPage } from '../support/page.js';
import { patience } from '../support/patience.js';
import { serveHere } from '../support/serve.js';
import { createWorkspace } from '../support/workspace.js';

const poll = <T>(read: () => T) => expect.poll(read, { timeout: patience(60_000) });

browserSpec('UI-78 UI-79', 'a first visit leads to a tool, to trust and to a client', async () => {
  const workspace = createWorkspace();
  const server = await openPage(workspace);
  const { context } = await openBrowser();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const tab = await context.newPage();
  await tab.setViewportSize({ width: 1280, height: 800 });
  await tab.goto(server.url);
  const steps = tab.getByLabel('First steps');
  await steps.getByText(workspace.dir).waitFor();
  const commands = () => steps.locator('.actions code').allTextContents();
  expect(await commands()).toEqual(['wield init', 'wield trust', 'wield connect']);
  const catalog = tab.getByLabel('Catalog');
  expect(await catalog.locator('.item').count()).toBe(0);
  await steps.getByLabel('Copy wield init').click();
  await steps.getByText('Copied').waitFor();
  const copied = await tab.evaluate('navigator.clipboard.readText()');
  // What is built in is shown after a switch is set, and found by a search that says so.
  await tab.getByLabel('Search the catalog').fill('read_result');
  await catalog.getByText('Nothing matches.').waitFor();
  await catalog.getByLabel('1 built-in').check();
  await poll(() => catalog.locator('.item').count()).toBe(1);
  await catalog.getByLabel('1 built-in').uncheck();
  await tab.getByLabel('Search the catalog').fill('');
  // In a narrow window, which shows either a list or the content.
  await tab.setViewportSize({ width: 400, height: 800 });
  await steps.waitFor();
  await tab.setViewportSize({ width: 1280, height: 800 });
  // Each step is marked as done when it is, without a reload.
  await wield(workspace, String(copied).split(' ').slice(1));
  await poll(commands).toEqual(['wield connect']);
  await catalog.getByText('hello').first().waitFor();
  await wield(workspace, ['trust', '--revoke']);
  await poll(commands).toEqual(['wield trust', 'wield connect']);
  await tab.getByText('not trusted').waitFor();
  await wield(workspace, ['trust', '--yes']);
  await poll(() => tab.getByText('not trusted').count()).toBe(0);
  const client = serveHere(workspace, { args: [] });
  await client.initialize();
  await client.request(1, 'tools/call', { name: 'hello', arguments: { name: 'Ada' } });
  await poll(() => steps.count()).toBe(0);
  await tab.getByText('Pick a tool').waitFor();
});

browserSpec.thorough(
  'UI-60',
  'a long catalog has few rows in the document, and shows the one that is chosen',
  async () => {
    const workspace = createWorkspace();
    const nameOf = (at: number): string => `tool-${String(at).padStart(3, '0')}`;
    for (let at = 0; at < 300; at++)
      workspace.script(nameOf(at), `#!/bin/sh\n# @description Number ${at}.\necho ${at}\n`);
    const server = await openPage(workspace);
    const { context } = await openBrowser();
    const tab = await context.newPage();
    await tab.setViewportSize({ width: 1280, height: 800 });
    await tab.goto(`${server.url}/tools/tool-200`);
    const catalog = tab.getByLabel('Catalog');
    const row = (at: number) => catalog.locator('.item', { hasText: `Number ${at}.` });
    const isVisible = async (at: number): Promise<boolean> => {
      const [box, list] = [await row(at).boundingBox(), await catalog.locator('.scroller').boundingBox()];
      return box !== null && list !== null && box.y >= list.y && box.y + box.height <= list.y + list.height;
    };
    await row(200).waitFor();
    await poll(() => isVisible(200)).toBe(true);
    expect(await row(200).getAttribute('aria-current')).toBe('true');
    expect(await catalog.locator('.item').count()).toBeLessThan(50);
    for (const next of [201, 202]) {
      await tab.keyboard.press('j');
      await poll(() => tab.url()).toContain(nameOf(next));
      await poll(() => isVisible(next)).toBe(true);
    }
    await catalog.locator('.scroller').evaluate((list) => list.scrollTo(0, 0));
    await row(0).waitFor();
    await row(0).focus();
    // Rows that were not in the document are reached by the arrow keys, and the focus is never lost.
    for (let at = 1; at <= 40; at++) await tab.keyboard.press('ArrowDown');
    await poll(() => tab.evaluate('document.activeElement.textContent')).toContain('Number 40.');
    await tab.setViewportSize({ width: 1280, height: 1600 });
    await poll(() => catalog.locator('.item').count()).toBeGreaterThan(35);
  },
);
