// `wield audit --stats`: calls, refusals, durations and tokens by tool and by user.

import type { AuditRecord } from '../audit/line.js';
import { type CallStats, CallSums, SumsByName } from '../audit/stats.js';
import { compareText, formatDuration, quoteOutside } from '../core/text.js';
import { printJson } from './print.js';
import { printTable } from './table.js';
import type { VerbCall } from './verb.js';

export function createAuditStats() {
  const all = new CallSums();
  const tools = new SumsByName();
  const users = new SumsByName();
  return {
    add(record: AuditRecord): void {
      all.add(record);
      tools.add(`${record.tool}`, record);
      // Nested calls are part of the outer one, which the user made.
      if (record.depth === 0) users.add(`${record.user ?? record.caller}`, record);
    },
    print({ json, terminal }: VerbCall, skipped: number): void {
      const byCalls = ([a, left]: Named, [b, right]: Named): number => right.calls - left.calls || compareText(a, b);
      const [byTool, byUser] = [tools, users].map((sums) => sums.read().sort(byCalls)) as [Named[], Named[]];
      const total = all.read();
      if (json) {
        const toRows = (named: Named[]) => named.map(([name, stats]) => ({ name, ...stats }));
        printJson(terminal, { ok: true, total, tools: toRows(byTool), users: toRows(byUser), skipped });
        return;
      }
      if (total.calls === 0) {
        terminal.out('No matching calls.\n');
        return;
      }
      printTable(terminal, ['TOOL', ...COLUMNS], [...byTool.map(toRow), toRow(['total', total])]);
      terminal.out('\n');
      printTable(terminal, ['USER', ...COLUMNS], byUser.map(toRow));
    },
  };
}

type Named = [string, CallStats];

const COLUMNS = ['CALLS', 'REFUSED', 'FAILED', 'P50', 'P99', 'TOKENS IN', 'OUT'];

// Names come from a file that may contain anything (ERR-5).
function toRow([name, { calls, refused, failed, p50Ms, p99Ms, inputTokens, resultTokens }]: Named): string[] {
  const time = (ms: number | null): string => (ms === null ? '-' : formatDuration(ms));
  const numbers = [calls, refused, failed, time(p50Ms), time(p99Ms), inputTokens, resultTokens];
  return [quoteOutside(name, 60), ...numbers.map(String)];
}
