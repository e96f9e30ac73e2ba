// Spans and metrics over OTLP, as the variables OTEL_* say, with the names of the conventions.

import { describe, expect, vi } from 'vitest';
import { createToolbox, defineTool } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { connectUrl } from '../../support/clients.js';
import { CONVENTIONS, type ReceivedSpan, type Receiver, receiveOtlp } from '../../support/otlp.js';
import { patience } from '../../support/patience.js';
import { serveHere, serveUrl } from '../../support/serve.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { configureServers, protocolServer } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: 'vendor=1', baggage: 'user=ada' };
const KINDS = ['', 'internal', 'server', 'client'];

function withTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', shellScript('echo hello', '@param name string'));
  workspace.script('fail', shellScript('exit 3'));
  return workspace;
}

// Every span has a name, a kind and attributes of the tables; everything else is ours.
function assertConventional({ name, kind, attributes, failed }: ReceivedSpan): void {
  const { required, other, name: first } = CONVENTIONS.spans[KINDS[kind]!];
  for (const key of required) expect(attributes, name).toHaveProperty([key]);
  for (const key of Object.keys(attributes))
    if (!key.startsWith('wield.')) expect([...required, ...other], name).toContain(key);
  const target = attributes['gen_ai.tool.name'] ?? attributes['gen_ai.prompt.name'];
  expect([attributes[first], `${attributes[first]} ${target}`]).toContain(name);
  expect(failed).toBe(attributes['error.type'] !== undefined);
  const { 'mcp.method.name': method, 'network.transport': transport } = attributes;
  if (method !== undefined) expect([...CONVENTIONS.methods, '_OTHER', 'server/discover']).toContain(method);
  if (transport !== undefined) expect(CONVENTIONS.transports).toContain(transport);
}

function assertMetrics({ metrics }: Receiver): void {
  for (const [name, { unit }] of Object.entries<{ unit: string }>(CONVENTIONS.metrics)) {
    const found = metrics.get(name);
    if (found === undefined) continue;
    expect(found.unit).toBe(unit);
    for (const { attributes, bounds } of found.points) {
      expect(bounds).toEqual(CONVENTIONS.bounds);
      for (const key of Object.keys(attributes)) expect(CONVENTIONS.metricAttributes).toContain(key);
    }
  }
}

describe.concurrent('a command', () => {
  spec('OBS-12 OBS-13', 'sends the span and the metrics of its call before it ends', async () => {
    const receiver = await receiveOtlp();
    const workspace = withTools();
    const env = {
      ...receiver.env,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=blue%20one, x-key = k',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'tools',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
    };
    const run = await wield(workspace, ['call', 'greet', '--name', 'Ada'], { env });
    expect([run.status, run.stdout, run.stderr]).toEqual([0, 'hello\n', '']);
    expect(receiver.spans).toHaveLength(1);
    const [span] = receiver.spans;
    assertConventional(span!);
    expect(span).toMatchObject({
      name: 'execute_tool greet',
      kind: 1,
      attributes: { 'gen_ai.tool.name': 'greet', 'wield.door': 'cli', 'wield.verdict': 'allow' },
    });
    expect(span!.attributes).not.toHaveProperty(['mcp.method.name']);
    expect(receiver.requests[0]!.headers).toMatchObject({ 'x-team': 'blue one', 'x-key': 'k' });
    expect(receiver.resources[0]).toMatchObject({
      'service.name': 'tools',
      'deployment.environment.name': 'test',
      'telemetry.sdk.language': 'nodejs',
    });
    const [calls] = receiver.metrics.get('wield.calls')!.points;
    expect(calls).toEqual({
      attributes: { 'wield.tool': 'greet', 'wield.outcome': 'ok', 'wield.door': 'cli' },
      value: 1,
    });
    expect(receiver.metrics.get('wield.call.duration')).toMatchObject({ unit: 's', points: [{ count: 1 }] });
    expect(receiver.metrics.get('wield.telemetry.dropped')!.points).toEqual([{ attributes: {}, value: 0 }]);
  });

  spec('OBS-12', 'that makes no call sends nothing, and neither do disabled exporters and traces', async () => {
    const receiver = await receiveOtlp();
    const workspace = withTools();
    const sent = async (args: readonly string[], more: Record<string, string> = {}): Promise<string[]> => {
      const before = receiver.requests.length;
      expect((await wield(workspace, args, { env: { ...receiver.env, ...more } })).status).toBe(0);
      return receiver.requests.slice(before).map(({ url = '' }) => url);
    };
    const call = ['call', 'greet', '--name', 'Ada'];
    expect(await sent(['list'])).toEqual([]);
    expect(await sent(call, { OTEL_SDK_DISABLED: 'true' })).toEqual([]);
    expect(await sent(call, { OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toEqual([]);
    expect(await sent(call, { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' })).toEqual([]);
    expect(await sent(call, { OTEL_TRACES_EXPORTER: 'none' })).toEqual(['/v1/metrics']);
    expect(await sent(call, { OTEL_METRICS_EXPORTER: 'none' })).toEqual(['/v1/traces']);
    expect(await sent(call, { OTEL_TRACES_SAMPLER: 'always_off' })).toEqual(['/v1/metrics']);
    const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' };
    expect(await sent(call, ratio)).toEqual(['/v1/metrics']);
    const own = { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.origin}/v1/traces` };
    expect(await sent(call, own)).toEqual(['/v1/traces']);
  });

  spec('OBS-15', 'sends arguments and results only if it is told to, and without secrets', async () => {
    const receiver = await receiveOtlp();
    const workspace = createWorkspace();
    workspace.script('echo', shellScript('cat; echo "$TOKEN"', '@param text string', '@param password string?'));
    workspace.config('[env]\npass = ["TOKEN"]\n');
    const args = ['call', 'echo', '--text', 'plain-words', '--password', 'open-sesame-1'];
    const contentsFor = async (given: string): Promise<string> => {
      const env = {
        ...receiver.env,
        TOKEN: 'tok-4711-secret',
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: given,
      };
      receiver.spans.length = 0;
      expect((await wield(workspace, args, { env })).status).toBe(0);
      return JSON.stringify(receiver.spans);
    };
    for (const given of ['', 'false', 'NO_CONTENT', 'EVENT_ONLY'])
      expect(await contentsFor(given)).not.toMatch(/plain-words|open-sesame|tok-4711/);
    for (const given of ['true', 'SPAN_ONLY', 'span_and_event']) {
      const shown = await contentsFor(given);
      expect(shown).toContain('plain-words');
      expect(shown).not.toMatch(/open-sesame|tok-4711/);
      assertConventional(receiver.spans[0]!);
    }
  });
});

spec('OBS-12', 'a toolbox in code sends its spans if it is told to, by the environment of its process', async () => {
  const receiver = await receiveOtlp();
  const tools = [defineTool({ name: 'hello', description: 'x', execute: () => 'hello' })];
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.origin;
  const [silent, traced] = [createToolbox({ tools }), createToolbox({ tools, telemetry: true })];
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  await silent.call('hello', {});
  await traced.call('hello', {}, { trace: PARENT });
  await silent.close();
  await traced.close();
  expect(receiver.spans).toMatchObject([
    { name: 'execute_tool hello', traceId: TRACE, attributes: { 'wield.door': 'library' } },
  ]);
  expect(receiver.metrics.get('wield.calls')!.points).toMatchObject([{ value: 1 }]);
});

spec('OBS-12', 'records a ratio of traces, by the end of their ids, as other services do', async () => {
  const receiver = await receiveOtlp();
  const workspace = createWorkspace();
  const env = { ...receiver.env, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
  const tools = [defineTool({ name: 'hello', description: 'x', execute: () => 'hello' })];
  const toolbox = workspace.toolbox({ tools, telemetry: true, env: { ...workspace.env, ...env } });
  for (let at = 0; at < 200; at++) await toolbox.call('hello', {});
  // Of a trace that began elsewhere, the end of its id decides too.
  const parentOf = (end: string): string => `00-${'1'.repeat(19)}${end}-00f067aa0ba902b7-01`;
  await toolbox.call('hello', {}, { trace: { traceparent: parentOf('7ffffffffffff') } });
  await toolbox.call('hello', {}, { trace: { traceparent: parentOf('8000000000000') } });
  await toolbox.close();
  const ends = receiver.spans.map(({ traceId }) => Number.parseInt(traceId.slice(-13), 16));
  expect(ends.length).toBeGreaterThan(40);
  expect(ends.length).toBeLessThan(160);
  expect(Math.max(...ends)).toBeLessThan(2 ** 51);
  expect(ends).toContain(2 ** 51 - 1);
  expect(new Set(receiver.spans.map(({ traceId }) => traceId)).size).toBe(ends.length);
});

describe.concurrent('a server', () => {
  spec('OBS-13', 'over stdio: a span and a duration for every request, by its own method', async () => {
    const receiver = await receiveOtlp();
    const workspace = withTools();
    workspace.write('.wield/skills/review/SKILL.md', '---\nname: review\ndescription: Review it.\n---\nRead it.\n');
    const server = serveHere(workspace, { env: receiver.env });
    await server.initialize();
    await server.request(2, 'tools/list');
    await server.request('three', 'tools/call', { name: 'greet', arguments: { name: 'Ada' }, _meta: PARENT });
    await server.request(4, 'tools/call', { name: 'fail', arguments: {} });
    await server.request(5, 'tools/call', { name: 'made-up-by-a-client', arguments: {} });
    await server.request(6, 'made/up', {});
    await server.request(7, 'resources/read', { uri: 'made://up' });
    await server.request(8, 'prompts/list');
    await server.request(9, 'prompts/get', { name: 'made-up-prompt' });
    await server.request('a "b"\\c', 'ping');
    await server.close();
    receiver.spans.forEach(assertConventional);
    assertMetrics(receiver);
    const byId = new Map(receiver.spans.map((span) => [span.attributes['jsonrpc.request.id'], span]));
    const shown = (id: string) => {
      const { name, kind, attributes } = byId.get(id)!;
      return [name, kind, attributes['mcp.method.name'], attributes['error.type']];
    };
    expect(shown('2')).toEqual(['tools/list', 2, 'tools/list', undefined]);
    expect(shown('three')).toEqual(['tools/call greet', 2, 'tools/call', undefined]);
    expect(shown('4')).toEqual(['tools/call fail', 2, 'tools/call', 'tool_failed']);
    expect(shown('5')).toEqual(['tools/call', 2, 'tools/call', '-32602']);
    expect(shown('6')).toEqual(['_OTHER', 2, '_OTHER', '-32601']);
    expect(shown('7').slice(0, 3)).toEqual(['resources/read', 2, 'resources/read']);
    expect(shown('8')).toEqual(['prompts/list', 2, 'prompts/list', undefined]);
    expect(shown('a "b"\\c')).toEqual(['ping', 2, 'ping', undefined]);
    expect(shown('9').slice(0, 3)).toEqual(['prompts/get', 2, 'prompts/get']);
    const called = byId.get('three')!;
    expect(called).toMatchObject({ traceId: TRACE, parentSpanId: '00f067aa0ba902b7', traceState: 'vendor=1' });
    expect(called.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'mcp.protocol.version': '2025-11-25',
      'network.transport': 'pipe',
      'wield.door': 'mcp',
      'wield.verdict': 'allow',
    });
    expect(byId.get('5')!.attributes['rpc.response.status_code']).toBe('-32602');
    const sessions = new Set(receiver.spans.map(({ attributes }) => attributes['mcp.session.id']));
    expect(sessions.size).toBe(1);
    // One span for each request: the call is not a second one.
    expect(receiver.spans).toHaveLength(byId.size);
    const { points } = receiver.metrics.get('mcp.server.operation.duration')!;
    expect(points.reduce((all, { count = 0 }) => all + count, 0)).toBe(byId.size);
    expect(JSON.stringify([...receiver.metrics])).not.toMatch(/made-up|made\/up|made:/);
  });

  spec('OBS-13', 'over HTTP: in the newer version, without a session; and /metrics has the same numbers', async () => {
    const receiver = await receiveOtlp();
    const workspace = withTools();
    workspace.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.origin;
    workspace.env.OTEL_METRIC_EXPORT_INTERVAL = '50';
    workspace.env.OTEL_BSP_SCHEDULE_DELAY = '10';
    const url = await serveUrl(workspace, ['--trust']);
    const client = await connectUrl(url, 'newer');
    await client.callTool({ name: 'greet', arguments: { name: 'Ada' } });
    const page = await (await fetch(new URL('/metrics', url))).text();
    await vi.waitFor(
      () => expect(receiver.spans.map(({ name }) => name)).toContain('tools/call greet'),
      patience(5000),
    );
    const { attributes } = receiver.spans.find(({ name }) => name === 'tools/call greet')!;
    expect(attributes).toMatchObject({
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'client.address': '127.0.0.1',
      'mcp.protocol.version': '2026-07-28',
    });
    expect(attributes).not.toHaveProperty(['mcp.session.id']);
    receiver.spans.forEach(assertConventional);
    expect(page).toContain('wield_calls_total{tool="greet",outcome="ok",door="mcp"} 1\n');
    expect(page).toMatch(
      /^mcp_server_operation_duration_seconds_count\{mcp_method_name="tools\/call",.*gen_ai_tool_name="greet",.*\} 1$/m,
    );
    await vi.waitFor(() => expect(receiver.metrics.get('wield.calls')?.points[0]?.value).toBe(1), patience(5000));
  });

  spec('OBS-14', 'continues a trace to an upstream server, with a span of its own in between', async () => {
    const receiver = await receiveOtlp();
    const workspace = createWorkspace();
    configureServers(workspace, { far: (await protocolServer(workspace, 'far', 'newer', 'stdio')).entry });
    const server = serveHere(workspace, { env: receiver.env });
    await server.initialize();
    const { result } = await server.request(2, 'tools/call', { name: 'far_meta', arguments: {}, _meta: PARENT });
    await server.close();
    const passed = JSON.parse(result.content[0].text);
    const [client] = receiver.spans.filter(({ kind }) => kind === 3);
    const serving = receiver.spans.find(({ name }) => name === 'tools/call far_meta')!;
    expect(serving).toMatchObject({ traceId: TRACE, parentSpanId: '00f067aa0ba902b7', kind: 2 });
    expect(client).toMatchObject({ name: 'tools/call meta', traceId: TRACE, parentSpanId: serving.spanId });
    expect(client!.attributes).toMatchObject({
      'gen_ai.tool.name': 'meta',
      'network.transport': 'pipe',
      'mcp.protocol.version': '2026-07-28',
      'wield.server': 'far',
    });
    expect(passed).toMatchObject({ ...PARENT, traceparent: `00-${TRACE}-${client!.spanId}-01` });
    receiver.spans.forEach(assertConventional);
    assertMetrics(receiver);
    expect(receiver.metrics.get('mcp.client.operation.duration')!.points).toMatchObject([
      { count: 1, attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'meta' } },
    ]);
  });
});
