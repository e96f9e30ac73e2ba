// Metrics of the HTTP server in the text format of Prometheus.

import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { type CountedCall, createOperationKind } from '../../../src/core/telemetry.js';
import { createMeter } from '../../../src/telemetry/meter.js';
import { toPrometheus } from '../../../src/telemetry/prometheus.js';
import { connectUrl } from '../../support/clients.js';
import { serveUrl } from '../../support/serve.js';
import { spec } from '../../support/spec.js';
import { asUser, callRaw, createTeam } from '../../support/team.js';
import { createWorkspace } from '../../support/workspace.js';

const TOKEN = '0123456789abcdef0123';

// Sends the headers as they are, unlike fetch, which sets Host itself.
function get(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    });
    sent.on('error', reject).end();
  });
}

const sampleOf = (text: string, series: string): string | undefined =>
  text
    .split('\n')
    .find((line) => line.startsWith(`${series} `))
    ?.slice(series.length + 1);

spec('FLT-50', 'counts calls by tool, outcome and door, and shows what runs, waits and is connected', async () => {
  const workspace = createWorkspace();
  workspace.script('greet', '#!/bin/sh\n# @description Greet.\necho hi\n');
  workspace.script('fail', '#!/bin/sh\n# @description Fail.\nexit 3\n');
  workspace.script('wipe', '#!/bin/sh\n# @description Wipe.\n# @destructive\necho wiped\n');
  workspace.write('.mcp.json', JSON.stringify({ mcpServers: { never: { command: 'no-such-command' } } }));
  const url = await serveUrl(workspace, ['--trust']);
  const page = new URL('/metrics', url).href;
  const client = await connectUrl(url, 'newer');
  for (const name of ['greet', 'greet', 'fail', 'wipe', 'nothing-of-this-name'])
    await client.callTool({ name, arguments: {} }).catch(() => {});
  const { status, text } = await get(page);
  expect(status).toBe(200);
  expect(sampleOf(text, 'wield_calls_total{tool="greet",outcome="ok",door="mcp"}')).toBe('2');
  expect(sampleOf(text, 'wield_calls_total{tool="fail",outcome="tool_failed",door="mcp"}')).toBe('1');
  expect(sampleOf(text, 'wield_calls_total{tool="wipe",outcome="needs_approval",door="mcp"}')).toBe('1');
  expect(text).not.toContain('nothing-of-this-name');
  expect(sampleOf(text, 'wield_call_duration_seconds_bucket{tool="greet",le="+Inf"}')).toBe('2');
  expect(sampleOf(text, 'wield_call_duration_seconds_count{tool="greet"}')).toBe('2');
  expect(Number(sampleOf(text, 'wield_call_duration_seconds_sum{tool="greet"}'))).toBeGreaterThan(0);
  expect(sampleOf(text, 'wield_calls_running')).toBe('0');
  expect(sampleOf(text, 'wield_calls_queued')).toBe('0');
  expect(sampleOf(text, 'wield_approvals_waiting')).toBe('1');
  expect(text).toMatch(/^wield_upstream_servers\{state="(?:unknown|failed)"\} 1$/m);
  expect(Number(sampleOf(text, 'process_resident_memory_bytes'))).toBeGreaterThan(1e6);
  // Every line is a comment or a sample, and every sample has a family.
  for (const line of text.trimEnd().split('\n'))
    expect(line).toMatch(/^(?:# (?:HELP|TYPE) \S+ .+|[a-z_]+(?:\{(?:[a-z_]+="[^"\n]*",?)+\})? (?:[\d.e+-]+|NaN))$/);
});

spec('FLT-50', 'lets only those read the metrics who may call tools', async () => {
  const workspace = createWorkspace();
  workspace.write('token', TOKEN, 0o600);
  const page = new URL('/metrics', await serveUrl(workspace, ['--token-file', 'token'])).href;
  expect((await get(page)).status).toBe(401);
  expect((await get(page, { authorization: `Bearer ${TOKEN.slice(1)}x` })).status).toBe(401);
  const bearer = { authorization: `Bearer ${TOKEN}` };
  expect((await get(page, { ...bearer, host: 'evil.example' })).status).toBe(403);
  expect((await get(page, { ...bearer, origin: 'http://evil.example' })).status).toBe(403);
  expect((await get(page, bearer, 'POST')).status).toBe(405);
  expect((await get(page, bearer)).status).toBe(200);
});

spec('FLT-50', 'counts calls by user, if the configuration says so', async () => {
  const workspace = createTeam({ ada: [], bob: [] });
  const url = await serveUrl(workspace, []);
  const read = async (): Promise<string> => (await get(new URL('/metrics', url).href, asUser('ada'))).text;
  const input = { text: 'x', password: 'y' };
  await callRaw(url, asUser('ada'), 'hello', input);
  expect(await read()).not.toContain('user="');
  writeFileSync(
    join(workspace.env.WIELD_HOME!, 'config.toml'),
    `${readFileSync(join(workspace.env.WIELD_HOME!, 'config.toml'), 'utf8')}\n[metrics]\nusers = true\n`,
  );
  await vi.waitFor(async () => {
    for (const user of ['ada', 'bob']) await callRaw(url, asUser(user), 'hello', input);
    const text = await read();
    for (const user of ['ada', 'bob']) {
      expect(sampleOf(text, `wield_calls_total{tool="hello",user="${user}",outcome="ok",door="mcp"}`)).toBeDefined();
      expect(sampleOf(text, `wield_call_duration_seconds_count{tool="hello",user="${user}"}`)).toBeDefined();
    }
  });
});

spec('FLT-51', 'bounds the number of users', () => {
  const metrics = createMeter();
  for (let at = 0; at < 300; at++)
    metrics.count({
      tool: { name: 'x' },
      caller: { kind: 'model', door: 'mcp', user: `user-${at}` },
      result: { ok: true, content: [], meta: { durationMs: 7 } },
      byUser: true,
    } as unknown as CountedCall);
  const text = toPrometheus(metrics.families());
  expect(text.match(/^wield_calls_total\{/gm)).toHaveLength(201);
  expect(sampleOf(text, 'wield_calls_total{tool="x",user="(other)",outcome="ok",door="mcp"}')).toBe('100');
});

spec('FLT-51', 'bounds the values of labels, and escapes them', () => {
  const metrics = createMeter();
  const record = (tool: string | undefined, door: string): void =>
    metrics.count({
      tool: tool === undefined ? undefined : { name: tool },
      caller: { kind: 'model', door, name: 'client-name' },
      ref: 'ref-of-the-call',
      result: { ok: true, content: [], meta: { durationMs: 7 } },
    } as unknown as CountedCall);
  record(undefined, 'mcp');
  for (let at = 0; at < 2000; at++) record(`tool-${at}`, 'mcp');
  for (let at = 0; at < 100; at++) record('tool-1', `door-${at}`);
  record('tool-2', 'a "door"\\\n');
  const of = createOperationKind('server', 'tools/call', {});
  for (let at = 0; at < 5000; at++) {
    const target = `tool-${at}`;
    metrics.measure({ of, target, failure: undefined, toSeries: () => ({ 'gen_ai.tool.name': target }) }, 0.001);
  }
  const text = toPrometheus(metrics.families());
  const labels = (name: string) =>
    new Set([...text.matchAll(new RegExp(`${name}="([^"]*)"`, 'g'))].map(([, value]) => value));
  // 499 of them and the unknown one, and the others together.
  expect(labels('tool').size).toBe(501);
  expect(sampleOf(text, 'wield_calls_total{tool="(other)",outcome="ok",door="mcp"}')).toBe('1501');
  expect(sampleOf(text, 'wield_calls_total{tool="(unknown)",outcome="ok",door="mcp"}')).toBe('1');
  expect(labels('door').size).toBe(17);
  expect(labels('gen_ai_tool_name').size).toBe(2000);
  expect(sampleOf(text, 'mcp_server_operation_duration_seconds_count{mcp_method_name="(other)"}')).toBe('3000');
  expect(text).not.toMatch(/client-name|ref-of-the-call/);
  expect(sampleOf(text, 'wield_call_duration_seconds_bucket{tool="tool-0",le="0.005"}')).toBe('0');
  expect(sampleOf(text, 'wield_call_duration_seconds_bucket{tool="tool-0",le="0.01"}')).toBe('1');
  const escaped = createMeter();
  escaped.count({
    tool: { name: 'a"b\\c\nd' },
    caller: { kind: 'model', door: 'mcp' },
    result: { ok: true, content: [], meta: { durationMs: 1 } },
  } as unknown as CountedCall);
  expect(toPrometheus(escaped.families())).toContain('{tool="a\\"b\\\\c\\nd",outcome="ok",door="mcp"} 1\n');
});
