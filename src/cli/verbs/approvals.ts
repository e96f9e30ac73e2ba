// `wield approvals`: lists, approves and denies pending calls, takes approvals back, and clears what sessions have read.

import { assertPerson } from '../../core/caller.js';
import { ToolError } from '../../core/error.js';
import { describeLabel, type LabelAdmin } from '../../core/label.js';
import { count, quoteOutside, quoteWord, spellOut } from '../../core/text.js';
import type { Approval, ApprovalAdmin, SuspendedProgram } from '../../node.js';
import { toApprovalJson } from '../../policy/approval-json.js';
import { approvalRows } from '../../policy/approval-text.js';
import { unknownSession } from '../../policy/session-labels.js';
import { ASKS } from '../consent.js';
import { FLEET, usesFleet } from '../fleet.js';
import { printJson, report } from '../print.js';
import { openRemoteApprovals } from '../remote-approvals.js';
import { printTable } from '../table.js';
import { option, toggle, unknownChoice, usageError, type Verb, type VerbCall } from '../verb.js';

const ACTIONS = ['list', 'show', 'approve', 'deny', 'revoke', 'sessions', 'clear'];
const WITHOUT_ID = ['list', 'sessions'];
// The flags of one action.
const FLAG_OF = { 'all-like-this': 'approve', always: 'approve', reason: 'deny' };

export const approvals: Verb = {
  usage:
    'approvals [list | show ID | approve ID [--all-like-this | --always] | deny ID [--reason TEXT] | revoke ID] [--dry-run]\n  wield approvals sessions | clear ID',
  summary: 'List the calls that wait for your approval and what you approved; approve, deny or take back.',
  examples: [
    'wield approvals',
    'wield approvals show 3f9a1c0be2d47788',
    'wield approvals approve 3f9a1c0be2d47788',
    'wield approvals deny 3f9a1c0be2d47788',
    'wield approvals revoke 3f9a1c0be2d47788',
    'wield approvals sessions',
    'wield approvals clear 91ab33c5d0e6f702',
    'wield approvals --server https://wield.example.com/mcp --token-file ~/tokens/ada',
  ],
  flags: {
    fleet: FLEET,
    server: option('URL', 'Calls of another server, where you are logged in and an approver'),
    'token-file': option('FILE', 'With --server: the file with your token (or set WIELD_TOKEN)'),
    'all-like-this': toggle('With approve: all calls of this tool that the same suspended program waits for'),
    reason: option('TEXT', 'With deny: told to the caller'),
    always: toggle('With approve: also approve later calls of this version of the tool, with any input'),
    // Does not ask: the answer is itself a confirmation, and taking back narrows (CLI-31).
    ...ASKS,
  },
  positionals: 2,
  completes: ACTIONS,
  async run(call) {
    const [action = 'list', id] = call.positionals;
    if (!ACTIONS.includes(action)) throw unknownChoice('action', action, ACTIONS, 'wield approvals');
    if (WITHOUT_ID.includes(action) && id !== undefined)
      throw usageError(
        `wield approvals ${action} takes no id`,
        `wield approvals show ${quoteOutside(id, 40)} shows one`,
      );
    for (const [flag, of] of Object.entries(FLAG_OF))
      if (call.flags.has(flag) && action !== of)
        throw usageError(`--${flag} is of wield approvals ${of}`, 'leave it out');
    if (call.flags.has('all-like-this') && call.flags.has('always'))
      throw usageError('--all-like-this and --always cannot be combined', 'leave out one of them');
    const isAboutSessions = action === 'sessions' || action === 'clear';
    const lists = isAboutSessions ? 'sessions' : 'list';
    if (!WITHOUT_ID.includes(action) && id === undefined) {
      throw usageError(
        `missing id; usage: wield approvals ${action} <id>`,
        `wield approvals ${lists}${flagsOf(call)} shows the ids`,
      );
    }
    if (isAboutSessions) return onLabels(call, action === 'clear' ? id : undefined);
    if (call.flags.has('server')) return act(call, openRemoteApprovals(call), action, id);
    if (!usesFleet(call)) return act(call, call.toolbox().state.approvals, action, id);
    const { useApprovals } = await import('../fleet-state.js');
    return useApprovals(call, (store) => act(call, store, action, id));
  },
};

async function act(call: VerbCall, store: ApprovalAdmin, action: string, given: string | undefined): Promise<number> {
  const { state: held, machine } = call.toolbox();
  const id = given!;
  // Programs wait on their own machine.
  const programs = usesFleet(call) || call.flags.has('server') ? [] : held.programs.list();
  if (action === 'list') return list(call, store, programs);
  if (action === 'show') {
    const approval = await store.find(id);
    return report(call, { approval: toApprovalJson(approval) }, formatApproval(store, approval));
  }
  if (action === 'revoke') assertStanding(call, await store.find(id));
  if (call.dryRun) {
    const approval = await store.find(id);
    const text = `  would ${action}\n${formatApproval(store, approval)}`;
    return report(call, { dryRun: true, approval: toApprovalJson(approval) }, text);
  }
  assertPerson(machine.insideCall, WHAT[action]!);
  if (action === 'approve' && call.flags.has('all-like-this'))
    return approveAll(call, store, findAlike(await store.find(id), programs));
  if (action === 'approve') return printOutcome(call, store, await store.approve(id, call.flags.has('always')));
  const { state } = await store.find(id);
  const reason = call.flags.get('reason');
  const denied = await store.deny(id, typeof reason === 'string' ? reason : undefined);
  return printOutcome(call, store, denied, state === 'standing' ? 'revoked' : undefined);
}

// What names the same approvals in another command.
function flagsOf({ flags }: VerbCall): string {
  const given = ['server', 'token-file'].flatMap((name) => {
    const value = flags.get(name);
    return typeof value === 'string' ? [` --${name} ${quoteWord(value)}`] : [];
  });
  // Its address may contain a password.
  return [...(flags.has('fleet') ? [' --fleet URL'] : []), ...given].join('');
}

const WHAT: Readonly<Record<string, string>> = { approve: 'approving', deny: 'refusing', revoke: 'revoking' };

function assertStanding(call: VerbCall, { id, state }: Approval): void {
  if (state === 'standing') return;
  throw new ToolError('conflict', `${id} is ${state}, and not a standing approval`, {
    hint: `wield approvals deny ${id}${flagsOf(call)} denies the call`,
  });
}

async function list(call: VerbCall, store: ApprovalAdmin, programs: readonly SuspendedProgram[]): Promise<number> {
  const { terminal, json } = call;
  const found = await store.list();
  if (json) return printJson(terminal, { ok: true, approvals: found.map(toApprovalJson) });
  if (found.length === 0) terminal.out('No pending approvals.\n');
  else {
    // COD-13: the calls of a program are one row, with the id of the first.
    const alike = (approval: Approval): readonly string[] => findAlike(approval, programs);
    const isFirst = (approval: Approval): boolean =>
      approval.state !== 'pending' || found.find(({ id }) => alike(approval).includes(id))?.id === approval.id;
    const rows = found
      .filter(isFirst)
      .map((approval) => [
        approval.id,
        approval.state,
        spellOut(approval.record.tool),
        spellOut(approval.record.principal.replace(/^\w+ /, '')),
        untilText(store, approval),
        describeInput(approval, alike(approval).length),
      ]);
    printTable(terminal, ['ID', 'STATE', 'TOOL', 'CALLER', 'UNTIL', 'INPUT'], rows);
    if (found.some(({ state }) => state === 'standing'))
      terminal.out(`\n  wield approvals revoke ID${flagsOf(call)} takes back a standing approval.\n`);
  }
  return 0;
}

function describeInput({ state, record }: Approval, calls: number): string {
  if (state === 'standing') return 'any input';
  const input = quoteOutside(JSON.stringify(record.input), 60);
  return state === 'pending' && calls > 1 ? `${calls} calls of one program; first: ${input}` : input;
}

// The pending calls of the same tool that the same program waits for, or the call alone.
function findAlike({ id, record }: Approval, programs: readonly SuspendedProgram[]): readonly string[] {
  const program = programs.find(({ waiting }) => waiting.some(({ approval }) => approval === id));
  const { tool } = program?.waiting.find(({ approval }) => approval === id) ?? { tool: record.tool };
  const alike = (program?.waiting ?? []).flatMap((call) => (call.tool === tool ? (call.approval ?? []) : []));
  return alike.length === 0 ? [id] : [...new Set(alike)];
}

async function approveAll(call: VerbCall, store: ApprovalAdmin, ids: readonly string[]): Promise<number> {
  const pending = new Set((await store.list()).map(({ id }) => id));
  const approved: Approval[] = [];
  for (const id of ids) if (pending.has(id)) approved.push(await store.approve(id, false));
  const text = `  approved ${count(approved.length, 'call')}; the program goes on when it is resumed\n`;
  return report(call, { approvals: approved.map(toApprovalJson) }, text);
}

function printOutcome(
  call: VerbCall,
  store: ApprovalAdmin,
  approval: Approval,
  state: string = approval.state,
): number {
  const next: Readonly<Record<string, string>> = {
    approved: '  The next call with exactly this input runs once.\n',
    standing: `  wield approvals revoke ${approval.id}${flagsOf(call)} takes it back.\n`,
  };
  const text = formatApproval(store, approval, state) + (next[state] ?? '');
  return report(call, { approval: { ...toApprovalJson(approval), state } }, text);
}

function formatApproval(store: ApprovalAdmin, approval: Approval, state: string = approval.state): string {
  const { id, record } = approval;
  const rows: (readonly [string, string])[] = [
    [state, `${spellOut(record.tool)}   ${id}`],
    ...approvalRows(record, Number.POSITIVE_INFINITY).filter(
      ([label]) => approval.state !== 'standing' || label !== 'input',
    ),
    ...(approval.state === 'standing' ? [['input', 'any'] as const] : []),
    ['digest', record.toolDigest],
    ...record.programs.map((line) => ['using', spellOut(line)] as const),
    ...(record.variables.length === 0 ? [] : [['with', record.variables.join(' ')] as const]),
    ...(approval.by === undefined ? [] : [['by', spellOut(approval.by)] as const]),
    ['until', untilText(store, approval)],
  ];
  return rows.map(([label, value]) => `  ${label.padEnd(9)} ${value}\n`).join('');
}

function untilText(store: ApprovalAdmin, approval: Approval): string {
  const until = store.expiry(approval);
  return until === null ? 'revoked' : `${new Date(until).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

// Lists the sessions that labels entered, or clears those of the one with this id.
async function onLabels(call: VerbCall, id: string | undefined): Promise<number> {
  if (call.flags.has('server'))
    throw usageError('--server has no sessions', 'run wield approvals sessions where the server runs');
  const use = (labels: LabelAdmin) => (id === undefined ? listSessions(call, labels) : clearSession(call, labels, id));
  if (!usesFleet(call)) return use(call.toolbox().state.labels);
  const { useLabels } = await import('../fleet-state.js');
  return useLabels(call, use);
}

async function listSessions({ terminal, json }: VerbCall, labels: LabelAdmin): Promise<number> {
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

async function clearSession(call: VerbCall, labels: LabelAdmin, id: string): Promise<number> {
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
