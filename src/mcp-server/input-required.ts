// Calls of the newer protocol version: questions are returned as an `input_required` result (SRV-6, SRV-15).

import { randomBytes } from 'node:crypto';
import type { ApprovalAnswer, ApprovalRequest } from '../core/approval.js';
import { approveBy } from '../core/approval.js';
import type { ElicitAnswer, Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import {
  type ClientPrompts,
  type ElicitationModes,
  toApprovalAnswer,
  toApprovalForm,
  toElicitParams,
} from './client-prompts.js';
import { type InputRequest, type InputRequiredResult, readAnswer } from './input-request.js';
import type { RequestState } from './request-context.js';
import type { SharedSessions } from './shared-sessions.js';
import type { CallOutcome, CallRequest, SuspendableCall, SuspendedCalls } from './suspended-calls.js';

export interface InputRequiredOptions {
  readonly sign: (state: RequestState) => string;
  readonly prompts: ClientPrompts;
  readonly suspended: SuspendedCalls;
  readonly shared?: SharedSessions | undefined;
}

const APPROVAL_KEY = 'consent';
// Approvals requested and not answered yet; the oldest is dropped.
const MAX_OPEN_APPROVALS = 256;

/** Returns a function that serves a call by `input_required` results. */
export function createInputRequiredCalls({ sign, prompts, suspended, shared }: InputRequiredOptions) {
  const openNonces = new Set<string>();
  // In a fleet another server may have asked.
  const takeNonce = (nonce: string): boolean | Promise<boolean> => shared?.takeOnce(nonce) ?? openNonces.delete(nonce);

  const requestApproval = (request: ApprovalRequest): InputRequiredResult => {
    const nonce = randomBytes(16).toString('hex');
    if (openNonces.size >= MAX_OPEN_APPROVALS) openNonces.delete(openNonces.values().next().value!);
    openNonces.add(nonce);
    return {
      resultType: 'input_required',
      inputRequests: { [APPROVAL_KEY]: toApprovalInput(request) },
      requestState: sign({ binding: request.record.binding, nonce }),
    };
  };

  return async (request: CallRequest, modes: ElicitationModes): Promise<CallOutcome> => {
    const { context, onProgress } = request;
    const { state } = context;
    let approvalRequired: InputRequiredResult | undefined;
    const createApprove =
      ({ requestInput }: SuspendableCall) =>
      async (approval: ApprovalRequest): Promise<ApprovalAnswer> => {
        if (context.mayConsent?.() === false) return 'unable';
        // A nested call suspends the outer one. The outer call needs approval before it starts, so it starts over.
        if (approval.depth > 0)
          return prompts.approve(
            request.client,
            approval.signal,
            async (until) => (await requestInput(toApprovalInput(approval), until)) as ElicitAnswer,
          );
        if (state !== undefined) {
          // An answer to another call is not used up.
          if (state.binding !== approval.record.binding || !(await takeNonce(state.nonce)))
            throw wrongApproval(approval);
          const answer = readAnswer(context.inputResponses, APPROVAL_KEY);
          if (answer !== undefined) return toApprovalAnswer(answer as ElicitAnswer);
        }
        approvalRequired = requestApproval(approval);
        return 'later';
      };
    const outcome = await suspended.start(request, (call) =>
      request.run({
        cancellation: call.cancellation,
        onProgress: onProgress && call.onProgress,
        approve: modes.form ? approveBy('mcp', createApprove(call)) : undefined,
        elicit: prompts.createElicit(
          request.client,
          modes,
          async (question, signal) =>
            (await call.requestInput(toInputRequest(question), signal, question.id)) as ElicitAnswer,
        ),
        client: prompts.createClient(request.client, context.capabilities, (asked, signal, key) =>
          call.requestInput(asked, signal, key),
        ),
      }),
    );
    return approvalRequired ?? outcome;
  };
}

function toApprovalInput(request: ApprovalRequest): InputRequest {
  return { method: 'elicitation/create', params: { ...toApprovalForm(request), mode: 'form' } };
}

function toInputRequest(question: Question): InputRequest {
  const mode = question.url === undefined ? 'form' : 'url';
  return { method: 'elicitation/create', params: { ...toElicitParams(question), mode } };
}

function wrongApproval({ tool, id }: ApprovalRequest): ToolError {
  return new ToolError(
    'needs_approval',
    `${tool.name} was not run: the approval was used already, or belongs to another call`,
    { hint: 'call it again without requestState to be asked again', data: { id } },
  );
}
