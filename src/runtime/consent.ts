// Requests consent to a call: uses a stored approval, or asks (POL-6).

import {
  type ApprovalAnswer,
  type ApprovalChanges,
  type ApprovalRecord,
  type ApprovalRequest,
  type Approvals,
  type Approve,
  approveCommand,
  type Consent,
  type ConsentWay,
  type StoredConsent,
  wayOf,
} from '../core/approval.js';
import { guardListener, onAbort, pauseUnlessAborted } from '../core/async.js';
import type { Verdict } from '../core/caller.js';
import { isToolError, ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { ToolResult } from '../core/result.js';
import type { Snapshot } from '../core/snapshot.js';
import { cancelled } from '../core/time-limit.js';
import { mayAnswer } from '../policy/approvers.js';
import { idOf, toRecord } from '../policy/binding.js';
import type { CallParts } from './parts.js';
import type { Call } from './scope.js';

type Debug = (message: string) => void;

type ConsentParts = Pick<CallParts, 'consents' | 'executors' | 'workspace'>;

/** A call that a person is asked about. */
type AskingCall = Pick<Call, 'caller' | 'options' | 'snapshot'> & { readonly plan: Plan; readonly verdict: Verdict };

// What consent to a call is bound to, and who is asked.
async function bind({ consents, executors, workspace: { world } }: ConsentParts, call: AskingCall) {
  const { plan, verdict, snapshot } = call;
  const { caller, approve } = whoAsks(call, consents.isInsideCall());
  const { workdir, secrets } = snapshot;
  const programs = (await executors.of(plan.tool).programs?.(plan as never, snapshot)) ?? [];
  const key = consents.approvals?.key() ?? '';
  const bound = toRecord({ plan, caller, verdict, workdir, programs, key, secrets, now: world.now() });
  return { bound, caller, approve };
}

/** Returns the verdict on a call with what a person has decided about it before, which is not used up. */
export async function withDecision(parts: ConsentParts, call: AskingCall): Promise<Verdict> {
  const { verdict } = call;
  if (verdict.verdict !== 'ask') return verdict;
  const { bound, approve } = await bind(parts, call);
  const decided = await parts.consents.approvals?.decisionOn(bound);
  if (decided === 'approved')
    return { ...verdict, verdict: 'allow', reason: `${verdict.reason}; a person approved it` };
  // A client that can ask is asked again.
  if (decided !== 'denied' || approve !== undefined) return verdict;
  return { ...verdict, verdict: 'deny', reason: `${verdict.reason}; a person denied it` };
}

/** Returns how consent to a call was given. Throws `denied`, `needs_approval` or `cancelled` if it was not. */
export async function requestConsent(parts: ConsentParts, call: Call): Promise<Consent> {
  const {
    consents: { approvals },
    workspace: { world },
  } = parts;
  const { snapshot, nesting, options } = call;
  const { signal } = call.controller;
  const plan = call.plan!;
  const verdict = call.verdict!;
  const { tool } = plan;
  const { approvers } = snapshot.settings.approvals;
  // Checked first, so that a stored approval is not used up for nothing.
  if (signal.aborted) throw cancelled(tool.name, ' before it ran');
  const { bound, caller, approve } = await bind(parts, { ...call, plan, verdict });
  const decided = (how: ConsentWay, at = new Date(world.now()).toISOString(), user?: string): void => {
    call.decision = { by: how === 'code' ? 'code' : 'person', how, at, ...(user === undefined ? {} : { user }) };
  };
  const id = idOf(bound);
  const given = await approvals?.take(bound);
  if (given !== undefined) {
    const { at, ...consent } = given;
    decided(given.by, at, given.approvedBy);
    return consent;
  }
  call.decision = { by: 'nobody', how: null, at: null };
  const changes = verdict.changes
    ? { since: null, lines: verdict.changes, programs: [] }
    : await approvals?.changes(bound);
  const reason = explain(verdict.reason, changes);
  const record = { ...bound, reason: explain(bound.reason, changes) };
  const needsApproval = (hint: string, command?: string): ToolError =>
    new ToolError('needs_approval', `${tool.name} needs approval: ${reason}`, {
      hint,
      data: {
        id,
        rule: verdict.rule,
        reason,
        ...(command === undefined ? {} : { command }),
        ...(verdict.changes ? { changes: verdict.changes } : {}),
      },
    });

  if (nesting.deferApproval === true) throw needsApproval('the program that makes the call is suspended for it');
  if (approve !== undefined) {
    const { planDigest } = record;
    const request = { id, tool, plan, caller, verdict, planDigest, depth: nesting.depth, record, signal };
    const answer = await ask(approve, { ...request, changes }, world.debug);
    const how = wayOf(approve);
    // IDN-9: the user of a client answers for themselves.
    const user = how === 'mcp' ? caller.user : undefined;
    if (['deny', 'once', 'always'].includes(answer)) decided(how, undefined, user);
    if (answer === 'deny') throw refusal(tool.name, 'the user declined');
    if (answer === 'cancel') throw refusal(tool.name, 'the question was closed without an answer');
    if (answer === 'later') throw needsApproval('answer the question, then repeat the call');
    if (answer === 'once' || answer === 'always') {
      if (answer === 'always') await approvals?.always(record);
      else await remember(approvals, record, world.debug);
      return { id, by: how, ...(user === undefined ? {} : { approvedBy: user }) };
    }
  }
  if (approvals === undefined) throw needsApproval('pass `approve` to the call');
  const flag = flagOf(approvals, snapshot);
  const command = approveCommand(id, flag);
  const onPending = options.onPending && guardListener(options.onPending, world.debug);
  try {
    await approvals.ask(record, flag);
    if (onPending !== undefined) {
      onPending(command);
      const { at, ...consent } = await waitForConsent(approvals, record, { flag, signal });
      onPending();
      decided(consent.by, at, consent.approvedBy);
      return consent;
    }
  } catch (error) {
    if (isToolError(error) && error.code === 'denied')
      decided('record', String(error.data?.at), error.data?.by as string | undefined);
    throw error;
  }
  const who = approvers.length === 0 ? 'a person' : 'an approver';
  throw needsApproval(`${who} can approve it with: ${command}; then repeat the same call`, command);
}

// What a command about an approval needs besides its id.
function flagOf({ flag }: Approvals, { settings }: Snapshot): string {
  return flag ?? (settings.approvals.approvers.length === 0 ? '' : ' --server URL');
}

/** Returns the command that approves the calls that a program waits for. */
export function approveProgram(approvals: Approvals, { ids }: Suspension, snapshot: Snapshot): string {
  const more = ids.length > 1 ? ' --all-like-this' : '';
  return approveCommand(ids[0]!, `${flagOf(approvals, snapshot)}${more}`);
}

const MAX_PROGRAMS = 6;

// POL-25: an approval of the same tool may not be valid because of what it would run.
function explain(reason: string, changes: ApprovalChanges | undefined): string {
  const { programs = [] } = changes ?? {};
  if (programs.length === 0) return reason;
  const shown = programs.slice(0, MAX_PROGRAMS).map((line) => line.replace(/ sha256 ([0-9a-f]{12})[0-9a-f]*$/, ' $1'));
  const more = programs.length > MAX_PROGRAMS ? [`${programs.length - MAX_PROGRAMS} more`] : [];
  return `${reason}; what it runs changed since it was approved: ${[...shown, ...more].join(', ')}`;
}

// A client, a terminal or a function of a program that a tool started is no person, and its calls are not those of one:
// approvals of others are not for it. `--yes` explains itself (POL-23).
function whoAsks({ caller, options: { approve }, snapshot }: Omit<AskingCall, 'plan'>, isInsideCall: boolean) {
  // IDN-9: only approvers answer in their client, and with `four-eyes` nobody about their own calls.
  const isBarred = approve !== undefined && wayOf(approve) === 'mcp' && !mayAnswer(caller, snapshot.settings.approvals);
  if (!isInsideCall) return { caller, approve: isBarred ? undefined : approve };
  const isFlag = approve !== undefined && wayOf(approve) === 'yes';
  return { caller: { ...caller, name: 'tool' }, approve: isFlag ? approve : undefined };
}

const POLL_MS = 500;

// Throws `denied` if a person refuses. A question that expired is asked again.
async function waitForConsent(
  approvals: Approvals,
  record: ApprovalRecord,
  { flag, signal }: { readonly flag: string; readonly signal: AbortSignal },
): Promise<StoredConsent> {
  for (;;) {
    await pauseUnlessAborted(POLL_MS, signal);
    if (signal.aborted) throw cancelled(record.tool, ' before it ran');
    const given = await approvals.take(record);
    if (given !== undefined) return given;
    await approvals.ask(record, flag);
  }
}

// Races the question against cancellation of the call.
async function ask(approve: Approve, request: ApprovalRequest, debug: Debug): Promise<ApprovalAnswer> {
  const { signal } = request;
  let release = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    release = onAbort(signal, () => reject(cancelled(request.tool.name, ' before it ran')));
  });
  try {
    return await Promise.race([aborted, approve(request)]);
  } catch (error) {
    if (isToolError(error)) throw error;
    debug(`could not ask for approval of ${request.tool.name}: ${String(error)}`);
    return 'unable';
  } finally {
    release();
  }
}

// Only used to show later what changed, so a failed write does not undo the consent.
async function remember(approvals: Approvals | undefined, record: ApprovalRecord, debug: Debug): Promise<void> {
  try {
    await approvals?.remember(record);
  } catch (error) {
    debug(`could not store the approved call of ${record.tool}: ${(error as Error).message}`);
  }
}

function refusal(tool: string, why: string): ToolError {
  return new ToolError('denied', `${tool} was not run: ${why}`, {
    hint: 'do not repeat the call; ask the user what to do instead',
  });
}

/** A program that waits for approvals (COD-10). */
export interface Suspension {
  /** The input of `run_code` that resumes it. */
  readonly resume: string;
  /** The approvals that it waits for. */
  readonly ids: readonly string[];
}

/** Returns how the result of a suspended program is continued; undefined for all other results. */
export function findSuspension({ error }: ToolResult): Suspension | undefined {
  const { resume, approvals } = error?.data ?? {};
  if (error?.code !== 'needs_approval' || typeof resume !== 'string' || !Array.isArray(approvals)) return undefined;
  const ids = approvals.flatMap((one) => (isRecord(one) && typeof one.id === 'string' ? [one.id] : []));
  return ids.length === 0 ? undefined : { resume, ids };
}

/** Resolves when a person has decided about one of the approvals, or the call is cancelled. */
export async function untilDecided(approvals: Approvals, ids: readonly string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const pending = await Promise.all(ids.map((id) => approvals.isPending(id)));
    if (pending.includes(false)) return;
    await pauseUnlessAborted(POLL_MS, signal);
  }
}
