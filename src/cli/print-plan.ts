// Prints a plan and its verdict: `wield call --dry-run`.

import type { Verdict } from '../core/caller.js';
import { describePlan, type Plan } from '../core/plan.js';
import { sanitize } from '../core/text.js';
import { planRows } from '../ui/plan-text.js';
import { printJson } from './print.js';
import type { Terminal } from './terminal.js';

export function printPlan(
  terminal: Terminal,
  { plan, verdict }: { readonly plan: Plan; readonly verdict: Verdict },
  json: boolean,
): void {
  if (json) {
    printJson(terminal, { ok: true, plan: describePlan(plan), verdict });
    return;
  }
  const { source } = verdict;
  const where = source === undefined ? '' : `  (${source.file}:${source.line})`;
  const policy = `${verdict.verdict.padEnd(8)} ${verdict.reason}${where}`;
  for (const [name, value] of [...planRows(plan), ['policy', policy] as const])
    terminal.out(`  ${name.padEnd(11)} ${sanitize(value)}\n`);
}
