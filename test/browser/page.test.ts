// The page in a real Chromium: what it shows, what its keys do, and what hostile text cannot do.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Page as Tab } from 'playwright-core';
import { describe, expect } from 'vitest';
import { browserSpec } from '../support/browser.js';
import { json, wield } from '../support/cli.js';
import { findUnnamed, findWeakText, readDescription, readFocus, readTexts } from '../support/in-page.mjs';
import { HOSTILE, LINES, REVEALED, sharePageInBrowser, UNION } from '../support/page-browser.js';
import { patience } from '../support/patience.js';
import { remoteTool } from '../support/upstream-workspace.js';
import { createWorkspace } from '../support/workspace.js';

const opened = sharePageInBrowser();

/** Requests approval for a call of `deploy`, as another process would. */
async function ask(branch: string): Promise<string> {
  const run = await wield(opened().workspace, ['call', 'deploy', '--branch', branch, '--json']);
  return json(run).error.data.id;
}

// A page may need seconds on a busy machine.
const poll = <T>(read: () => T) => expect.poll(read, { timeout: patience(60_000) });

const main = (tab: Tab) => tab.locator('main');

describe('the page in a browser', () => {
  browserSpec('UI-60', 'shows every item of the catalog with its marks, and filters as one types', async () => {
    const tab = await opened().visit('/tools');
    const catalog = tab.getByLabel('Catalog');
    await catalog.getByText('Say hello.').waitFor();
    const search = tab.getByLabel('Search the catalog');
    await search.fill('drop');
    const denied = catalog.locator('button', { hasText: 'Drop a table.' });
    expect(await denied.textContent()).toContain('denied');
    await denied.click();
    await poll(() => main(tab).textContent()).toMatch(/config\.toml:3/);
    await search.fill('publish destructive');
    await poll(() => catalog.locator('.item').count()).toBe(1);
    await search.fill('nothing-like-this');
    await catalog.getByText('Nothing matches.').waitFor();
    await search.fill('');
    await tab.getByLabel('Kind').selectOption('server');
    await poll(async () => (await catalog.locator('.item-name').allTextContents()).sort()).toEqual([
      'notes',
      'odd',
      'up',
    ]);
  });

  browserSpec('UI-51 UI-52', 'fills in a form with unions, maps and lists, in step with its JSON', async () => {
    const tab = await opened().visit('/tools/odd_union');
    const field = (path: string) => tab.locator(`[data-path="${path}"]`);
    const value = async (): Promise<unknown> => {
      await tab.getByRole('button', { name: 'JSON', exact: true }).click();
      const text = await tab.getByLabel('Input as JSON').first().inputValue();
      await tab.getByRole('button', { name: 'Form', exact: true }).click();
      return JSON.parse(text);
    };
    await field('/target').locator('select').selectOption({ label: 'Port' });
    await field('/target/port').locator('input').fill('80');
    expect(await value()).toEqual({ target: { kind: 'port', port: 80 } });
    await field('/note').locator('select').selectOption({ label: 'text' });
    expect(await value()).toEqual({ target: { kind: 'port', port: 80 }, note: '' });
    await field('/note').locator('select').selectOption({ label: 'null' });
    await field('/tags').getByText('Add list').click();
    await field('/env').getByText('Add object').click();
    await field('/env').getByText('Add property').click();
    await field('/env').getByLabel('Name of the property').fill('HOME');
    await field('/env').getByLabel('Name of the property').blur();
    await field('/env/HOME').locator('textarea').fill('/root');
    const all = { target: { kind: 'port', port: 80 }, note: null, tags: [], env: { HOME: '/root' } };
    expect(await value()).toEqual(all);
    await field('/note').getByLabel('Remove note').click();
    const { note: _, ...rest } = all;
    expect(await value()).toEqual(rest);
    await tab.getByRole('button', { name: 'JSON', exact: true }).click();
    const text = tab.getByLabel('Input as JSON').first();
    await text.fill('{"target": {"kind": "file", "path": "a"}, "tags": ["x"], "port": ');
    await tab.getByText('not valid JSON: line 1').waitFor();
    await text.fill('{"target": 9007199254740993}');
    await tab.getByText('the number 9007199254740993, beyond 2^53, which would be changed').waitFor();
    await text.fill('{"target": 1, "target": 2}');
    await tab.getByText('the key "target" twice').waitFor();
    await text.fill('{"target": {"kind": "file", "path": "a"}, "tags": "x"}');
    await tab.getByRole('button', { name: 'Form', exact: true }).click();
    expect(await field('/target').locator('select').first().inputValue()).toBe('0');
    expect(await field('/target/path').locator('textarea').inputValue()).toBe('a');
    await field('/tags').getByText('not of the declared type').waitFor();
    await field('/tags')
      .getByText(/must be a list/)
      .waitFor();
  });

  browserSpec('UI-77 UI-76 UI-81', 'checks what is typed, and says what is missing once it was asked', async () => {
    const tab = await opened().visit('/tools/odd_union');
    const field = (path: string) => tab.locator(`[data-path="${path}"]`);
    const faults = () => tab.locator('.fault').allTextContents();
    const mail = field('/mail');
    await mail.getByText('an email address', { exact: true }).waitFor();
    expect(await mail.textContent()).not.toContain('A-Za-z');
    await mail.locator('textarea').fill('ada');
    await poll(faults).toEqual(['must be an email address, got text "ada"']);
    await mail.locator('textarea').fill('ada@example.org');
    await poll(faults).toEqual([]);
    await tab.getByText('Show plan').dblclick();
    await poll(faults).toEqual(['is required']);
    await field('/target').locator('select').selectOption({ label: 'Port' });
    const port = field('/target/port').locator('input');
    // A number that is not whole yet is typed on.
    await port.pressSequentially('1.5');
    await poll(faults).toEqual(['must be a whole number, got the number 1.5']);
    await port.press('Backspace');
    await port.press('Backspace');
    expect(await port.inputValue()).toBe('1');
    // Nor does a number change that cannot be represented.
    for (const text of ['1e400', '9007199254740993']) {
      await port.fill(text);
      await poll(faults).toEqual([`must be a whole number, got text "${text}"`]);
      expect(await port.inputValue()).toBe(text);
    }
    await port.fill('1');
    await poll(faults).toEqual([]);
    await poll(() => tab.getByRole('alert').locator('visible=true').allTextContents()).not.toContain(/invalid/);
    // The second click of a double click does not run the plan that the first one showed.
    await tab.getByText('Show plan').dblclick();
    await tab.getByText('Run this plan').waitFor();
    expect(await tab.locator('.run').count()).toBe(0);
    const shown = tab.locator('.description');
    expect(await shown.innerText()).toContain('First line.\n\n- one\n- two two');
    const [box, around] = [await shown.boundingBox(), await main(tab).boundingBox()];
    expect(box!.width).toBeLessThan(around!.width);
  });

  browserSpec('UI-80', 'shows calls of this directory, and of others with theirs after a switch is set', async () => {
    const { workspace, visit } = opened();
    const other = createWorkspace();
    other.script('elsewhere', '#!/bin/sh\n# @description Elsewhere.\necho there\n');
    await wield({ dir: other.dir, env: workspace.env }, ['call', 'elsewhere']);
    await wield(workspace, ['call', 'hello', '--name', 'here']);
    const tab = await visit('/calls');
    const live = tab.getByLabel('Live calls');
    await live.locator('.item', { hasText: 'hello' }).first().waitFor();
    expect(await live.getByText('elsewhere').count()).toBe(0);
    await live.getByLabel('1 of other directories').check();
    const row = live.locator('.item', { hasText: 'elsewhere' });
    await row.waitFor();
    expect(await row.getAttribute('title')).toBe(other.dir);
    expect(await row.textContent()).toContain(basename(other.dir));
    await row.click();
    await main(tab).getByText(other.dir).first().waitFor();
  });

  browserSpec('UI-62 UI-56 UI-57', 'shows plan and verdict, runs that plan, and never from a link alone', async () => {
    const input = encodeURIComponent(JSON.stringify({ name: 'Ada' }));
    const tab = await opened().visit(`/tools/hello?input=${input}`);
    const field = tab.locator('[data-path="/name"] textarea');
    await poll(() => field.inputValue()).toBe('Ada');
    expect(await tab.getByLabel('Plan and verdict').count()).toBe(0);
    await tab.keyboard.press('r');
    await tab.getByLabel('Plan and verdict').getByText('a rule allows it').waitFor();
    expect(await tab.getByLabel('Result').count()).toBe(0);
    // Another input has no plan yet.
    await field.fill('Grace');
    await poll(() => tab.getByLabel('Plan and verdict').count()).toBe(0);
    await tab.keyboard.press('Escape');
    await tab.keyboard.press('r');
    await tab.getByText('Run this plan').waitFor();
    await tab.keyboard.press('r');
    await tab.getByLabel('Result').getByText('Hello, Grace!').waitFor();
  });

  browserSpec('UI-51 UI-56', 'keeps what was typed over the input of a link when the catalog changes', async () => {
    const { workspace, visit } = opened();
    const tab = await visit(`/tools/hello?input=${encodeURIComponent(JSON.stringify({ name: 'Ada' }))}`);
    const field = tab.locator('[data-path="/name"] textarea');
    await poll(() => field.inputValue()).toBe('Ada');
    await field.fill('Grace');
    const file = join(workspace.dir, '.agents/tools/hello');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('Say hello.', 'Greet someone.'));
    await tab.locator('.description').getByText('Greet someone.').waitFor();
    expect(await field.inputValue()).toBe('Grace');
    writeFileSync(file, text);
    await tab.locator('.description').getByText('Say hello.').waitFor();
  });

  browserSpec(
    'UI-62 UI-18 UI-74 UI-81',
    'cancels a run, and shows parts, structured content and pages of a handle',
    async () => {
      const run = async (name: string): Promise<Tab> => {
        const tab = await opened().visit(`/tools/${name}`);
        await tab.getByText('Show plan').click();
        await tab.getByText('Run this plan').click();
        return tab;
      };
      const waiting = await run('wait');
      await waiting.getByLabel('Live calls').locator('.item', { hasText: 'running' }).waitFor();
      await waiting.getByRole('button', { name: 'Cancel' }).click();
      const ended = waiting.getByLabel('Result');
      await ended.getByText('cancelled by you').waitFor();
      expect(await ended.locator('h2 .note').textContent()).toMatch(/^[1-9]\d* ms$|^[\d.]+ s$/);
      const parts = await run('up_parts');
      await parts.getByLabel('Result').getByText('words').waitFor();
      expect(await parts.getByLabel('Result').locator('img').getAttribute('src')).toBe('data:image/png;base64,aGk=');
      expect(await parts.getByLabel('Structured content').textContent()).toContain('"loose": true');
      const pages = await run('orders');
      await pages.getByRole('button', { name: 'Read it' }).click();
      await poll(() => pages.getByLabel('Pages of the result').textContent()).toContain('page 1');
      const first = pages.getByLabel('Pages of the result').getByLabel('Text').first();
      await poll(() => first.textContent()).toContain('\n2\n');
      await pages.getByRole('button', { name: 'Next page' }).click();
      await poll(() => first.textContent()).not.toContain('\n2\n');
      const { tools } = (await opened().server.get('/api/tokens')).json;
      const orders = tools.find(({ name }: { name: string }) => name === 'orders');
      expect([orders.calls, orders.results]).toEqual([1, 250]);
      const prompt = await run('prompt%3Atools');
      await prompt.getByLabel('Structured content').getByText('messages').waitFor();
    },
  );

  browserSpec('UI-71', 'asks the questions of a tool that runs, and again if the answer is not valid', async () => {
    const tab = await opened().visit('/tools/up_ask');
    await tab.getByText('Show plan').click();
    await tab.getByText('Run this plan').click();
    const question = tab.getByLabel('Question of up_ask');
    await question.getByText('Which colour?').waitFor();
    await question.getByRole('button', { name: 'Send the answer' }).click();
    await question.locator('[data-path="/colour"] .fault').waitFor();
    await question.locator('[data-path="/colour"] textarea').fill('blue');
    await question.getByRole('button', { name: 'Send the answer' }).click();
    await tab.getByLabel('Result').getByText('{"action":"accept","content":{"colour":"blue"}}').waitFor();
  });

  browserSpec('UI-64', 'explains which rule decides, and what if another caller sent something', async () => {
    const tab = await opened().visit('/tools/deploy');
    await tab.getByRole('tab', { name: 'Explain' }).click();
    const explain = tab.getByRole('tabpanel', { name: 'Explain' });
    await explain.getByLabel('Name of the client').fill('cursor');
    await explain.getByLabel('Input as JSON').fill('{"branch": "main"}');
    await explain.getByRole('button', { name: 'Explain' }).click();
    await explain.getByText(/config\.toml:4/).waitFor();
    expect(await explain.locator('.chip').first().textContent()).toBe('ask');
    await explain.getByText('Rules that do not match').waitFor();
  });

  browserSpec('UI-70', 'shows health and settings with file and line', async () => {
    const tab = await opened().visit('/health');
    await main(tab).locator('.checks li').first().waitFor();
    const row = main(tab).locator('tr', { hasText: 'trust.rules' }).first();
    await poll(() => row.textContent()).toMatch(/config\.toml:2/);
  });

  browserSpec(
    'UI-63 UI-57',
    'approves the shown call with one key and nothing else, denies alone and in a batch',
    async () => {
      const [first, second, third] = [await ask('one'), await ask('two'), await ask('three')];
      const state = async (id: string): Promise<string | undefined> => {
        const { approvals } = (await opened().server.get('/api/approvals')).json;
        return approvals.find((item: { id: string }) => item.id === id)?.state;
      };
      const tab = await opened().visit('/tools');
      await tab.getByLabel('3 waiting').waitFor();
      await poll(() => tab.title()).toBe('(3) wield');
      await tab.keyboard.press('a');
      await tab.getByRole('button', { name: 'Approve once' }).waitFor();
      const shown = await main(tab).locator('.card.selected').textContent();
      const shownId = shown?.includes('"one"') ? first : shown?.includes('"two"') ? second : third;
      // A key that is held down, or typed into a field, approves nothing.
      await tab.evaluate(`document.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', repeat: true }))`);
      await tab.getByLabel('Reason for denying').press('a');
      expect(await state(shownId)).toBe('pending');
      await tab.keyboard.press('Escape');
      await tab.keyboard.press('a');
      await poll(() => state(shownId)).toBe('approved');
      await poll(() => main(tab).locator('.card.selected').count()).toBe(0);
      // Nothing is selected, so the key does nothing.
      await tab.keyboard.press('a');
      const others = [first, second, third].filter((id) => id !== shownId);
      for (const id of others) expect(await state(id)).toBe('pending');
      await tab.keyboard.press('j');
      await main(tab).locator('.card.selected').getByText('expires in').waitFor();
      for (const box of await main(tab).getByRole('checkbox').all()) await box.check();
      await tab.getByLabel('Reason for all').fill('not today');
      await tab.getByRole('button', { name: 'Deny 2 selected' }).click();
      for (const id of others) await poll(() => state(id)).toBe('denied');
    },
  );

  browserSpec('UI-61', 'shows what a model sees of a tool, and its tokens, per provider', async () => {
    const tab = await opened().visit('/tools/hello');
    await tab.getByRole('tab', { name: 'What a model sees' }).click();
    const seen = tab.getByRole('tabpanel', { name: 'What a model sees' });
    await seen.getByText(/^\d+ tokens$/).waitFor();
    expect(await seen.getByLabel('Exact text').textContent()).toContain('Say hello.');
    const { providers } = (await opened().server.get('/api/session')).json;
    for (const provider of providers) {
      await seen.getByRole('button', { name: provider, exact: true }).click();
      const { text } = (await opened().server.get(`/api/tools/hello/sent/${provider}`)).json;
      await poll(async () => JSON.parse((await seen.getByLabel('Exact text').textContent()) ?? '')).toEqual(
        JSON.parse(text),
      );
    }
  });

  browserSpec(
    'UI-65 UI-64 UI-66',
    'shows calls and why, sends one again, exports it and saves it as a case',
    async () => {
      const { server, workspace, visit } = opened();
      const call = { tool: 'hello', input: { name: 'Zed' } };
      const { digest } = (await server.post('/api/plan', call)).json;
      await server.post('/api/run', { ...call, digest });
      await wield(workspace, ['call', 'drop']);
      const tab = await visit('/calls');
      const live = tab.getByLabel('Live calls');
      await live.getByLabel('Filter by verdict').selectOption('deny');
      await poll(() => live.locator('.item').count()).toBe(1);
      await live.locator('.item', { hasText: 'drop' }).click();
      await tab.getByRole('button', { name: 'Why?' }).click();
      await main(tab)
        .getByText(/config\.toml:3/)
        .first()
        .waitFor();
      await live.getByLabel('Filter by verdict').selectOption('');
      await live.getByLabel('Filter by tool').fill('hello');
      await live.getByLabel('Filter by caller').fill('no-such-caller');
      await live.getByText('Nothing matches.').waitFor();
      await live.getByLabel('Filter by caller').fill('');
      await live.locator('.item', { hasText: 'hello' }).first().click();
      await main(tab).getByLabel('Result').getByText('Hello, Zed!').waitFor();
      await tab.getByRole('button', { name: 'Export', exact: true }).click();
      await tab.getByLabel('Shell line').getByText('wield call hello --input').waitFor();
      expect(await tab.getByRole('region', { name: 'Test' }).textContent()).toContain('toolbox.call("hello"');
      await tab.getByLabel('Name of the case').fill('zed');
      await tab.getByRole('button', { name: 'Save as a case' }).click();
      await main(tab)
        .getByText(/Saved as .*zed\.ndjson/)
        .waitFor();
      await tab.getByRole('button', { name: 'Edit and resend' }).click();
      const field = tab.locator('[data-path="/name"] textarea');
      await poll(() => field.inputValue()).toBe('Zed');
      await field.fill('Zoe');
      await tab.getByText('Show plan').click();
      await tab.getByText('Run this plan').click();
      await tab.getByLabel('Result').getByText('Hello, Zoe!').waitFor();
    },
  );

  browserSpec('UI-55 UI-54', 'shows hostile names, descriptions, inputs and errors as plain text', async () => {
    const { visit, server, messages } = opened();
    const input = encodeURIComponent(JSON.stringify({ x: HOSTILE }));
    const tab = await visit(`/tools/hostile?input=${input}`);
    expect(tab.url()).toBe(`${server.origin}/#/tools/hostile?input=${input}`);
    await tab.getByText('Show plan').click();
    await tab.getByText('Run this plan').click();
    await tab.getByLabel('Result').getByText('exit').first().waitFor();
    const bidi = await visit('/tools/odd_bidi');
    // Descriptions of servers have no invisible characters to begin with.
    const cleaned = HOSTILE.replace(/[\u200B\u202E]/g, '');
    await main(bidi).getByText(cleaned).first().waitFor();
    for (const [page, shown] of [
      [tab, REVEALED],
      [bidi, cleaned],
    ] as const) {
      const seen = await page.evaluate(readTexts);
      expect(seen.text).toContain(shown);
      expect(seen.text + seen.labels).not.toMatch(/[\u200B\u202E]/);
      // UI-54: scripts see the key of the login, and not its cookie.
      expect([seen.elements, seen.storage]).toEqual([0, expect.stringMatching(/^\{"wield-key":"[\w-]{43}"\}$/)]);
      expect(seen.title).toMatch(/^(?:\(\d+\) )?wield$/);
    }
    expect(messages.filter((message) => /Content Security Policy|TrustedHTML|Error/.test(message))).toEqual([]);
  });

  browserSpec(
    'UI-69 UI-67 UI-68',
    'restarts a server, shows and accepts its changed tool, and the tokens',
    async () => {
      const { server, workspace, visit } = opened();
      const tab = await visit('/servers');
      const card = tab.getByLabel('Server odd');
      await card.waitFor();
      workspace.tools('odd', [
        remoteTool('union', { inputSchema: UNION, description: LINES }),
        remoteTool('bidi', { description: 'Read ~/.ssh.' }),
      ]);
      await card.getByRole('button', { name: 'Restart' }).click();
      await card.getByText('connected').waitFor();
      await card.getByText(/^20\d\d-\d\d-\d\d$/).waitFor();
      await tab.getByLabel('1 waiting').waitFor();
      await tab.getByRole('link', { name: 'changes' }).click();
      const change = tab.getByLabel('Change of odd_bidi');
      await change.getByText('Read ~/.ssh.').waitFor();
      await change.getByRole('button', { name: 'Accept this definition' }).click();
      await main(tab).getByText('No tool of a server or package has changed.').waitFor();
      expect((await server.get('/api/changes')).json.changes).toEqual([]);
      await tab.getByRole('link', { name: 'tokens' }).click();
      const row = tab.locator('.bars tr', { hasText: 'odd_union' });
      await row.waitFor();
      await poll(async () => (await row.locator('.bar i').first().boundingBox())?.width).toBeGreaterThan(0);
    },
  );

  browserSpec.thorough(
    'UI-19 UI-69',
    'logs in to a server in the browser, and shows what servers write while they run',
    async () => {
      const { server, workspace, notes, visit } = opened();
      const tab = await visit('/servers');
      const card = tab.getByLabel('Server notes');
      await card.getByText('login required').first().waitFor();
      await card.getByRole('button', { name: 'Log in' }).click();
      const file = join(workspace.home, 'opened');
      await poll(() => existsSync(file)).toBe(true);
      const consent = await tab.context().newPage();
      await consent.goto(readFileSync(file, 'utf8').trim());
      await consent
        .getByText(/logged in|close/i)
        .first()
        .waitFor();
      await consent.close();
      await card.getByText('listed', { exact: true }).waitFor();
      await poll(() => card.getByText('login required').count()).toBe(0);
      const { text, json } = await server.get('/api/catalog/model');
      expect(json.items).toContainEqual(expect.objectContaining({ name: 'notes_whoami', server: 'notes' }));
      for (const secret of notes.secrets) expect(text + (await tab.content())).not.toContain(secret);
      expect(await tab.getByLabel('Server up').textContent()).not.toContain('about to go');
      const call = { tool: 'up_die', input: {} };
      const { digest } = (await server.post('/api/plan', call)).json;
      await server.post('/api/run', { ...call, digest });
      await tab.getByLabel('Server up').getByText('about to go').waitFor();
    },
  );

  browserSpec('UI-57 UI-60', 'moves with j and k, searches with /, and keeps few rows in the document', async () => {
    const tab = await opened().visit('/tools');
    await tab.getByLabel('Catalog').getByText('Say hello.').waitFor();
    await tab.keyboard.press('/');
    await tab.keyboard.type('say hello.');
    await poll(() => tab.locator('.catalog .item').count()).toBe(1);
    await tab.keyboard.press('Escape');
    await tab.keyboard.press('j');
    await poll(() => tab.url()).toMatch(/#\/tools\/hello$/);
    await main(tab).getByText('Say hello.').waitFor();
    expect(existsSync(join(opened().workspace.dir, 'go'))).toBe(false);
  });

  browserSpec('UI-73', 'can be used by keyboard alone: lists, forms, and in a narrow window', async () => {
    const tab = await opened().visit('/tools');
    await tab.getByLabel('Catalog').getByText('Say hello.').waitFor();
    const focused = () => tab.evaluate(readFocus);
    await tab.keyboard.press('/');
    for (let step = 0; step < 4; step++) await tab.keyboard.press('Tab');
    await poll(focused).toMatch(/^catalog /);
    const first = await focused();
    await tab.keyboard.press('ArrowDown');
    await poll(focused).not.toBe(first);
    expect(await focused()).toMatch(/^catalog /);
    await tab.keyboard.press('ArrowUp');
    await poll(focused).toBe(first);
    // The next stop is not another row.
    await tab.keyboard.press('Tab');
    await poll(focused).not.toMatch(/^catalog /);
    await tab.evaluate(`location.hash = '#/tools/hello'`);
    const field = tab.locator('[data-path="/name"] textarea');
    await field.focus();
    const described = await field.evaluate(readDescription);
    expect(described).toEqual(['name', 'required', 'Whom', '']);
    await tab.keyboard.press('Escape');
    await tab.keyboard.press('r');
    await poll(() => field.evaluate(readDescription)).toEqual([...described.slice(0, 3), 'is required']);
    await field.focus();
    await tab.keyboard.type('Eve');
    await tab.keyboard.press('Escape');
    await tab.keyboard.press('r');
    await tab.getByText('Run this plan').waitFor();
    await tab.keyboard.press('r');
    await tab.getByLabel('Result').getByText('Hello, Eve!').waitFor();
    await tab.getByRole('status').getByText('hello: ok').waitFor();
    await tab.setViewportSize({ width: 400, height: 800 });
    await tab.evaluate(`location.hash = '#/tools'`);
    const row = tab.locator('.catalog .item', { hasText: 'Say hello.' });
    await row.waitFor();
    await row.press('Enter');
    await poll(() => tab.evaluate('document.activeElement.tagName')).toBe('MAIN');
  });

  browserSpec('UI-58', 'has enough contrast, names for all controls, and fits into 400 pixels', async () => {
    const { visit } = opened();
    for (const dark of [false, true]) {
      const tab = await visit('/tools/odd_union', { dark });
      await tab.getByText('Show plan').waitFor();
      for (const panel of ['tools/drop', 'tools/odd_union', 'inbox', 'calls', 'tokens', 'servers', 'health']) {
        await tab.evaluate(`location.hash = '#/${panel}'`);
        await poll(() => main(tab).textContent()).not.toMatch(/^(?:Loading …)?$/);
        expect([panel, dark, await tab.evaluate(findWeakText)]).toEqual([panel, dark, []]);
        expect([panel, await tab.evaluate(findUnnamed)]).toEqual([panel, []]);
        if (panel !== 'tools/odd_union') continue;
        await tab.getByText('Show plan').hover();
        expect([dark, await tab.evaluate(findWeakText)]).toEqual([dark, []]);
      }
    }
    // A browser has six connections to a server, and each tab uses one for the events.
    const narrow = await visit('/inbox', { width: 400 });
    for (const route of ['inbox', 'tools/odd_union', 'calls', 'health', 'servers', 'tools']) {
      await narrow.evaluate(`location.hash = '#/${route}'`);
      await poll(() => narrow.locator('main, .catalog, .calls').locator('visible=true').count()).toBeGreaterThan(0);
      expect([route, await narrow.evaluate('document.documentElement.scrollWidth')]).toEqual([route, 400]);
    }
    await narrow.getByText('Say hello.').click();
    await narrow.locator('[data-path="/name"] textarea').fill('Ada');
    await narrow.getByText('Show plan').click();
    await narrow.getByText('Run this plan').click();
    await narrow.getByLabel('Result').getByText('Hello, Ada!').waitFor();
  });
});
