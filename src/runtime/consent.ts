// Consent to a call that the policy wants asked for: an approval that was given, or a question (POL-6).

import type {
  ApprovalAnswer,
  ApprovalRecord,
  ApprovalRequest,
  Approvals,
  Approve,
  Consent,
} from '../core/approval.js';
import { isToolError, ToolError } from '../core/error.js';
import type { Plan } from '../core/plan.js';
import type { Caller, Verdict } from '../core/toolbox.js';
import { idOf, toRecord } from '../policy/binding.js';

/** What consent needs of the toolbox around it. */
export interface ConsentParts {
  /** Where approvals are kept, loaded when first asked for; undefined where nothing is kept. */
  readonly approvals: (() => Promise<Approvals>) | undefined;
  readonly now: () => number;
  readonly debug: (message: string) => void;
}

export interface ConsentOptions {
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly workdir: string;
  readonly caller: Caller;
  readonly depth: number;
  readonly signal: AbortSignal;
  readonly approve: Approve | undefined;
}

/** How consent was given. Throws `denied`, `needs_approval` or `cancelled` where it was not. */
export async function consent(parts: ConsentParts, options: ConsentOptions): Promise<Consent> {
  const { plan, verdict, caller, workdir, depth, signal, approve } = options;
  const approvals = await parts.approvals?.();
  // An approval is not used up for nothing.
  if (signal.aborted) throw cancelled(plan.tool.name);
  const record = toRecord({ plan, caller, verdict, workdir, now: parts.now() });
  const id = idOf(record);
  const given = approvals?.take(record);
  if (given !== undefined) return given;
  const needsApproval = (hint: string): ToolError =>
    new ToolError('needs_approval', `${plan.tool.name} needs approval: ${verdict.reason}`, {
      hint,
      data: { id, rule: verdict.rule, ...(verdict.changes ? { changes: verdict.changes } : {}) },
    });

  if (approve !== undefined) {
    const { planDigest } = record;
    const { tool } = plan;
    const changes = verdict.changes ? { since: null, lines: verdict.changes } : approvals?.changes(record);
    const request = { id, tool, plan, caller, verdict, planDigest, depth, record, signal };
    const answer = await ask(approve, changes === undefined ? request : { ...request, changes }, parts);
    if (answer === 'deny') throw refusal(tool.name);
    if (answer === 'later') throw needsApproval('answer the question, and call it again');
    if (answer === 'once' || answer === 'always') {
      if (answer === 'always') approvals?.always(record);
      else remember(parts, approvals, record);
      return { id, by: approve.by ?? 'code' };
    }
  }
  if (approvals === undefined)
    throw needsApproval('whoever assembled the toolbox must pass `approve` to the call');
  approvals.ask(record);
  throw needsApproval(
    `a person can approve it: wield approvals approve ${id}; then repeat the call as it is`,
  );
}

// Nobody waits for a call that was cancelled while it was asked for, however long the question stays open.
async function ask(
  approve: Approve,
  request: ApprovalRequest,
  { debug }: ConsentParts,
): Promise<ApprovalAnswer> {
  const { signal } = request;
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(cancelled(request.tool.name));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([aborted, approve(request)]);
  } catch (error) {
    if (isToolError(error)) throw error;
    debug(`nobody could be asked about ${request.tool.name}: ${String(error)}`);
    return 'unable';
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

// It only tells next time what changed, so a state directory that cannot be written does not undo the consent.
function remember({ debug }: ConsentParts, approvals: Approvals | undefined, record: ApprovalRecord): void {
  try {
    approvals?.remember(record);
  } catch (error) {
    debug(`the consent to ${record.tool} is not remembered: ${(error as Error).message}`);
  }
}

function cancelled(tool: string): ToolError {
  return new ToolError('cancelled', `${tool} was cancelled before it ran`, {
    hint: 'call it again if that was not meant',
  });
}

function refusal(tool: string): ToolError {
  return new ToolError('denied', `${tool} was not run: whoever was asked said no`, {
    hint: 'do not repeat it; ask what to do instead',
  });
}
