// Calls of the newer protocol version: questions are returned as an `input_required` result (SRV-6, SRV-15).

import { randomBytes } from 'node:crypto';
import {
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ApprovalAnswer, ApprovalRequest } from '../core/approval.js';
import type { ElicitAnswer, Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import {
  byClient,
  type ClientPrompts,
  type ElicitationModes,
  toApprovalAnswer,
  toApprovalForm,
  toElicitParams,
} from './client-prompts.js';
import type { CallOutcome, CallRequest, SuspendableCall, SuspendedCalls } from './suspended-calls.js';

/** Signed state that a client sends back with its answer. */
export interface RequestState {
  readonly nonce: string;
  /** Identifies the call that needs approval: caller, tool, plan, directory and input. */
  readonly binding?: string;
}

export interface InputRequiredOptions {
  readonly mintState: (state: RequestState, context: ServerContext) => Promise<string>;
  readonly prompts: ClientPrompts;
  readonly suspended: SuspendedCalls;
}

const APPROVAL_KEY = 'consent';
// Approvals requested and not answered yet; the oldest is dropped.
const MAX_OPEN_APPROVALS = 256;

/** Returns a function that serves a call by `input_required` results. */
export function createInputRequiredCalls({ mintState, prompts, suspended }: InputRequiredOptions) {
  const openNonces = new Set<string>();

  const requestApproval = async (request: ApprovalRequest, context: ServerContext): Promise<InputRequiredResult> => {
    const nonce = randomBytes(16).toString('hex');
    if (openNonces.size >= MAX_OPEN_APPROVALS) openNonces.delete(openNonces.values().next().value!);
    openNonces.add(nonce);
    return inputRequired({
      inputRequests: { [APPROVAL_KEY]: inputRequired.elicit(toApprovalForm(request)) },
      requestState: await mintState({ binding: request.record.binding, nonce }, context),
    });
  };

  return async (request: CallRequest, modes: ElicitationModes): Promise<CallOutcome> => {
    const { context, onProgress, run } = request;
    const state = context.mcpReq.requestState<RequestState>();
    let approvalRequired: InputRequiredResult | undefined;
    const createApprove =
      ({ requestInput }: SuspendableCall) =>
      async (approval: ApprovalRequest): Promise<ApprovalAnswer> => {
        // A nested call suspends the outer one. The outer call needs approval before it starts, so it starts over.
        if (approval.depth > 0)
          return prompts.approve(request.client, approval.signal, (until) =>
            requestInput(inputRequired.elicit(toApprovalForm(approval)), until),
          );
        if (state !== undefined) {
          if (!openNonces.delete(state.nonce) || state.binding !== approval.record.binding)
            throw wrongApproval(approval);
          const response = inputResponse(context.mcpReq.inputResponses, APPROVAL_KEY);
          if (response.kind === 'elicit') return toApprovalAnswer(response as ElicitAnswer);
        }
        approvalRequired = await requestApproval(approval, context);
        return 'later';
      };
    const outcome = await suspended.start(request, (call) =>
      run({
        signal: call.signal,
        onProgress: onProgress && call.onProgress,
        approve: modes.form ? byClient(createApprove(call)) : undefined,
        elicit: prompts.createElicit(request.client, modes, (question, signal) =>
          call.requestInput(toInputRequest(question), signal, question.id),
        ),
      }),
    );
    return approvalRequired ?? outcome;
  };
}

function toInputRequest(question: Question): InputRequest {
  const params = toElicitParams(question);
  return question.url === undefined
    ? inputRequired.elicit(params as Parameters<typeof inputRequired.elicit>[0])
    : inputRequired.elicitUrl(params as Parameters<typeof inputRequired.elicitUrl>[0]);
}

function wrongApproval({ tool, id }: ApprovalRequest): ToolError {
  return new ToolError(
    'needs_approval',
    `${tool.name} was not run: the approval was used already, or belongs to another call`,
    { hint: 'call it again without requestState to be asked again', data: { id } },
  );
}
