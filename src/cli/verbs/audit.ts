// `wield audit`: shows and follows the audit log.

import type { AuditRecord } from '../../audit/line.js';
import { createNewest } from '../../audit/newest.js';
import { createAuditReader, parseRecord } from '../../audit/read.js';
import { isRefused } from '../../audit/stats.js';
import { pauseUnlessAborted } from '../../core/async.js';
import { compileGlob } from '../../core/glob.js';
import { count, formatDuration, quoteOutside } from '../../core/text.js';
import { createAuditStats } from '../audit-stats.js';
import { FLEET, usesFleet } from '../fleet.js';
import { printJson, printJsonLine } from '../print.js';
import { printTable } from '../table.js';
import { option, toggle, usageError, type Verb, type VerbCall } from '../verb.js';

type Filter = (record: AuditRecord) => boolean;

// The default limit without --json.
const DEFAULT_LIMIT = 100;
const POLL_MS = 300;

export const audit: Verb = {
  name: 'audit',
  usage:
    'audit [--tool GLOB] [--caller GLOB] [--user GLOB] [--session ID] [--denied] [--since TIME] [--follow] [--stats] [--verify] [--json]',
  summary: 'Show the audit log: calls, callers and results, newest last.',
  examples: [
    'wield audit --denied --since 1d',
    `wield audit --tool 'deploy*' --json`,
    'wield audit --follow',
    'wield audit --stats --since 1w',
  ],
  flags: {
    tool: option('GLOB', 'Only calls of these tools'),
    caller: option('GLOB', 'Only calls by these callers, such as mcp:cursor or mcp'),
    user: option('GLOB', 'Only calls of these users, of a server with users'),
    session: option('ID', 'Only calls of this session, by the start of its id'),
    denied: toggle('Only refused calls'),
    since: option('TIME', 'Only calls since then: 30m, 12h, 1d, 2w or 2026-11-15T09:00'),
    limit: option('NUMBER', 'Show only the newest NUMBER calls'),
    follow: toggle('Print new calls as they are made'),
    stats: toggle('Calls, refusals, durations and tokens by tool and user, instead of the calls'),
    verify: toggle('Verify that no line was changed; wield audit --verify --help'),
    fleet: FLEET,
  },
  positionals: 0,
  runsUntilStopped: true,
  async run(call) {
    const { flags, json, terminal } = call;
    const fleet = usesFleet(call);
    if (fleet && flags.has('follow'))
      throw usageError(
        '--follow and --fleet cannot be combined',
        'leave out --follow; the log of this machine: WIELD_FLEET= wield audit --follow',
      );
    if (flags.has('stats') && (flags.has('follow') || flags.has('limit')))
      throw usageError('--stats is of all matching calls', 'leave out --follow and --limit; --since limits them');
    const reader = createAuditReader(call.toolbox().state.audit.directory);
    const matches = toFilter(flags, terminal.io.now());
    const limit = toLimit(flags.get('limit')) ?? (json ? Number.POSITIVE_INFINITY : DEFAULT_LIMIT);
    const follow = flags.has('follow');
    const stats = flags.has('stats') ? createAuditStats() : undefined;
    const records = createNewest<AuditRecord>(limit);
    let found = 0;
    const take = (record: AuditRecord): void => {
      if (!matches(record)) return;
      stats?.add(record);
      if (stats !== undefined) return;
      found++;
      records.add(record);
    };
    const unread = fleet ? await readFleetAudit(call, take) : reader.read(take);
    const newest = records.list();
    const skipped = unread ?? reader.skipped();
    if (stats !== undefined) {
      stats.print(call, skipped);
      return 0;
    }
    if (json && !follow) printJson(terminal, { ok: true, records: newest, skipped });
    else if (json) for (const record of newest) printRecord(call, record);
    else {
      printRecords(call, newest);
      if (found > newest.length)
        terminal.err(`\n  showing the newest ${newest.length} of ${found}; --limit ${found} shows all\n`);
      if (skipped > 0) terminal.err(`\n  skipped ${count(skipped, 'incomplete line')}\n`);
    }
    if (!follow) return 0;
    while (!call.signal.aborted) {
      await pauseUnlessAborted(POLL_MS, call.signal);
      reader.read((record) => matches(record) && printRecord(call, record));
    }
    return 0;
  },
};

async function readFleetAudit(call: VerbCall, take: (record: AuditRecord) => void): Promise<number> {
  const { readAudit } = await import('../fleet-state.js');
  let partial = 0;
  const unread = await readAudit(call, (line) => {
    const record = parseRecord(line);
    if (record === undefined) partial++;
    else take(record);
  });
  return unread + partial;
}

// One JSON document per line.
function printRecord({ json, terminal, flags }: VerbCall, record: AuditRecord): void {
  if (json) printJsonLine(terminal, { record });
  else terminal.out(`  ${toRow(record, flags.has('denied')).join('  ')}\n`);
}

function printRecords({ terminal, flags }: VerbCall, records: readonly AuditRecord[]): void {
  const denied = flags.has('denied');
  if (records.length > 0) {
    const rows = records.map((record) => toRow(record, denied));
    printTable(terminal, ['TIME', 'CALLER', 'TOOL', denied ? 'WHY' : 'RESULT'], rows);
  } else if (!flags.has('follow')) {
    terminal.out(flags.size > 0 ? 'No matching calls.\n' : 'No calls recorded yet.\n');
  }
}

// The log is a file that may contain anything, so each cell is escaped (ERR-5).
function toRow(record: AuditRecord, denied: boolean): string[] {
  const { time, caller, user, tool, code, rule, reason, verdict, sandbox } = record;
  const isStopped = verdict === 'allow' && code === 'denied' && sandbox !== null;
  const why = isStopped ? `stopped by its sandbox (${sandbox})` : `${rule ?? reason ?? code ?? ''}`;
  const result = record.interrupted
    ? 'interrupted'
    : code === null
      ? `ok, ${formatDuration(Number(record.durationMs))}`
      : `${code}`;
  const shown = denied ? why : isRefused(record) && why !== '' ? `${result}: ${why}` : result;
  return [formatTime(`${time}`), user === undefined ? `${caller}` : `${user} (${caller})`, `${tool}`, shown].map(
    (cell) => quoteOutside(cell, 80),
  );
}

function formatTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const pad = (number: number): string => String(number).padStart(2, '0');
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(pad).join(':');
  const today = new Date().toDateString() === time.toDateString();
  return today ? clock : `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} ${clock}`;
}

function toFilter(flags: VerbCall['flags'], now: number): Filter {
  const filters: Filter[] = [];
  const tool = flags.get('tool');
  if (tool !== undefined) {
    const glob = compileGlob(String(tool));
    filters.push((record) => glob.matches(`${record.tool}`));
  }
  const caller = flags.get('caller');
  if (caller !== undefined) {
    const glob = compileGlob(String(caller));
    filters.push((record) => glob.matches(`${record.caller}`) || record.door === caller);
  }
  const user = flags.get('user');
  if (user !== undefined) {
    const glob = compileGlob(String(user));
    filters.push((record) => typeof record.user === 'string' && glob.matches(record.user));
  }
  const session = flags.get('session');
  if (session !== undefined) filters.push((record) => `${record.session ?? ''}`.startsWith(String(session)));
  if (flags.has('denied')) filters.push(isRefused);
  const since = flags.get('since');
  if (since !== undefined) {
    const from = parseSince(String(since), now);
    filters.push((record) => Date.parse(record.time) >= from);
  }
  return (record) => filters.every((matches) => matches(record));
}

const AGO: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

function parseSince(text: string, now: number): number {
  const ago = /^(\d{1,9})([smhdw])$/.exec(text);
  if (ago) return now - Number(ago[1]) * AGO[ago[2]!]!;
  // A date alone would be midnight in UTC; the times shown are those of this place.
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text.length === 10 ? `${text}T00:00` : text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw usageError(
    `--since "${quoteOutside(text, 40)}" is not a time`,
    'write a duration such as 30m, 12h, 1d or 2w, or a date such as 2026-11-15 or 2026-11-15T09:00',
  );
}

function toLimit(value: string | true | undefined): number | undefined {
  if (value === undefined) return undefined;
  const limit = /^\d{1,9}$/.test(String(value)) ? Number(value) : 0;
  if (limit > 0) return limit;
  throw usageError(`--limit "${quoteOutside(String(value), 40)}" is not a positive number`, 'for example --limit 20');
}
