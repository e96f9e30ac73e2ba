// Plans, verdicts and runs from the page, explanations, and what models see.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { RunEvent } from '../../../src/ui/api.js';
import { logRecords } from '../../support/audit.js';
import { json, wield } from '../../support/cli.js';
import { eventsOf, followPage, openPage } from '../../support/page.js';
import { patience } from '../../support/patience.js';
import { share } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { createUpstreamWorkspace } from '../../support/upstream-workspace.js';
import { createWorkspace } from '../../support/workspace.js';

const script = (description: string, body: string, more = ''): string =>
  `#!/bin/sh\n# @description ${description}\n# @param *name string Whom\n${more}${body}\n`;

const opened = share(async () => {
  const workspace = createWorkspace();
  workspace.script('hello', script('Say hello.', 'echo "Hello, $WIELD_PARAM_NAME!"'));
  workspace.script('gated', script('Needs consent.', 'echo "$WIELD_PARAM_NAME" >> "$WIELD_WORKDIR/ran"; echo done'));
  workspace.script('banned', script('Never runs.', 'touch "$WIELD_WORKDIR/banned"'));
  workspace.script('long', script('Writes much.', 'seq 1 30000'));
  workspace.script('secret', script('Is hidden.', 'echo hidden', '# @hidden\n'));
  workspace.config('[trust]\nrules = [\n  "banned($deny)",\n  "gated",\n]\n');
  return { workspace, page: await openPage(workspace) };
});

type Page = ReturnType<typeof opened>['page'];

const planOf = async (page: Page, tool: string, input: object) => (await page.post('/api/plan', { tool, input })).json;

describe('the catalog', () => {
  spec('UI-9', 'lists every tool with its state, and why, with file and line', async () => {
    const { page, workspace } = opened();
    const { items } = (await page.get('/api/catalog/model')).json;
    const find = (name: string) => items.find((item: { name: string }) => item.name === name);
    expect(find('hello')).toMatchObject({ kind: 'tool', state: 'untrusted', format: 'script', marks: [] });
    expect(find('secret')).toMatchObject({ state: 'hidden' });
    expect(find('banned')).toMatchObject({
      state: 'denied',
      position: { file: join(workspace.env.WIELD_HOME!, 'config.toml'), line: 3 },
    });
    const mine = (await page.get('/api/catalog/person')).json.items;
    expect(mine.find((item: { name: string }) => item.name === 'hello').state).toBe('listed');
    expect(items.find((item: { state: string }) => item.state === 'unlisted').marks).toEqual(['built-in']);
    const details = (await page.get('/api/tools/banned')).json;
    expect(details).toMatchObject({ action: 'process', input: { required: ['name'] }, item: { state: 'denied' } });
    expect(details.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  spec('UI-10', 'shows exactly what each provider is sent, with the tokens of wield tokens', async () => {
    const { page, workspace } = opened();
    const { providers } = (await page.get('/api/session')).json;
    expect(providers).toEqual(['mcp', 'anthropic', 'openai', 'ollama']);
    for (const provider of providers) {
      const sent = (await page.get(`/api/tools/hello/sent/${provider}`)).json;
      const counted = json(await wield(workspace, ['tokens', '--adapter', provider, '--json'])).tools;
      expect(sent.tokens).toBe(counted.find((tool: { name: string }) => tool.name === 'hello').tokens);
      expect(sent).toMatchObject({ provider, name: 'hello', schema: { type: 'object', required: ['name'] } });
      expect(sent.text).toContain('Say hello.');
      expect(JSON.parse(sent.text)).toBeTypeOf('object');
    }
    expect((await page.get('/api/tools/banned/sent/mcp')).json).toMatchObject({ name: null, tokens: 0 });
    expect((await page.get('/api/tools/hello/sent/constructor')).status).toBe(404);
  });
});

describe('a run', () => {
  spec('UI-7 UI-11', 'shows plan and verdict first, then runs exactly that as a person', async () => {
    const { page, workspace } = opened();
    const planned = await planOf(page, 'hello', { name: 'Ada' });
    expect(planned.verdict).toMatchObject({ verdict: 'allow' });
    expect(planned.rows).toEqual(
      expect.arrayContaining([
        ['would run', join(workspace.dir, '.agents/tools/hello')],
        ['in', workspace.dir],
      ]),
    );
    expect(logRecords(workspace).some(({ tool }) => tool === 'hello')).toBe(false);
    const run = { tool: 'hello', input: { name: 'Ada' }, digest: planned.digest };
    const events = eventsOf(await page.post('/api/run', run));
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { ok: true } });
    expect(events.at(-1).result.content[0].text).toBe('Hello, Ada!\n');
    expect(logRecords(workspace).at(-1)).toMatchObject({ tool: 'hello', kind: 'person', door: 'ui', code: null });
    // The plan of another input, and none.
    for (const body of [
      { ...run, input: { name: 'Eve' } },
      { ...run, digest: '0'.repeat(64) },
    ]) {
      const refused = await page.post('/api/run', body);
      expect([refused.status, refused.json.error.code]).toEqual([409, 'conflict']);
    }
    expect((await page.post('/api/run', { tool: 'hello', input: { name: 'Ada' } })).status).toBe(400);
    expect((await page.post('/api/plan', { tool: 'hello', input: {} })).json.error).toMatchObject({
      code: 'invalid_input',
    });
  });

  spec('UI-25', 'answers questions of a tool while it runs, again if its form does not allow the answer', async () => {
    const page = await openPage(createUpstreamWorkspace({ up: {} }));
    const schema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };
    const call = { tool: 'up_ask', input: {} };
    // The server is listed once it has started.
    await expect.poll(async () => (await planOf(page, 'up_ask', {})).digest, { timeout: 60_000 }).toBeDefined();
    const { digest } = await planOf(page, 'up_ask', {});
    const ask = async () => {
      const { events, end } = await followPage<RunEvent>(page, { ...call, digest });
      const find = () => events.flatMap((event) => (event.type === 'question' ? [event.question] : []))[0];
      await expect.poll(find, { timeout: patience(60_000) }).toBeDefined();
      const question = find();
      expect(question).toMatchObject({ tool: 'up_ask', message: 'Which colour?', schema });
      const answer = (body: object) => page.post('/api/answers', { question: question!.id, ...body });
      return { events, end, answer };
    };
    const first = await ask();
    const wrong = await first.answer({ action: 'accept', content: { colour: 2 } });
    expect([wrong.status, wrong.json.error.data.faults[0].path]).toEqual([400, '/colour']);
    expect((await first.answer({ action: 'accept', content: { colour: 'red' }, command: 'x' })).status).toBe(400);
    // As one types: the form is checked, and nothing is answered.
    expect((await first.answer({ action: 'check', content: { colour: 2 } })).status).toBe(400);
    expect((await first.answer({ action: 'check', content: { colour: 'blue' } })).status).toBe(200);
    expect((await first.answer({ action: 'accept', content: { colour: 'red' } })).status).toBe(200);
    await expect.poll(() => first.events.at(-1)?.type, { timeout: patience(60_000) }).toBe('result');
    expect(JSON.stringify(first.events.at(-1))).toContain('red');
    expect((await first.answer({ action: 'decline' })).status).toBe(404);
    const second = await ask();
    second.end();
    await expect
      .poll(async () => (await second.answer({ action: 'accept' })).status, { timeout: patience(60_000) })
      .toBe(404);
  });

  spec('UI-7', 'runs nothing if the tool changed since the plan was shown', async () => {
    const { page, workspace } = opened();
    workspace.script('moving', script('Changes.', 'echo one'));
    const { digest } = await planOf(page, 'moving', { name: 'x' });
    workspace.script('moving', script('Changes.', 'touch "$WIELD_WORKDIR/moved"'));
    const refused = await page.post('/api/run', { tool: 'moving', input: { name: 'x' }, digest });
    expect([refused.status, refused.json.error.code]).toEqual([409, 'conflict']);
    expect(logRecords(workspace).some(({ tool }) => tool === 'moving')).toBe(false);
  });

  spec('UI-7', 'is consent to the shown plan where a rule asks, and never where a rule denies', async () => {
    const { page, workspace } = opened();
    const planned = await planOf(page, 'gated', { name: 'one' });
    expect(planned.verdict.verdict).toBe('ask');
    const run = { tool: 'gated', input: { name: 'one' }, digest: planned.digest };
    expect(eventsOf(await page.post('/api/run', run)).at(-1).result.ok).toBe(true);
    expect(logRecords(workspace).at(-1)).toMatchObject({
      tool: 'gated',
      verdict: 'ask',
      approval: { by: 'page' },
      decision: { by: 'person', how: 'page' },
    });
    const denied = await planOf(page, 'banned', { name: 'x' });
    expect(denied.verdict.verdict).toBe('deny');
    const result = eventsOf(
      await page.post('/api/run', { tool: 'banned', input: { name: 'x' }, digest: denied.digest }),
    ).at(-1).result;
    expect(result).toMatchObject({ ok: false, error: { code: 'denied' } });
  });

  spec('UI-7', 'returns a large result as a handle with pages', async () => {
    const { page } = opened();
    const { digest } = await planOf(page, 'long', { name: 'x' });
    const { result } = eventsOf(await page.post('/api/run', { tool: 'long', input: { name: 'x' }, digest })).at(-1);
    const { id } = result.meta.handle;
    const first = (await page.get(`/api/results/${id}/1`)).json.result;
    const second = (await page.get(`/api/results/${id}/2`)).json.result;
    expect(first.content[0].text).toContain('1\n2\n3\n');
    expect(second.content[0].text).not.toBe(first.content[0].text);
    expect((await page.get('/api/results/r_unknown/1')).json.result.ok).toBe(false);
  });

  spec('UI-7', 'is cancelled when the page closes the stream', async () => {
    const { page, workspace } = opened();
    workspace.script('endless', script('Waits.', 'exec sleep 600'));
    const { digest } = await planOf(page, 'endless', { name: 'x' });
    const stop = new AbortController();
    const request = fetch(`${page.origin}/api/run`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${page.token}`,
        origin: page.origin,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ tool: 'endless', input: { name: 'x' }, digest }),
      signal: stop.signal,
    });
    await expect
      .poll(async () => (await page.get('/api/calls')).json.running, { timeout: patience(60_000) })
      .toMatchObject([{ tool: 'endless', kind: 'person', parent: null }]);
    stop.abort();
    await expect(request).rejects.toThrow();
    await expect
      .poll(() => logRecords(workspace).at(-1), { timeout: patience(60_000) })
      .toMatchObject({ tool: 'endless', code: 'cancelled' });
    expect((await page.get('/api/calls')).json.running).toEqual([]);
  });
});

describe('explanations', () => {
  spec('UI-11', 'answer for any caller and input, with file and line', async () => {
    const { page, workspace } = opened();
    const config = join(workspace.env.WIELD_HOME!, 'config.toml');
    const explain = async (tool: string, caller: object, input?: object) =>
      (await page.post('/api/explain', { tool, caller, ...(input === undefined ? {} : { input }) })).json;
    const model = { kind: 'model', door: 'mcp', name: 'cursor' };
    expect((await explain('banned', model)).verdict).toMatchObject({
      verdict: 'deny',
      source: { file: config, line: 3 },
    });
    expect((await explain('gated', { kind: 'person', door: 'cli' }, { name: 'x' })).verdict).toMatchObject({
      verdict: 'ask',
      source: { file: config, line: 4 },
    });
    expect((await explain('hello', model)).verdict).toMatchObject({ verdict: 'deny', code: 'needs_trust' });
    expect((await explain('hello', model)).unmatched.length).toBeGreaterThan(0);
  });
});

describe('health and settings', () => {
  spec('UI-20', 'are those of doctor and config, with file and line', async () => {
    const { page, workspace } = opened();
    const config = join(workspace.env.WIELD_HOME!, 'config.toml');
    const { settings, fault } = (await page.get('/api/settings')).json;
    const values = json(await wield(workspace, ['config', '--json'])).values;
    expect(settings.map(({ key }: { key: string }) => key)).toEqual(values.map(({ key }: { key: string }) => key));
    expect(settings).toContainEqual(
      expect.objectContaining({ key: 'trust.rules', position: { file: config, line: 2 } }),
    );
    expect(fault).toBeNull();
    const { checks } = (await page.get('/api/health')).json;
    expect(checks).toContainEqual(expect.objectContaining({ level: 'ok', about: 'node' }));
    writeFileSync(join(workspace.dir, '.agents/tools/broken'), '#!/bin/sh\n# @description Broken.\n# @param\n', {
      mode: 0o755,
    });
    const after = (await page.get('/api/health')).json.checks;
    expect(after.some(({ about }: { about: string }) => about.includes('broken'))).toBe(true);
  });
});
