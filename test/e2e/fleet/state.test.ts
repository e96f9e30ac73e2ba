// What the members of a fleet share, and how they reach Redis: state, limits, traces, a restricted user, TLS.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { propagation, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { readDocument } from '../../support/documents.js';
import { callFront, createMember, frontArgs, startHere, startProcess, until, workerArgs } from '../../support/fleet.js';
import { listen } from '../../support/http.js';
import { freePort, hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { onEnd, share } from '../../support/share.js';
import { specIf } from '../../support/spec.js';
import type { Workspace } from '../../support/workspace.js';

const TOOLS = {
  greet: '#!/bin/sh\n# @description Greet.\necho "hello from $PWD"\n',
  erase: '#!/bin/sh\n# @description Erase.\n# @destructive\necho erased\n',
  alone:
    '#!/bin/sh\n# @description Writes when it begins and ends.\n# @param *log string A file.\necho begin >> "$WIELD_PARAM_LOG"\nsleep 0.2\necho end >> "$WIELD_PARAM_LOG"\n',
  stubborn:
    '#!/bin/sh\n# @description Ignores that it is ended.\n# @param *started string A file.\ntrap \'\' TERM\n: > "$WIELD_PARAM_STARTED"\nwhile :; do sleep 0.05; done\n',
};
const test = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(hasRedis, NO_REDIS, ids, title, body, 120_000);

/** A member with the workdir and home of another one, as on machines that are set up alike, and state of its own. */
function createTwin(of: Workspace, config: string): Workspace {
  const { env } = createMember({}, config);
  return { ...of, env: { ...env, HOME: of.home } };
}

describe('members of a fleet', () => {
  const fleet = share(async () => {
    const redis = await startRedis();
    const limits = '[limits]\nconcurrent-per-tool = 1\n';
    const first = createMember(TOOLS, limits);
    const fronts = [first, createTwin(first, limits)];
    const workers = [createMember(TOOLS, limits), createMember(TOOLS, limits)];
    const started = [];
    for (const front of fronts) started.push(await startHere(front, frontArgs(redis.url)));
    for (const worker of workers) await startHere(worker, workerArgs(redis.url));
    return { redis, fronts, workers, urls: started.map(({ name }) => name) };
  });

  test('FLT-61 FLT-60', 'a person on another machine approves a call of any front, which runs once', async () => {
    const { redis, urls } = fleet();
    const [one, two] = urls as [string, string];
    const asked = await callFront(one, 'erase');
    expect(asked.code).toBe('needs_approval');
    const { id } = asked.error.data;
    expect(asked.error.hint).toContain(`wield approvals approve ${id} --fleet redis://127.0.0.1:`);
    // The machine of a person, with the key of the fleet and nothing else.
    const person = createMember({});
    expect((await wield(person, ['approvals', 'approve', id])).stderr).toContain('--fleet URL');
    const listed = json(await wield(person, ['approvals', '--fleet', redis.url, '--json']));
    expect(listed.approvals).toMatchObject([{ id, tool: 'erase' }]);
    const approved = await wield(person, ['approvals', 'approve', id, '--fleet', redis.url]);
    expect(approved.stdout).toContain('The next call with exactly this input runs once.');
    expect((await callFront(two, 'erase')).text).toBe('erased\n');
    expect((await callFront(one, 'erase')).code).toBe('needs_approval');
    expect((await wield(person, ['approvals'])).stdout).toContain('No pending approvals');
    // The lines of both fronts.
    const log = json(await wield(person, ['audit', '--fleet', redis.url, '--json']));
    expect(log.records.filter(({ tool }: { tool: string }) => tool === 'erase')).toHaveLength(3);
    expect((await wield(person, ['audit', '--follow', '--fleet', redis.url])).stderr).toContain('cannot be combined');
    const metrics = await (await fetch(new URL('/metrics', one))).text();
    expect(metrics).toContain('wield_calls_total{tool="erase",outcome="needs_approval",door="mcp"}');
    expect(metrics).toContain('wield_approvals_waiting 1');
    await wield(person, ['approvals', 'deny', id, '--fleet', redis.url]);
    const refused = await callFront(two, 'erase');
    expect(refused.error.hint).toContain(`wield approvals approve ${id} --fleet redis://127.0.0.1:`);
  });

  test('FLT-60 FLT-64', 'a front that ends shares the lines of the calls that end with it', async () => {
    const { redis, fronts } = fleet();
    const [{ dir }] = fronts as [Workspace];
    const front = await startHere(createTwin(fronts[0]!, ''), frontArgs(redis.url));
    const controller = new AbortController();
    const started = join(dir, 'stubborn');
    const running = callFront(front.name, 'stubborn', { started }, { signal: controller.signal });
    await until(() => existsSync(started));
    controller.abort();
    await expect(running).rejects.toThrow();
    expect(await front.stop()).toBe(0);
    expect(front.stderr()).not.toContain('could not be shared');
    const log = json(await wield(fronts[0]!, ['audit', '--fleet', redis.url, '--json']));
    expect(log.records).toContainEqual(expect.objectContaining({ tool: 'stubborn', code: 'cancelled' }));
  });

  test('FLT-62', 'a limit of a tool counts the calls that all workers run', async () => {
    const { fronts, urls } = fleet();
    const log = join(fronts[0]!.dir, 'alone.log');
    const calls = Array.from({ length: 6 }, (_, at) => callFront(urls[at % 2]!, 'alone', { log }));
    for (const { code } of await Promise.all(calls)) expect(code).toBeUndefined();
    expect(readFileSync(log, 'utf8')).toBe('begin\nend\n'.repeat(6));
  });

  test('FLT-67', 'the span of the worker is a child of that of the front, in the trace of the client', async () => {
    const exporter = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    onEnd(() => {
      trace.disable();
      propagation.disable();
    });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const meta = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    expect((await callFront(fleet().urls[0]!, 'greet', {}, { meta })).text).toContain('hello from');
    const spans = exporter.getFinishedSpans().filter(({ name }) => name.includes('greet'));
    expect(spans.map((span) => span.spanContext().traceId)).toEqual([traceId, traceId]);
    // The worker ends first.
    const [worker, front] = spans;
    expect(front!.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(worker!.parentSpanContext?.spanId).toBe(front!.spanContext().spanId);
  });

  test('FLT-68', 'the user of the guide can do what a fleet needs, and nothing else', async () => {
    const redis = await startRedis();
    const rule = /^ACL SETUSER wield (.*)$/m.exec(readDocument('docs/guides/fleet.md'))![1]!;
    redis.command('ACL', 'SETUSER', 'wield', ...rule.replace('>PASSWORD', '>s3cret-password').split(' '));
    redis.command('ACL', 'SETUSER', 'default', 'off');
    const url = redis.url.replace('//', '//wield@');
    const member = createMember(TOOLS);
    member.env.WIELD_FLEET_PASSWORD = 's3cret-password';
    const { name } = await startHere(member, frontArgs(url));
    await startHere(member, workerArgs(url, '--tags', 'gpu'));
    expect((await callFront(name, 'greet', {}, { key: 'once' })).text).toContain('hello from');
    const { error } = await callFront(name, 'erase');
    expect((await wield(member, ['approvals', 'approve', error.data.id, '--fleet', url])).status).toBe(0);
    expect((await callFront(name, 'erase')).text).toBe('erased\n');
    expect((await wield(member, ['fleet', 'status', '--fleet', url])).stdout).toContain('fronts 1   workers 1 (1 gpu)');
    expect((await wield(member, ['audit', '--fleet', url])).stdout).toContain('erase');
    const asWield = (...words: string[]): string =>
      redis.command('--user', 'wield', '--pass', 's3cret-password', '--no-auth-warning', ...words);
    for (const words of [
      ['flushall'],
      ['config', 'get', '*'],
      ['keys', '*'],
      ['acl', 'list'],
      ['get', 'other'],
      ['shutdown'],
    ])
      expect(asWield(...words), words.join(' ')).toContain('NOPERM');
    member.env.WIELD_FLEET_PASSWORD = 'wrong';
    const refused = await wield(member, ['fleet', 'status', '--fleet', url]);
    expect(refused.stderr).toContain('WRONGPASS');
    expect(refused.stderr).not.toContain('s3cret');
  });

  test('FLT-70', 'a tool gets the variables that it is granted, sealed with its call, and no others', async () => {
    const redis = await startRedis({ appendOnly: true });
    const lengths =
      '#!/bin/sh\n# @description Lengths.\necho "${#API_TOKEN} ${#OWN} ${#PAY_TOKEN} ${#OTHER} ${#WIELD_FLEET_KEY} ${HOME##*/}"\n';
    const echo = await listen(({ headers }, response) => response.end(headers.authorization));
    const api = JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'T', version: '1' },
      servers: [{ url: echo.origin }],
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      paths: { '/a': { get: { operationId: 'ask', security: [{ token: [] }], responses: {} } } },
    });
    const config = `[env]\npass = ["API_TOKEN", "OWN"]\n[tools.pay.env]\npass = ["PAY_TOKEN"]\n[openapi.api]\nserver = "${echo.origin}"\nauth = "\${SHOP_TOKEN}"\n`;
    const pay = lengths.replace('Lengths', 'Pay').replace('description', 'env PAY_TOKEN\n# @description');
    const [front, worker] = [createMember({ lengths, pay }, config), createMember({ lengths, pay }, config)];
    for (const member of [front, worker]) member.write('.agents/tools/api.openapi.json', api);
    const shop = 'canary-of-the-shop';
    Object.assign(front.env, {
      API_TOKEN: 'front',
      OWN: 'front',
      PAY_TOKEN: 'canary-pay',
      OTHER: 'x',
      SHOP_TOKEN: shop,
    });
    Object.assign(worker.env, { OWN: 'of-the-worker', OTHER: 'other' });
    const { name } = await startHere(front, frontArgs(redis.url));
    await startHere(worker, workerArgs(redis.url));
    expect((await callFront(name, 'lengths')).text).toBe('5 13 0 0 0 home\n');
    expect((await callFront(name, 'pay')).text).toBe('5 13 10 0 0 home\n');
    // The variable of a credential is sent likewise, and shown nowhere.
    expect((await callFront(name, 'ask')).text).not.toContain(shop);
    expect(echo.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${shop}`]);
    const files = readdirSync(join(redis.directory, 'appendonlydir'));
    const written = files.map((file) => readFileSync(join(redis.directory, 'appendonlydir', file), 'latin1')).join('');
    expect(written).not.toContain('canary');
    // The worker decides what its tools get.
    worker.config(config.replace('"API_TOKEN", ', ''));
    await until(async () => (await callFront(name, 'lengths')).code === 'denied');
  });

  test(
    'FLT-74',
    'calls per minute of a caller are counted by all fronts, and by one process without a fleet',
    async () => {
      const config = '[limits]\ncalls-per-minute = 3\n';
      const local = createMember(TOOLS, config).toolbox({ trust: true });
      const answers = await Promise.all(Array.from({ length: 6 }, () => local.call('greet', {})));
      // One becomes free every 20 seconds, however slow the machine is.
      expect(answers.filter(({ ok }) => ok).length).toBeGreaterThanOrEqual(3);
      const refused = answers.find(({ ok }) => !ok);
      expect(refused?.error).toMatchObject({ code: 'busy', data: { retryAfterMs: expect.any(Number) } });
      expect((await local.call('greet', {}, { caller: { kind: 'code', door: 'library', name: 'other' } })).ok).toBe(
        true,
      );
      const redis = await startRedis();
      const member = createMember(TOOLS, config);
      const urls = [];
      for (const _ of [1, 2]) urls.push((await startHere(member, frontArgs(redis.url))).name);
      await startHere(member, workerArgs(redis.url));
      const codes = [];
      for (let at = 0; at < 6; at++) codes.push((await callFront(urls[at % 2]!, 'greet')).code);
      expect(codes.slice(0, 3)).toEqual([undefined, undefined, undefined]);
      expect(codes).toContain('busy');
      const { error } = await callFront(urls[0]!, 'greet');
      if (error !== undefined) expect(error.data.retryAfterMs).toBeLessThanOrEqual(20_000);
      const keys = redis.command('keys', '*:rate:*');
      expect(keys).toMatch(/^wield:\{\w+\}:state:rate:[0-9a-f]{64}$/);
    },
  );

  test('FLT-69', 'TLS is used with a certificate that the member trusts, and with no other', async () => {
    const member = createMember(TOOLS);
    const [key, certificate] = [join(member.dir, 'key.pem'), join(member.dir, 'certificate.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const files = ['-keyout', key, '-out', certificate, '-days', '2'];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], {
      stdio: 'ignore',
    });
    const port = await freePort();
    const tls = ['--tls-port', `${port}`, '--tls-cert-file', certificate, '--tls-key-file', key];
    await startRedis({ options: [...tls, '--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'] });
    const url = `rediss://localhost:${port}`;
    const trusting = { NODE_EXTRA_CA_CERTS: certificate };
    const front = await startProcess(member, frontArgs(url), trusting);
    await startProcess(member, workerArgs(url), trusting);
    expect((await callFront(front.name, 'greet')).text).toContain('hello from');
    await expect(startProcess(member, workerArgs(url))).rejects.toThrow(/certificate[\s\S]*NODE_EXTRA_CA_CERTS/);
  });
});
