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

function createLive({ toolbox, recording }: PageParts) {
  const { machine, workspace, state } = toolbox;
  const reader = createAuditReader(state.audit.directory);
  const own = createNewest<CallRow>(MAX_ROWS);
  const others = createNewest<CallRow>(MAX_ROWS);
  // What the calls of this workdir cost.
  const ledger = createLedger();
  const listeners = new Set<(event: PageEvent) => void>();
  // What was announced last, by type; the servers only once they are known.
  const announced = new Map([
    ['running', '[]'],
    ['approvals', '[]'],
  ]);
  let running: readonly RunningRow[] = [];
  let reading: Promise<void> | undefined;
  let isPolling = false;

  const announce = (event: PageEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const announceNew = (event: PageEvent, value: unknown): void => {
    const now = JSON.stringify(value);
    const before = announced.get(event.type);
    announced.set(event.type, now);
    if (before !== undefined && before !== now) announce(event);
  };
  const add = (record: AuditRecord): void => {
    const isRecorded = record.pid === process.pid && recording.has(record.call);
    const call: CallRow = { ...toRow(record), recorded: isRecorded ? record.call : undefined };
    const isOwn = record.workdir === workspace.workdir;
    (isOwn ? own : others).add(call);
    if (isOwn) ledger.add(record);
    announce({ type: 'call', call });
  };
  const readCalls = async (): Promise<void> => {
    // UI-26: the log may be large, and requests are answered while it is read.
    reading ??= reader.readInTurns(add).finally(() => {
      reading = undefined;
    });
    await reading;
    running = readRunning(join(machine.wieldHome, 'running')).map(({ started, ...call }) => ({
      ...call,
      ...toIds({ ...call, since: started }),
    }));
    announceNew({ type: 'running', running }, running);
  };
  const poll = async (): Promise<void> => {
    try {
      await readCalls();
      const waiting = (await state.sharedApprovals.list()).filter((approval) => approval.state === 'pending');
      const ids = waiting.map(({ id }) => id);
      announceNew({ type: 'approvals', pending: ids.length }, ids);
      const { upstreams } = state;
      const servers = upstreams.states().map(async (one) => [one.state, await upstreams.connection(one.server)]);
      announceNew({ type: 'servers' }, await Promise.all(servers));
    } catch (error) {
      machine.world.debug(`page: ${String(error)}`);
    }
    isPolling = listeners.size > 0;
    if (isPolling) setTimeout(poll, POLL_MS).unref();
  };
  return {
    /** Reads what is new, and returns the newest calls. */
    async read(): Promise<LiveCalls> {
      await readCalls();
      return { calls: [...others.list(), ...own.list()], running };
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

// Processes number their calls from 1; the id of a process is used again, but by one that started later.
function toIds({ pid, since, call, parent }: Pick<AuditRecord, 'pid' | 'since' | 'call' | 'parent'>) {
  const toId = (number: string): string => `${pid}-${since}-${number}`;
  return { id: toId(call), parent: parent === null ? null : toId(parent) };
}

function toRow(record: AuditRecord): CallRow {
  const { pid, time, tool, caller, kind, door, verdict, rule, reason, approval, code } = record;
  const { durationMs, inputBytes, outputBytes, sandbox, workdir, user, session } = record;
  return {
    ...toIds(record),
    ...{ pid, time, tool, caller, kind, door, verdict, rule, reason, approval, code },
    ...{ durationMs, inputBytes, outputBytes, sandbox, workdir, user, session },
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
