// Follows the calls of all processes while the page looks: finished ones in the audit log, running ones, approvals.

import { join } from 'node:path';
import { createAuditReader } from '../../audit/read.js';
import type { AuditRecord } from '../../audit/record.js';
import { readRunning } from '../../audit/running.js';
import type { CallRow, LiveCalls, PageEvent, RunningRow } from '../api.js';
import type { PageParts } from './parts.js';
import { createLedger, type Ledger } from './tokens.js';

export interface Live {
  /** Reads what is new, and returns the newest calls. */
  read(): Promise<LiveCalls>;
  /** Calls the listener with what is new until the returned function is called. */
  follow(listener: (event: PageEvent) => void): () => void;
  /** What the calls of this workdir cost. */
  readonly ledger: Ledger;
}

const MAX_ROWS = 500;
const POLL_MS = 300;

export function createLive(parts: PageParts): Live {
  const { toolbox } = parts;
  const runningDirectory = join(toolbox.machine.wieldHome, 'running');
  const ids = createIds();
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
    const approvals = await (await toolbox.state.sharedApprovals()).list();
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
    async read() {
      await readCalls();
      return { calls: log.rows(), running };
    },
    follow(listener) {
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
  let rows: CallRow[] = [];
  let reading: Promise<void> | undefined;
  const add = (record: AuditRecord): void => {
    const recorded = record.pid === process.pid && recording.has(record.call) ? { recorded: record.call } : {};
    const row = { ...toRow(record, ids), ...recorded };
    ids.finish(record);
    rows.push(row);
    if (rows.length > 2 * MAX_ROWS) rows = rows.slice(-MAX_ROWS);
    take(row, record);
  };
  return {
    rows: (): readonly CallRow[] => rows.slice(-MAX_ROWS),
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
  const { durationMs, inputBytes, outputBytes, sandbox, workdir } = record;
  return {
    id: ids.of(pid, call),
    parent: parent === null ? null : ids.of(pid, parent),
    ...{ pid, time, tool, caller, kind, door, verdict, rule, reason, approval, code },
    ...{ durationMs, inputBytes, outputBytes, sandbox, workdir },
  };
}
