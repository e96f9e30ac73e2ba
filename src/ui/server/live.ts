// Live calls of all processes while the page looks, the token ledger, what models see, and the event stream.

import { join } from 'node:path';
import type { AuditRecord } from '../../audit/line.js';
import { createNewest } from '../../audit/newest.js';
import { createAuditReader } from '../../audit/read.js';
import { readRunning } from '../../audit/running.js';
import { untilAborted } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import type { CallRow, LiveCalls, PageEvent, RunningRow, SentTool } from '../api.js';
import { callerOf, findNamed, readCatalog } from './catalog.js';
import type { PageParts } from './parts.js';
import type { Handlers } from './route.js';
import { createLedger } from './tokens.js';

// Of this workdir, and of all others (UI-80).
const MAX_ROWS = 500;
const POLL_MS = 300;

function createLive(parts: PageParts) {
  const { toolbox } = parts;
  const runningDirectory = join(toolbox.machine.wieldHome, 'running');
  const ids = createIds();
  // What the calls of this workdir cost.
  const ledger = createLedger();
  const listeners = new Set<(event: PageEvent) => void>();
  let running: readonly RunningRow[] = [];
  let pending = '';
  let servers = '';
  let isPolling = false;
  const announce = (event: PageEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const log = createLog(parts, ids, (row, record) => {
    if (record.workdir === toolbox.workspace.workdir) ledger.add(record);
    announce({ type: 'call', call: row });
  });
  const readCalls = async (): Promise<void> => {
    await log.read();
    const now = readRunning(runningDirectory).map(
      (one): RunningRow => ({
        ...one,
        id: ids.of(one.pid, one.call),
        parent: one.parent === null ? null : ids.of(one.pid, one.parent),
      }),
    );
    const isSame = JSON.stringify(now) === JSON.stringify(running);
    running = now;
    if (!isSame) announce({ type: 'running', running });
  };
  const readApprovals = async (): Promise<void> => {
    const approvals = await toolbox.state.sharedApprovals.list();
    const waiting = approvals.filter(({ state }) => state === 'pending');
    const now = waiting.map(({ id }) => id).join(' ');
    if (now !== pending) announce({ type: 'approvals', pending: waiting.length });
    pending = now;
  };
  const readServers = async (): Promise<void> => {
    const { upstreams } = toolbox.state;
    const read = upstreams.states().map(async ({ server, state }) => [state, await upstreams.connection(server)]);
    const now = JSON.stringify(await Promise.all(read));
    if (now !== servers && servers !== '') announce({ type: 'servers' });
    servers = now;
  };
  const poll = async (): Promise<void> => {
    try {
      await readCalls();
      await readApprovals();
      await readServers();
    } catch (error) {
      toolbox.machine.world.debug(`page: ${String(error)}`);
    }
    isPolling = listeners.size > 0;
    if (isPolling) setTimeout(poll, POLL_MS).unref();
  };
  return {
    /** Reads what is new, and returns the newest calls. */
    async read(): Promise<LiveCalls> {
      await readCalls();
      return { calls: log.rows(), running };
    },
    /** Calls the listener with what is new until the returned function is called. */
    follow(listener: (event: PageEvent) => void): () => void {
      listeners.add(listener);
      const unwatch = toolbox.catalog.watch(() => listener({ type: 'catalog' }));
      if (!isPolling) setTimeout(poll, POLL_MS).unref();
      isPolling = true;
      return () => {
        unwatch();
        listeners.delete(listener);
      };
    },
    ledger,
  };
}

/** The newest calls of the audit log; `take` gets each that is read. */
function createLog(
  { toolbox, recording }: PageParts,
  ids: ReturnType<typeof createIds>,
  take: (row: CallRow, record: AuditRecord) => void,
) {
  const reader = createAuditReader(toolbox.state.audit.directory);
  const { workdir } = toolbox.workspace;
  const rows = { own: createNewest<CallRow>(MAX_ROWS), others: createNewest<CallRow>(MAX_ROWS) };
  let reading: Promise<void> | undefined;
  const add = (record: AuditRecord): void => {
    const recorded = record.pid === process.pid && recording.has(record.call) ? { recorded: record.call } : {};
    const row = { ...toRow(record, ids), ...recorded };
    ids.finish(record);
    (record.workdir === workdir ? rows.own : rows.others).add(row);
    take(row, record);
  };
  return {
    rows: (): readonly CallRow[] => [...rows.others.list(), ...rows.own.list()],
    // UI-26: it may be large, and requests are answered while it is read.
    read(): Promise<void> {
      reading ??= reader.readInTurns(add).finally(() => {
        reading = undefined;
      });
      return reading;
    },
  };
}

/** Ids of calls. Processes number their calls from 1 and process ids are reused, so each has a generation. */
function createIds() {
  // Only of calls that the page may still show.
  const finished = new Map<string, number>();
  const of = (pid: number, call: string): string => `${pid}-${call}-${finished.get(`${pid}-${call}`) ?? 0}`;
  return {
    of,
    finish({ pid, call }: AuditRecord): void {
      const key = `${pid}-${call}`;
      const generation = (finished.get(key) ?? 0) + 1;
      finished.delete(key);
      finished.set(key, generation);
      if (finished.size > 10 * MAX_ROWS) finished.delete(finished.keys().next().value!);
    },
  };
}

function toRow(record: AuditRecord, ids: ReturnType<typeof createIds>): CallRow {
  const { pid, call, parent, time, tool, caller, kind, door, verdict, rule, reason, approval, code } = record;
  const { durationMs, inputBytes, outputBytes, sandbox, workdir, user, session } = record;
  return {
    id: ids.of(pid, call),
    parent: parent === null ? null : ids.of(pid, parent),
    ...{ pid, time, tool, caller, kind, door, verdict, rule, reason, approval, code },
    ...{ durationMs, inputBytes, outputBytes, sandbox, workdir },
    ...(user === undefined ? {} : { user }),
    ...(session === undefined ? {} : { session }),
  };
}

export function createLiveRoutes(parts: PageParts) {
  const { toolbox, providers } = parts;
  const live = createLive(parts);
  return {
    'GET /api/calls': () => live.read(),
    'GET /api/tokens': async () => {
      await live.read();
      // Scripts have the name of a server too, for listings.
      const servers = new Set(toolbox.state.upstreams.states().map(({ server }) => server.name));
      const sent = await providers.mcp!(toolbox);
      return live.ledger.read(sent.map((one) => (servers.has(one.server ?? '') ? one : { ...one, server: null })));
    },
    'GET /api/events': async ({ signal, send }) => {
      const end = live.follow(send);
      send({ type: 'ready' });
      await untilAborted(signal);
      end();
      return undefined;
    },
    'GET /api/tools/:name/sent/:provider': async ({ params }) => readSent(parts, params.name!, params.provider!),
  } satisfies Partial<Handlers>;
}

async function readSent(parts: PageParts, name: string, provider: string): Promise<SentTool> {
  const { toolbox, providers } = parts;
  if (!Object.hasOwn(providers, provider))
    throw new ToolError('not_found', 'unknown provider', { hint: `use one of ${Object.keys(providers).join(', ')}` });
  const { tool } = await findNamed(toolbox, name);
  const { originals } = toolbox.state.snapshot().settings.view;
  const sent = (await providers[provider]!(toolbox)).find((one) => (originals.get(one.tool) ?? one.tool) === tool.name);
  if (sent === undefined) {
    const { items } = await readCatalog(parts, callerOf('model'));
    const why = items.find((item) => item.name === name)?.why ?? 'the mode or profile does not show it to models';
    return { provider, name: null, why, text: '', description: '', schema: null, tokens: 0 };
  }
  const fields = fieldsOf(sent.sent);
  return { provider, ...fields, text: JSON.stringify(sent.sent, null, 2), tokens: sent.tokens };
}

// Providers nest and name the same three fields differently.
function fieldsOf(sent: object): Pick<SentTool, 'name' | 'description' | 'schema'> {
  const fields: Record<string, unknown> = { ...sent };
  if (isRecord(fields.function)) return fieldsOf(fields.function);
  const { name, description = '', inputSchema, input_schema, parameters } = fields;
  const schema = (inputSchema ?? input_schema ?? parameters ?? null) as Json;
  return { name: String(name), description: String(description), schema };
}
