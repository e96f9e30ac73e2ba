// `wield serve`: serves the tools over MCP, on stdio or HTTP.

import type { Server } from 'node:http';
import { pause, untilAborted } from '../../core/async.js';
import { assertPerson, CALLERS } from '../../core/caller.js';
import { count, quoteOutside, sanitize, spellOut } from '../../core/text.js';
import { needsTrust } from '../../core/tool.js';
import type { Front, FrontOptions } from '../../fleet/front.js';
import type { AccessOptions } from '../../mcp-server/access.js';
import { createMcpHttp, isLoopback, MCP_PATH, serveMcpStdio } from '../../mcp-server/index.js';
import type { SharedSessions } from '../../mcp-server/shared-sessions.js';
import { limitConnections } from '../../net/connections.js';
import type { NodeToolbox } from '../../node.js';
import { toPrometheus } from '../../telemetry/prometheus.js';
import { createIdentify } from '../../upstream/login/identify.js';
import { createLoginPages, LOGIN_PATH, type LoginPages } from '../../upstream/login/pages.js';
import { readVersion } from '../../workspace/machine.js';
import { FLEET, readFleet, usesFleet } from '../fleet.js';
import { type Address, listen, parseAddress } from '../listen.js';
import { describeFront, describeQueues } from '../metrics.js';
import { MODE, openProfile, PROFILE } from '../profile.js';
import { isConfigured, reportReloads } from '../reload.js';
import { describeDistrust } from '../runnable.js';
import type { Terminal } from '../terminal.js';
import { openTokens } from '../tokens.js';
import { createUnansweredReport, toLoginNotices, toNotices } from '../unanswered.js';
import { createSubjects, openUsers } from '../users.js';
import { option, toggle, usageError, type Verb, type VerbCall } from '../verb.js';

const POLL_MS = 20;
// Event streams stay open until the client closes them.
const STREAMS_MS = 500;

export const serve: Verb = {
  usage: 'serve [--http [HOST:]PORT] [--mode MODE] [--profile NAME] [--with GROUP] [--ui]',
  summary: 'Serve the tools of this workdir to an agent over MCP, on stdio or HTTP.',
  examples: [
    'wield serve',
    'wield serve --mode search',
    'wield serve --http 7070',
    'WIELD_TOKEN=… wield serve --http 0.0.0.0:7070',
    'wield serve --http 7070 --fleet rediss://queue:6379',
  ],
  flags: {
    http: option('[HOST:]PORT', 'Serve over HTTP at /mcp; the default host is 127.0.0.1'),
    'public-url': option('URL', 'The address that clients use, if a proxy passes their requests on'),
    'token-file': option('FILE', 'Require a bearer token of this file, one per line (or set WIELD_TOKEN)'),
    mode: MODE,
    profile: PROFILE,
    fleet: FLEET,
    with: option('GROUP,…', 'Also offer these built-in tools'),
    ui: toggle('With --http: also serve the page of wield ui, on a port of its own'),
    trust: toggle('Trust this workspace while the server runs'),
  },
  runsUntilStopped: true,
  async run(call) {
    const http = call.flags.get('http');
    if (http === undefined && call.flags.has('fleet'))
      throw usageError('--fleet needs --http', 'wield serve --http 7070 --fleet URL');
    const isFront = http !== undefined && usesFleet(call);
    let front: Front | undefined;
    const fleet = isFront ? await (await import('../fleet-state.js')).openFrontState(call) : undefined;
    const publicUrl = parsePublicUrl(call.flags.get('public-url'));
    const place: { origin: string | undefined } = { origin: publicUrl?.origin };
    const subjects = createSubjects();
    const pages =
      http === undefined
        ? undefined
        : createLoginPages({
            createFetch: (options) => toolbox.state.network.createFetch(options),
            origin: () => place.origin,
            now: () => performance.now(),
            identify: createIdentify({
              createFetch: (options) => toolbox.state.network.createFetch(options),
              issuers: () => toolbox.state.configuration().settings.serve.auth,
              debug: (message) => toolbox.machine.world.debug(message),
            }),
          });
    const report = createUnansweredReport(call.terminal, () => toolbox);
    const toolbox: NodeToolbox = openProfile(call, {
      guard: true,
      onWait: report,
      metrics: http !== undefined,
      shared: fleet?.state,
      loginPages: pages,
      subjectToken: subjects.find,
      dispatcher: fleet
        ? {
            takes: (plan) => front!.takes(plan),
            run: (plan, context) => front!.run(plan, context),
            load: () => front?.describe() ?? { running: 0, waiting: 0 },
          }
        : undefined,
      trust: call.flags.has('trust'),
      offer: String(call.flags.get('with') ?? '')
        .split(',')
        .filter(Boolean),
    });
    if (call.flags.has('trust')) assertPerson(toolbox.machine.insideCall, 'trusting');
    // UI-22: the page has an address of its own, so that of the server does not matter.
    if (call.flags.has('ui')) assertPerson(toolbox.machine.insideCall, 'opening the page');
    // Over stdio the token would be in the log of the client.
    if (call.flags.has('ui') && http === undefined)
      throw usageError('--ui needs --http', 'add --http 7070, or run wield ui beside it');
    if (pages === undefined) return serveOverStdio(call, toolbox);
    const users = openUsers(call, toolbox, publicUrl, subjects);
    const access = {
      ...parseAddress('http', String(http)),
      tokens: openTokens(call),
      publicUrl,
      trustedProxies: () => toolbox.state.configuration().settings.serve.trustedProxies,
      resource: users.resource,
      // Users can be added while the server runs.
      get users() {
        return users.current();
      },
    };
    try {
      if (fleet !== undefined) front = await connectFront(call, toolbox);
      const serving = { access, front, sessions: fleet?.state.sessions, pages, place };
      return await serveOverHttp(call, toolbox, serving);
    } finally {
      // Calls that end now are recorded, and workers are told.
      if (fleet !== undefined) await toolbox.close();
      await front?.close();
      await fleet?.close();
    }
  },
};

async function connectFront(call: VerbCall, toolbox: NodeToolbox): Promise<Front> {
  const [{ openFront }, { findSentVariables }] = await Promise.all([
    import('../../fleet/front.js'),
    import('../../process/environment.js'),
  ]);
  const { machine } = toolbox;
  const variablesOf: FrontOptions['variablesOf'] = (plan, settings) => findSentVariables(plan, settings, machine.world);
  const fleet = await readFleet(call, machine);
  const front = await openFront({ ...fleet, variablesOf });
  call.terminal.err(`  workers of the fleet ${fleet.key.fleet} at ${fleet.address.shown} run the calls\n`);
  return front;
}

async function serveOverStdio({ terminal, signal }: VerbCall, toolbox: NodeToolbox): Promise<number> {
  if (terminal.inIsTerminal) {
    terminal.err(
      'wield serve reads MCP messages from stdin; it is meant to be started by an agent. Press Ctrl-C to stop.\n',
    );
  }
  const { io } = terminal;
  io.reserveStdout();
  const serving = serveMcpStdio(toolbox, {
    version: readVersion(),
    input: io.stdin.stream(),
    write: io.stdout.writeAsync,
    notices: () => toNotices(toolbox),
    onError: (error) => toolbox.machine.world.debug(`protocol: ${error.message}`),
  });
  signal.addEventListener('abort', () => void serving.close(), { once: true });
  await serving.ended;
  return 0;
}

interface HttpServing {
  readonly access: Address & AccessOptions;
  /** Both are set if workers of a fleet run the calls. */
  readonly front: Front | undefined;
  readonly sessions: SharedSessions | undefined;
  readonly pages: LoginPages;
  /** Where browsers find the pages. */
  readonly place: { origin: string | undefined };
}

async function serveOverHttp(
  call: VerbCall,
  toolbox: NodeToolbox,
  { access, front, sessions, pages, place }: HttpServing,
): Promise<number> {
  const { terminal, signal } = call;
  const { fault, settings } = toolbox.state.configuration();
  const hasUsers = settings.serve.auth.length + settings.serve.tokens.length > 0;
  if (!isLoopback(access.host) && access.tokens === undefined && !hasUsers) {
    throw usageError(
      `${access.host} is reachable from other machines and needs a token`,
      fault === undefined
        ? 'set WIELD_TOKEN, pass --token-file, name users in [serve.auth] or [serve.tokens], or serve on 127.0.0.1'
        : `the configuration is invalid, so its users are not known: fix ${quoteOutside(fault, 500)}`,
    );
  }
  const running = countCalls(toolbox);
  if (front !== undefined) {
    toolbox.state.telemetry.addMetrics(async () => describeFront(front.describe()));
    toolbox.state.telemetry.addMetrics(() => describeQueues(front));
  }
  const handler = createMcpHttp(toolbox, {
    version: readVersion(),
    access,
    shared: sessions,
    approvals: {
      store: toolbox.state.sharedApprovals,
      settings: () => toolbox.state.configuration().settings.approvals,
    },
    notices: (identity) => [...toNotices(toolbox), ...toLoginNotices(toolbox, pages, identity)],
    pages: { path: LOGIN_PATH, answer: pages.answer },
    metrics: async () => toPrometheus(await toolbox.state.telemetry.readMetrics()),
    isReady: async () => isConfigured(toolbox) && (await (front?.isReady() ?? true)),
    onError: (error) => toolbox.machine.world.debug(`protocol: ${error.message}`),
  });
  // Not needed over stdio.
  const { createServer } = await import('node:http');
  const server = createServer(
    {
      headersTimeout: 60_000,
      requestTimeout: 300_000,
      // How often the first two are checked.
      connectionsCheckingInterval: 2000,
      maxHeaderSize: 16 * 1024,
    },
    handler.listener,
  );
  server.maxConnections = 1024;
  limitConnections(server);
  const { port } = await listen(server, access);
  if (isLoopback(access.host)) place.origin ??= `http://${access.host}:${port}`;
  await announce(terminal, toolbox, access.host, port);
  const page = call.flags.has('ui') ? await (await import('../page.js')).openPage(call, toolbox, 0) : undefined;
  if (page !== undefined) terminal.out(`${page.url}\n`);
  const unwatch = reportReloads(call, toolbox, 'tokens and configuration are', () => access.tokens?.());
  await untilAborted(signal);
  unwatch();
  page?.close();
  if (call.stoppedBy() === 'SIGTERM') {
    if (running() > 0)
      terminal.err(`  waiting for ${count(running(), 'call')} to end; another signal ends the server at once\n`);
    await drain(server, running, () => handler.abandonQuestions());
  }
  // Calls that still run are cancelled, and answered with an error.
  await toolbox.close();
  await handler.close();
  server.closeAllConnections();
  server.close();
  return 0;
}

// No new connections; the calls that run are answered (SRV-97, FLT-16).
async function drain(server: Server, running: () => number, abandonQuestions: () => void): Promise<void> {
  let isClosed = false;
  server.close(() => {
    isClosed = true;
  });
  // A client that sends request after request would keep its connection open.
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false;
  });
  let idle = 0;
  // Calls go on whose client has left, and tasks, which have no connection.
  while (running() > 0 || (!isClosed && idle < STREAMS_MS)) {
    server.closeIdleConnections();
    await pause(POLL_MS);
    if (isClosed) abandonQuestions();
    idle = running() === 0 ? idle + POLL_MS : 0;
  }
}

function countCalls(toolbox: NodeToolbox): () => number {
  let running = 0;
  toolbox.on(({ type, depth }) => {
    if (depth === 0 && type !== 'progress') running += type === 'start' ? 1 : -1;
  });
  return () => running;
}

async function announce(terminal: Terminal, toolbox: NodeToolbox, host: string, port: number): Promise<void> {
  // `knownOnly`: starting this server must not start others (UPS-3).
  const tools = await toolbox.list({ caller: CALLERS.mcp, knownOnly: true });
  terminal.out(`http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}${MCP_PATH}\n`);
  terminal.err(
    `  serving ${count(tools.length, 'tool')} of ${spellOut(toolbox.workspace.workdir)}; press Ctrl-C to stop\n`,
  );
  if (!toolbox.workspace.trusted && tools.some(needsTrust))
    terminal.err(`  ${describeDistrust(toolbox)}: models cannot call its tools until you run wield trust\n`);
}

// The path is that of the endpoint, as clients see it.
function parsePublicUrl(given: string | true | undefined): URL | undefined {
  if (given === undefined) return undefined;
  const url = URL.canParse(String(given)) ? new URL(String(given)) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url !== undefined && isSafe && url.username === '' && url.search === '' && url.hash === '') return url;
  throw usageError(
    `--public-url "${sanitize(String(given))}" is not an https address without a query`,
    'write the address that clients use, for example https://wield.example.com/mcp',
  );
}
