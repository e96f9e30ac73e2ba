// Telemetry: each call is a span if OpenTelemetry is set up; otherwise nothing is loaded.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSpanContextValid, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { createToolbox, defineTool, textOf } from '../../../src/index.js';
import { binary } from '../../support/built.js';
import { serveStdio } from '../../support/server.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { configureServers, protocolServer } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

const ROOT = join(import.meta.dirname, '../../..');
const exporter = new InMemorySpanExporter();

beforeEach(() => {
  exporter.reset();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});

afterEach(() => {
  trace.disable();
  propagation.disable();
});

const tools = [
  defineTool({ name: 'hello', description: 'x', execute: () => 'hello' }),
  defineTool({
    name: 'fails',
    description: 'x',
    execute: () => {
      throw new Error('the input was secret-words');
    },
  }),
  defineTool({
    name: 'outer',
    description: 'x',
    execute: async (_input, { toolbox }) => (await toolbox.call('hello', {})).ok,
  }),
];
const spans = (): ReadableSpan[] => exporter.getFinishedSpans();

describe('spans', () => {
  spec('OBS-5', 'have the names of the conventions for tools', async () => {
    const toolbox = createToolbox({ tools });
    await toolbox.call('hello', {});
    const [own] = spans();
    expect(own).toMatchObject({
      name: 'execute_tool hello',
      kind: SpanKind.INTERNAL,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'hello',
        'wield.door': 'library',
        'wield.verdict': 'allow',
      },
      status: { code: SpanStatusCode.UNSET },
    });
    expect(own!.instrumentationScope.name).toBe('wield');
  });

  spec.thorough(
    'OBS-5 UPS-72',
    'are what a server gets as the parent of its own, by the one call that sends the request',
    async () => {
      const workspace = createWorkspace();
      configureServers(workspace, { far: (await protocolServer(workspace, 'far', 'newer', 'stdio')).entry });
      const through = defineTool({
        name: 'through',
        description: 'x',
        execute: async (_input, { toolbox: inner }) => textOf(await inner.call('far_meta', {})),
      });
      const toolbox = workspace.toolbox({ tools: [through] });
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
      const given = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: 'vendor=1', baggage: 'user=ada' };
      const direct = JSON.parse(textOf(await toolbox.call('far_meta', {}, { trace: given })));
      const nested = JSON.parse(textOf(await toolbox.call('through', {}, { trace: given })));
      const own = JSON.parse(textOf(await toolbox.call('far_meta', {})));
      await toolbox.close();
      const sent = spans().filter(({ kind }) => kind === SpanKind.CLIENT);
      const calls = spans().filter(({ kind }) => kind !== SpanKind.CLIENT);
      expect(sent.map(({ name }) => name)).toEqual(Array(3).fill('tools/call meta'));
      const names = ['far_meta', 'far_meta', 'through', 'far_meta'].map((name) => `execute_tool ${name}`);
      expect(calls.map(({ name }) => name)).toEqual(names);
      const [first, inner, outer, alone] = calls;
      [first, inner, alone].forEach((call, at) => {
        expect(sent[at]!.parentSpanContext?.spanId).toBe(call!.spanContext().spanId);
      });
      const parentOf = (span: ReadableSpan | undefined): string =>
        `00-${span!.spanContext().traceId}-${span!.spanContext().spanId}-01`;
      expect(direct).toMatchObject({ ...given, traceparent: parentOf(sent[0]) });
      expect(nested).toMatchObject({ traceparent: parentOf(sent[1]), tracestate: 'vendor=1' });
      expect(own).toMatchObject({ traceparent: parentOf(sent[2]) });
      expect([first, inner, outer].map((span) => span!.spanContext().traceId)).toEqual([traceId, traceId, traceId]);
      expect(first!.parentSpanContext?.spanId).toBe('00f067aa0ba902b7');
      expect(inner!.parentSpanContext?.spanId).toBe(outer!.spanContext().spanId);
      expect(alone!.spanContext().traceId).not.toBe(traceId);
      expect(own).not.toHaveProperty('baggage');
    },
  );

  spec('OBS-5', 'tell of failures, and of no contents', async () => {
    const workspace = createWorkspace();
    workspace.script('echo', shellScript('cat', '@param text string'));
    const toolbox = workspace.toolbox({ tools });
    await toolbox.call('fails', {});
    await toolbox.call('echo', { text: 'secret-words', wrong: 1 });
    await toolbox.call('echo', { text: 'secret-words' });
    await toolbox.call('echo', {}, { caller: { kind: 'model', door: 'mcp' } });
    await toolbox.call('a name\nthat a model made up', {});
    expect(spans().map(({ name, attributes, status }) => [name, attributes['error.type'], status.code])).toEqual([
      ['execute_tool fails', 'tool_failed', SpanStatusCode.ERROR],
      ['execute_tool echo', 'invalid_input', SpanStatusCode.ERROR],
      ['execute_tool echo', undefined, SpanStatusCode.UNSET],
      ['execute_tool echo', 'needs_trust', SpanStatusCode.ERROR],
      ['execute_tool', 'invalid_ref', SpanStatusCode.ERROR],
    ]);
    const all = JSON.stringify(
      spans().map(({ name, attributes, status, events }) => [name, attributes, status, events]),
    );
    expect(all).not.toContain('secret-words');
  });

  spec('OBS-5', 'of calls within calls are children, and a caller’s own span is the parent', async () => {
    const toolbox = createToolbox({ tools });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await toolbox.call('outer', {}, { trace: { traceparent } });
    const [inner, outer] = spans();
    expect(outer!.spanContext().traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
    expect(outer!.parentSpanContext?.spanId).toBe('00f067aa0ba902b7');
    expect(inner!.parentSpanContext?.spanId).toBe(outer!.spanContext().spanId);
    expect(inner!.spanContext().traceId).toBe(outer!.spanContext().traceId);
    // An invalid header starts a new trace.
    await toolbox.call('hello', {}, { trace: { traceparent: 'nonsense\n' } });
    expect(spans()[2]!.parentSpanContext).toBeUndefined();
    expect(isSpanContextValid(spans()[2]!.spanContext())).toBe(true);
    expect(spans()[2]!.spanContext().traceId).not.toBe(outer!.spanContext().traceId);
  });

  spec('OBS-5', 'fail no call if what the program registered fails', async () => {
    trace.disable();
    const fail = (): never => {
      throw new Error('broken');
    };
    trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: fail, startActiveSpan: fail }) });
    expect((await createToolbox({ tools }).call('hello', {})).ok).toBe(true);
  });

  spec('OBS-5', 'are made once a program sets tracing up, and no more when it ends it', async () => {
    trace.disable();
    const toolbox = createToolbox({ tools });
    await toolbox.call('hello', {});
    expect(spans()).toEqual([]);
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    await toolbox.call('hello', {});
    expect(spans()).toHaveLength(1);
    trace.disable();
    await toolbox.call('hello', {});
    expect(spans()).toHaveLength(1);
  });

  spec('OBS-5', 'are created by a server with tracing, with the parent that the client names', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo hello'));
    const file = join(workspace.home, 'spans');
    const setup = join(workspace.home, 'setup.cjs');
    writeFileSync(
      setup,
      `const from = require('node:module').createRequire(${JSON.stringify(join(ROOT, 'package.json'))});
       const { trace, propagation } = from('@opentelemetry/api');
       const { W3CTraceContextPropagator } = from('@opentelemetry/core');
       const { BasicTracerProvider, SimpleSpanProcessor } = from('@opentelemetry/sdk-trace-base');
       const exporter = { shutdown: async () => {}, export(spans, done) {
         for (const span of spans.filter(({ name }) => name.startsWith('tools/call'))) require('node:fs').appendFileSync(${JSON.stringify(file)},
           JSON.stringify([span.name, span.kind, span.spanContext().traceId]) + '\\n');
         done({ code: 0 });
       } };
       trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
       propagation.setGlobalPropagator(new W3CTraceContextPropagator());`,
    );
    const server = serveStdio(workspace, { env: { NODE_OPTIONS: `--require "${setup}"` } });
    await server.initialize();
    await server.request(1, 'tools/call', {
      name: 'hello',
      arguments: {},
      _meta: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
    });
    expect(readFileSync(file, 'utf8')).toBe(
      `["tools/call hello",${SpanKind.SERVER},"4bf92f3577b34da6a3ce929d0e0e4736"]\n`,
    );
  });
});

describe('without tracing', () => {
  spec.thorough('OBS-5', 'nothing of it is loaded, by the library or the binary', () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo hello'));
    const program = `
      const { createToolbox } = await import('wield');
      const { createNodeToolbox } = await import('wield/node');
      const tools = [{ name: 'hello', description: 'x', execute: () => 'hello' }];
      await createToolbox({ tools }).call('hello', {});
      await createNodeToolbox({ workdir: process.env.HOME, tools }).call('hello', {});
      const { createRequire } = await import('node:module');
      console.log(Object.keys(createRequire(import.meta.url).cache ?? {}).filter((path) => /opentelemetry/.test(path)).length);`;
    const library = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: ROOT,
      env: workspace.env,
      encoding: 'utf8',
    });
    expect(library).toBe('0\n');
    const watch = join(workspace.home, 'watch.cjs');
    writeFileSync(
      watch,
      `process.on('exit', () => {
         const loaded = Object.keys(require.cache).filter((path) => /opentelemetry/.test(path));
         process.stderr.write(JSON.stringify(loaded));
       });`,
    );
    const ran = spawnSync(process.execPath, ['--require', watch, binary(), 'call', 'hello'], {
      cwd: workspace.dir,
      env: workspace.env,
      encoding: 'utf8',
    });
    expect([ran.stdout, ran.stderr]).toEqual(['hello\n', '[]']);
  });

  spec('OBS-5', 'a provider without the package within reach fails no call', () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo hello'));
    const setup = join(workspace.home, 'setup.cjs');
    writeFileSync(
      setup,
      `globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.9.0', trace: {} };
       const Module = require('node:module');
       const load = Module._load;
       Module._load = function (request, ...rest) {
         if (request === '@opentelemetry/api') throw new Error('Cannot find module @opentelemetry/api');
         return load.call(this, request, ...rest);
       };`,
    );
    const run = spawnSync(process.execPath, ['--require', setup, binary(), 'call', '--verbose', 'hello'], {
      cwd: workspace.dir,
      env: workspace.env,
      encoding: 'utf8',
    });
    expect([run.status, run.stdout]).toEqual([0, 'hello\n']);
    expect(run.stderr.match(/could not load OpenTelemetry: Cannot find module/g)).toHaveLength(1);
  });
});
