// `wield approvals sessions` and `clear`: shows what sessions have read, and forgets it.

import { assertPerson } from '../../core/caller.js';
import { describeLabel, type LabelAdmin } from '../../core/label.js';
import { spellOut } from '../../core/text.js';
import { unknownSession } from '../../policy/session-labels.js';
import { usesFleet } from '../fleet.js';
import { printJson, report } from '../print.js';
import { usageError, type VerbCall } from '../verb.js';

/** Lists the sessions that labels entered; clears those of the one with this id. */
export async function onLabels(call: VerbCall, id: string | undefined): Promise<number> {
  if (call.flags.has('server'))
    throw usageError('--server has no sessions', 'run wield approvals sessions where the server runs');
  if (!usesFleet(call)) return act(call, call.toolbox().state.labels, id);
  const { useLabels } = await import('../fleet-state.js');
  return useLabels(call, (labels) => act(call, labels, id));
}

async function act(call: VerbCall, labels: LabelAdmin, id: string | undefined): Promise<number> {
  return id === undefined ? list(call, labels) : clear(call, labels, id);
}

async function list({ terminal, json }: VerbCall, labels: LabelAdmin): Promise<number> {
  const sessions = await labels.list();
  if (json) return printJson(terminal, { ok: true, sessions });
  if (sessions.length === 0) terminal.out('No session has read anything with a label.\n');
  for (const { id, of, labels } of sessions) {
    terminal.out(`  ${id}  ${spellOut(of.replace(/^\w+ /, ''))}\n`);
    for (const label of labels) terminal.out(`  ${' '.repeat(id.length)}  ${describeLabel(label)}\n`);
  }
  if (sessions.length > 0) terminal.out('\n  wield approvals clear ID forgets what a session has read.\n');
  return 0;
}

async function clear(call: VerbCall, labels: LabelAdmin, id: string): Promise<number> {
  if (call.dryRun) {
    const found = (await labels.list()).find((session) => session.id === id);
    if (found === undefined) throw unknownSession(id);
    return report(call, { dryRun: true, session: found }, `  would clear  ${id}\n`);
  }
  // FLW-8: else what a session has read would decide about itself.
  assertPerson(call.toolbox().machine.insideCall, 'clearing what a session has read');
  await labels.clear(id);
  return report(call, { cleared: id }, `  cleared  ${id}\n`);
}
