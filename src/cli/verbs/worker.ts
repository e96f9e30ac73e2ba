// `wield worker`: runs calls of a fleet with the tools of this workdir.

import type { IncomingMessage } from 'node:http';
import { untilAborted } from '../../core/async.js';
import { assertPerson } from '../../core/caller.js';
import { quoteOutside } from '../../core/text.js';
import { isWorkerTag, TAG_FORM } from '../../fleet/tag.js';
import type { WorkerOptions } from '../../fleet/worker.js';
import { type AccessOptions, authenticate, checkHost, isLoopback } from '../../mcp-server/access.js';
import { PROMETHEUS_TYPE } from '../../mcp-server/http.js';
import { limitConnections } from '../../net/connections.js';
import { toPrometheus } from '../../telemetry/prometheus.js';
import { assertFleet, FLEET, readFleet } from '../fleet.js';
import { type Address, listen, parseAddress } from '../listen.js';
import { describeQueues } from '../metrics.js';
import { openProfile, PROFILE } from '../profile.js';
import { isConfigured, reportReloads } from '../reload.js';
import { describeDistrust } from '../runnable.js';
import { openTokens } from '../tokens.js';
import { numberOf, option, toggle, usageError, type Verb, type VerbCall } from '../verb.js';

const CONCURRENCY = 16;

export const worker: Verb = {
  usage: 'worker --fleet URL [--tags TAG,…]',
  summary: 'Run calls of a fleet with the tools of this workdir.',
  examples: [
    'wield worker --fleet rediss://queue:6379',
    'wield worker --fleet rediss://queue:6379 --tags gpu',
    'wield worker --fleet rediss://queue:6379 --metrics 9090',
  ],
  flags: {
    fleet: FLEET,
    tags: option('TAG,…', 'Also run tools that need a worker with one of these tags'),
    concurrency: option('N', `Calls at the same time, per tag (default ${CONCURRENCY})`, {
      range: [1, 1000, '--concurrency 16'],
    }),
    health: option('[HOST:]PORT', 'Answer probes at /healthz and /readyz; the default host is 127.0.0.1'),
    metrics: option('[HOST:]PORT', 'Numbers for Prometheus at /metrics; the default host is 127.0.0.1'),
    'token-file': option('FILE', 'Require a bearer token of this file for them (or set WIELD_TOKEN)'),
    profile: PROFILE,
    trust: toggle('Trust this workspace while the worker runs'),
  },
  runsUntilStopped: true,
  async run(call) {
    const tags = readTags(call);
    const concurrency = numberOf(call, 'concurrency') ?? CONCURRENCY;
    const health = call.flags.get('health');
    const address = health === undefined ? undefined : parseAddress('health', String(health));
    const metrics = readMetricsAccess(call);
    assertFleet(call);
    const [{ openWorker }, { openWorkerState }, { findUngrantedVariables }] = await Promise.all([
      import('../../fleet/worker.js'),
      import('../fleet-state.js'),
      import('../../process/environment.js'),
    ]);
    const shared = await openWorkerState(call);
    const toolbox = openProfile(call, {
      guard: true,
      metrics: metrics !== undefined,
      trust: call.flags.has('trust'),
      shared: shared.state,
    });
    if (call.flags.has('trust')) assertPerson(toolbox.machine.insideCall, 'trusting');
    const fleet = await readFleet(call, toolbox.machine);
    const { terminal, signal } = call;
    const { secrets, wieldHome, world } = toolbox.machine;
    const findUngranted: WorkerOptions['findUngranted'] = (tool, variables) =>
      findUngrantedVariables(tool, toolbox.state.snapshot().settings, variables);
    const own = { toolbox, secrets, tags, concurrency, wieldHome, now: world.now, findUngranted };
    const opened = await openWorker({ ...fleet, ...own });
    const probes =
      address && (await openHealth(address, async () => isConfigured(toolbox) && (await opened.isReady())));
    const { telemetry } = toolbox.state;
    telemetry.addMetrics(() => describeQueues(opened));
    const numbers = metrics && (await openMetrics(metrics, async () => toPrometheus(await telemetry.readMetrics())));
    terminal.out(`${opened.id}\n`);
    terminal.err(
      `  running calls of the fleet ${fleet.key.fleet} at ${fleet.address.shown} in ${toolbox.workspace.workdir}; press Ctrl-C to stop\n`,
    );
    if (probes !== undefined) terminal.err(`  answering probes at ${address!.host}:${probes.port}\n`);
    if (numbers !== undefined) terminal.err(`  showing metrics at ${metrics!.host}:${numbers.port}/metrics\n`);
    if (!toolbox.workspace.trusted)
      terminal.err(`  ${describeDistrust(toolbox)}: calls of its tools are refused until you run wield trust\n`);
    const unwatch = reportReloads(call, toolbox, 'the configuration is');
    await untilAborted(signal);
    unwatch();
    await opened.drain();
    probes?.close();
    numbers?.close();
    await opened.close();
    await shared.close();
    return 0;
  },
};

function readMetricsAccess(call: VerbCall): (Address & AccessOptions) | undefined {
  const given = call.flags.get('metrics');
  if (given === undefined) return undefined;
  const access = { ...parseAddress('metrics', String(given)), tokens: openTokens(call) };
  if (isLoopback(access.host) || access.tokens !== undefined) return access;
  throw usageError(
    `--metrics ${access.host} is reachable from other machines and needs a token`,
    'set WIELD_TOKEN, pass --token-file, or use 127.0.0.1',
  );
}

function readTags({ flags }: VerbCall): readonly string[] {
  const words = String(flags.get('tags') ?? '')
    .split(',')
    .filter(Boolean);
  const bad = words.find((word) => !isWorkerTag(word));
  if (bad !== undefined)
    throw usageError(`--tags: "${quoteOutside(bad, 40)}" is not a tag`, `write each as a ${TAG_FORM}`);
  return [...new Set(words)];
}

// Pages of a process that serves nothing else: probes for everyone who reaches the address (FLT-90), and metrics (FLT-91).
const TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 64;

interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const NOT_FOUND: Page = { status: 404, text: 'not found\n' };

/** Answers probes until it is closed. */
function openHealth(address: Address, isReady: () => Promise<boolean>) {
  return openPages(address, ['/healthz', '/readyz'], async (path) => {
    const isFine = path === '/healthz' || (await isReady());
    return isFine ? { status: 200, text: 'ok\n' } : { status: 503, text: 'not ready\n' };
  });
}

/** Answers with metrics until it is closed, behind the same checks as `/metrics` of a server. */
function openMetrics(access: Address & AccessOptions, read: () => Promise<string>) {
  return openPages(access, ['/metrics'], async (_path, { headers, headersDistinct }) => {
    // Node keeps the first of two.
    const header = (name: string): string | undefined =>
      (headersDistinct[name]?.length ?? 0) > 1 ? undefined : (headers[name] as string | undefined);
    const refusal = checkHost(header, access) ?? (await authenticate(header, access)).refusal;
    if (refusal !== undefined) return { ...refusal, text: `${refusal.message}\n` };
    return { status: 200, headers: { 'content-type': PROMETHEUS_TYPE }, text: await read() };
  });
}

async function openPages(
  address: Address,
  paths: readonly string[],
  answer: (path: string, request: IncomingMessage) => Promise<Page>,
) {
  const { createServer } = await import('node:http');
  const limits = { headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS, connectionsCheckingInterval: 1000 };
  const find = async (request: IncomingMessage): Promise<Page> => {
    const path = (request.url ?? '').split('?', 1)[0]!;
    if (!paths.includes(path)) return NOT_FOUND;
    if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, text: 'method not allowed\n' };
    return answer(path, request).catch(() => ({ status: 500, text: 'internal error\n' }));
  };
  const server = createServer({ ...limits, maxHeaderSize: 8 * 1024 }, async (request, response) => {
    const { status, text, headers } = await find(request);
    response.writeHead(status, { 'content-type': 'text/plain', ...headers, connection: 'close' }).end(text);
  });
  server.maxConnections = MAX_CONNECTIONS;
  limitConnections(server);
  const { port } = await listen(server, address);
  return {
    port,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}
