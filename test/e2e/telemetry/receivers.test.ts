// Receivers that are slow, full, wrong or gone: calls go on, memory is bounded, and a warning says so once.

import type { ServerResponse } from 'node:http';
import { describe, expect, vi } from 'vitest';
import { wield } from '../../support/cli.js';
import { sendJson } from '../../support/http.js';
import { type Receiver, type Respond, receiveOtlp } from '../../support/otlp.js';
import { patience } from '../../support/patience.js';
import { tool } from '../../support/ruled.js';
import { serveHere } from '../../support/serve.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

function withTool(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', shellScript('echo hello'));
  return workspace;
}

const answer =
  (status: number, headers: Record<string, string> = {}, text = ''): Respond =>
  (_request, response) => {
    response.writeHead(status, headers).end(text);
    return true;
  };

const WRONG: readonly (readonly [string, Respond, RegExp])[] = [
  ['of another path', answer(404), /status 404/],
  ['with a fault', answer(500), /status 500/],
  ['that is full', answer(503, { 'retry-after': '1' }), /status 503/],
  ['with a page', answer(200, { 'content-type': 'text/html' }, '<!doctype html><p>hi'), /not that of an OTLP receiver/],
  ['that redirects', answer(307, { location: 'http://127.0.0.1:1/elsewhere' }), /redirect|origin/],
  [
    'that rejects some',
    (_request, response) => {
      sendJson(response, { partialSuccess: { rejectedSpans: '1', errorMessage: 'too many' } });
      return true;
    },
    /rejected 1: too many/,
  ],
  [
    'that hangs up',
    (request) => {
      request.socket.destroy();
      return true;
    },
    /telemetry/,
  ],
];

describe.concurrent('a receiver', () => {
  spec('OBS-16', 'that is wrong, full or gone is named once on stderr, and not in a result', async () => {
    const workspace = withTool();
    const runs = WRONG.map(async ([what, respond, reason]) => {
      const { env, origin } = await receiveOtlp(respond);
      const run = await wield(workspace, ['call', 'greet', '--json'], { env });
      expect([run.status, JSON.parse(run.stdout).ok], what).toEqual([0, true]);
      expect(run.stdout, what).not.toMatch(/telemetry|OTEL/);
      expect(run.stderr.match(/telemetry was not accepted/g), what).toHaveLength(1);
      expect(run.stderr, what).toContain(origin);
      expect(run.stderr, what).toMatch(reason);
    });
    await Promise.all(runs);
    const gone = await wield(workspace, ['call', 'greet'], {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1/key-of-a-collector' },
    });
    expect([gone.status, gone.stdout]).toEqual([0, 'hello\n']);
    expect(gone.stderr.match(/telemetry was not accepted by http:\/\/127\.0\.0\.1:1: /g)).toHaveLength(1);
    expect(gone.stderr).not.toContain('key-of-a-collector');
  });

  spec('OBS-16', 'that does not answer delays no call, and the end by a second', async () => {
    const waiting: ServerResponse[] = [];
    const { env } = await receiveOtlp((_request, response) => {
      waiting.push(response);
      return true;
    });
    const workspace = withTool();
    const server = serveHere(workspace, { env: { ...env, OTEL_BSP_SCHEDULE_DELAY: '0' } });
    await server.initialize();
    await vi.waitFor(() => expect(waiting.length).toBeGreaterThan(0), patience(5000));
    const { result } = await server.request(2, 'tools/call', { name: 'greet', arguments: {} });
    expect(result.content[0].text).toBe('hello\n');
    const began = performance.now();
    await server.close();
    expect(performance.now() - began).toBeLessThan(patience(3000));
    expect(server.stderr().match(/telemetry was not accepted/g)).toHaveLength(1);
    expect(server.stderr()).toContain('did not answer in time');
  });

  spec('OBS-16', 'that takes nothing fills a queue of a fixed size; what is lost is counted', async () => {
    const receiver: Receiver = await receiveOtlp((request, response) => {
      if (request.url !== '/v1/traces') return false;
      response.writeHead(503).end();
      return true;
    });
    const env = { ...receiver.env, OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4' };
    const workspace = createWorkspace();
    const toolbox = workspace.toolbox({ tools: [tool('look')], telemetry: true, env: { ...workspace.env, ...env } });
    for (let at = 0; at < 50; at++) expect((await toolbox.call('look', {})).ok).toBe(true);
    const counted = await toolbox.state.telemetry.readMetrics();
    await toolbox.close();
    const firstValue = (name: string) => counted.find((family) => family.name === name)!.points[0]!.value;
    const dropped = firstValue('wield.telemetry.dropped');
    // All but the queue, and a batch that is being sent.
    expect(dropped).toBeGreaterThanOrEqual(36);
    expect(dropped).toBeLessThanOrEqual(50);
    expect(firstValue('wield.calls')).toBe(50);
  });

  spec('OBS-16', 'gets headers encrypted or on this machine only, and wrong variables are named', async () => {
    const workspace = withTool();
    const run = async (env: Record<string, string>): Promise<string> => {
      const { status, stdout, stderr } = await wield(workspace, ['call', 'greet'], { env });
      expect([status, stdout]).toEqual([0, 'hello\n']);
      return stderr;
    };
    const far = 'http://telemetry.example:4318';
    const unsafe = { OTEL_EXPORTER_OTLP_ENDPOINT: far, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=key-of-4711' };
    const refused = await run(unsafe);
    expect(refused).toContain('unencrypted');
    expect(refused).not.toContain('key-of-4711');
    const { env } = await receiveOtlp();
    expect(
      (await run({ ...env, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).split('which wield does not send'),
    ).toHaveLength(2);
    expect(await run({ OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense' })).toContain('OTEL_EXPORTER_OTLP_ENDPOINT is not');
    expect(await run({ ...env, OTEL_TRACES_SAMPLER: 'often' })).toContain('OTEL_TRACES_SAMPLER often is unknown');
    expect(await run({ ...env, OTEL_TRACES_EXPORTER: 'zipkin' })).toContain('wield has otlp and none');
    for (const [name, value, used] of [
      ['OTEL_BSP_MAX_QUEUE_SIZE', '-1', 2048],
      ['OTEL_METRIC_EXPORT_INTERVAL', '2592000000', 60_000],
      ['OTEL_EXPORTER_OTLP_TIMEOUT', 'abc', 10_000],
      ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', '99999999999', 10_000],
    ] as const)
      expect(await run({ ...env, [name]: value })).toBe(
        `warning  telemetry: ${name} ${value} is not a whole number from 1 to 2147483647; ${used} is used\n`,
      );
    const undecodable = await run({ ...env, OTEL_EXPORTER_OTLP_HEADERS: 'a=100%,b=1' });
    expect(undecodable).toContain('OTEL_EXPORTER_OTLP_HEADERS has a pair that is not name=value');
    expect(undecodable).not.toContain('100%');
    const ratio = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' };
    expect(await run({ ...env, ...ratio })).toContain('is not a number from 0 to 1');
  });

  spec('OBS-16', 'is tried by wield doctor', async () => {
    const workspace = withTool();
    const good = await receiveOtlp();
    const about = async (env: Record<string, string>): Promise<string> =>
      (await wield(workspace, ['doctor'], { env })).stdout;
    expect(await about(good.env)).toContain(`traces to ${good.origin}`);
    const bad = await receiveOtlp(answer(404));
    expect(await about(bad.env)).toMatch(/traces to .*: not accepted: status 404/);
    expect(await about({})).not.toContain('telemetry');
  });
});
