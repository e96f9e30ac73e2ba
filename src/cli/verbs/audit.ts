// `wield audit`: shows and follows the audit log.

import type { AuditRecord } from '../../audit/line.js';
import { createNewest } from '../../audit/newest.js';
import { createAuditReader, parseRecord } from '../../audit/read.js';
import { type CallStats, CallSums, isRefused, SumsByName } from '../../audit/stats.js';
import { pauseUnlessAborted } from '../../core/async.js';
import { compileGlob } from '../../core/glob.js';
import { compareText, count, formatDuration, quoteOutside } from '../../core/text.js';
import { FLEET, usesFleet } from '../fleet.js';
import { printJson, printJsonLine } from '../print.js';
import { printTable } from '../table.js';
import { numberOf, option, toggle, usageError, type Verb, type VerbCall } from '../verb.js';

type Filter = (record: AuditRecord) => boolean;

// Passes on the matching records; returns how many lines could not be read.
type Read = (take: (record: AuditRecord) => void) => Promise<number>;

// The default limit without --json.
const DEFAULT_LIMIT = 100;
const POLL_MS = 300;

export const audit: Verb = {
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
    limit: option('NUMBER', 'Show only the newest NUMBER calls', {
      range: [1, Number.MAX_SAFE_INTEGER, 'for example --limit 20'],
    }),
    follow: toggle('Print new calls as they are made'),
    stats: toggle('Calls, refusals, durations and tokens by tool and user, instead of the calls'),
    verify: toggle('Verify that no line was changed; wield audit --verify --help'),
    fleet: FLEET,
  },
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
    const read: Read = async (take) => {
      const matching = (record: AuditRecord): unknown => matches(record) && take(record);
      if (fleet) return readFleetAudit(call, matching);
      reader.read(matching);
      return reader.skipped();
    };
    if (flags.has('stats')) return showStats(call, read);
    const limit = numberOf(call, 'limit') ?? (json ? Number.POSITIVE_INFINITY : DEFAULT_LIMIT);
    const records = createNewest<AuditRecord>(limit);
    let found = 0;
    const skipped = await read((record) => {
      found++;
      records.add(record);
    });
    const newest = records.list();
    const follow = flags.has('follow');
    if (json && !follow) return printJson(terminal, { ok: true, records: newest, skipped });
    if (json) for (const record of newest) printRecord(call, record);
    else {
      printRecords(call, newest);
      if (found > newest.length)
        terminal.err(`\n  showing the newest ${newest.length} of ${found}; --limit ${found} shows all\n`);
      if (skipped > 0) terminal.err(`\n  skipped ${count(skipped, 'incomplete line')}\n`);
    }
    while (follow && !call.signal.aborted) {
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
  const add = (name: string, toMatch: (text: string) => Filter): void => {
    const value = flags.get(name);
    if (value !== undefined) filters.push(toMatch(String(value)));
  };
  add('tool', (text) => {
    const glob = compileGlob(text);
    return ({ tool }) => glob.matches(`${tool}`);
  });
  add('caller', (text) => {
    const glob = compileGlob(text);
    return ({ caller, door }) => glob.matches(`${caller}`) || door === text;
  });
  add('user', (text) => {
    const glob = compileGlob(text);
    return ({ user }) => typeof user === 'string' && glob.matches(user);
  });
  add(
    'session',
    (text) =>
      ({ session }) =>
        `${session ?? ''}`.startsWith(text),
  );
  add('denied', () => isRefused);
  add('since', (text) => {
    const from = parseSince(text, now);
    return ({ time }) => Date.parse(time) >= from;
  });
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

type Named = [string, CallStats];

// Calls, refusals, durations and tokens by tool and by user.
async function showStats({ json, terminal }: VerbCall, read: Read): Promise<number> {
  const all = new CallSums();
  const [tools, users] = [new SumsByName(), new SumsByName()];
  const skipped = await read((record) => {
    all.add(record);
    tools.add(`${record.tool}`, record);
    // Nested calls are part of the outer one, which the user made.
    if (record.depth === 0) users.add(`${record.user ?? record.caller}`, record);
  });
  const byCalls = ([a, left]: Named, [b, right]: Named): number => right.calls - left.calls || compareText(a, b);
  const [byTool, byUser] = [tools.read().sort(byCalls), users.read().sort(byCalls)];
  const total = all.read();
  if (json) {
    const toRows = (named: Named[]) => named.map(([name, stats]) => ({ name, ...stats }));
    return printJson(terminal, { ok: true, total, tools: toRows(byTool), users: toRows(byUser), skipped });
  }
  if (total.calls === 0) {
    terminal.out('No matching calls.\n');
    return 0;
  }
  printTable(terminal, ['TOOL', ...COLUMNS], [...byTool, ['total', total] as Named].map(toStatsRow));
  terminal.out('\n');
  printTable(terminal, ['USER', ...COLUMNS], byUser.map(toStatsRow));
  return 0;
}

const COLUMNS = ['CALLS', 'REFUSED', 'FAILED', 'P50', 'P99', 'TOKENS IN', 'OUT'];

// Names come from a file that may contain anything (ERR-5).
function toStatsRow([name, { calls, refused, failed, p50Ms, p99Ms, inputTokens, resultTokens }]: Named): string[] {
  const time = (ms: number | null): string => (ms === null ? '-' : formatDuration(ms));
  const numbers = [calls, refused, failed, time(p50Ms), time(p99Ms), inputTokens, resultTokens];
  return [quoteOutside(name, 60), ...numbers.map(String)];
}
