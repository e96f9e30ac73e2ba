// Runs calls that may ask the client's user for approval or input, in both protocol versions (SRV-6, SRV-15).

import type { ApprovalAnswer, ApprovalRequest } from '../core/approval.js';
import { approveBy } from '../core/approval.js';
import type { ElicitAnswer, Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import { readIdentity } from '../core/name.js';
import { loadCrypto } from '../files/digest.js';
import { ERROR, RpcError } from '../net/mcp.js';
import {
  type ClientPrompts,
  createClientPrompts,
  type ElicitationModes,
  hasClientCapability,
  readElicitationModes,
  toApprovalAnswer,
  toApprovalForm,
  toElicitParams,
} from './client-prompts.js';
import {
  ANSWER_TIMEOUT_MS,
  type InputAnswer,
  type InputRequest,
  type InputRequiredResult,
  readAnswer,
} from './client-requests.js';
import type { RequestScope } from './request.js';
import { createRequestStates, type RequestState } from './request-state.js';
import type { SharedSessions } from './shared-sessions.js';
import { type CallOutcome, type CallRequest, createSuspendedCalls, type SuspendedCalls } from './suspended-calls.js';

/** Creates the calls of one server process. Request state is signed with its key or that of its fleet, and accepted once. */
export function createInteractiveCalls(shared?: SharedSessions) {
  const states = createRequestStates(ANSWER_TIMEOUT_MS / 1000, shared?.stateKeys);
  const prompts = createClientPrompts();
  const suspended = createSuspendedCalls(ANSWER_TIMEOUT_MS, states.sign);
  const approvals = createOpenApprovals(states.sign, shared);

  const readState = ({ requestState, isNewer }: RequestScope): RequestState | undefined => {
    if (requestState === undefined) return undefined;
    try {
      const state = states.verify(requestState as string);
      return isNewer ? state : undefined;
    } catch {
      throw new RpcError(ERROR.invalidParams, 'Invalid or expired requestState', { reason: 'invalid_request_state' });
    }
  };
  return {
    /** Ends suspended calls. */
    close: suspended.close,
    abandonQuestions: suspended.abandon,
    /** Runs the call, or resumes the one that the request answers. */
    async serve(request: CallRequest): Promise<CallOutcome> {
      const { scope, onProgress } = request;
      const { isNewer, controller, capabilities } = scope;
      const state = readState(scope);
      // State without a binding names a suspended call, which must never run from the start again.
      if (state !== undefined && state.binding === undefined)
        return suspended.resume(request, state.nonce) ?? request.run({ controller, fault: staleAnswer() });
      const modes = readElicitationModes(capabilities);
      if (!modes.form && !modes.url && !hasClientCapability(capabilities))
        return await request.run({ controller, onProgress });
      return isNewer
        ? serveByResults(request, modes, { prompts, suspended, approvals, state })
        : serveByRequests(request, modes, prompts);
    },
  };
}

// The older protocol version: the server sends requests during the call.
function serveByRequests(request: CallRequest, modes: ElicitationModes, prompts: ClientPrompts): Promise<CallOutcome> {
  const { client, scope, onProgress } = request;
  // A result can only be sent on the connection of its request, so questions end with it.
  const disconnected = scope.disconnected?.();
  const send = async (asked: InputRequest, until: AbortSignal): Promise<InputAnswer> => {
    const signal = disconnected === undefined ? until : AbortSignal.any([until, disconnected]);
    signal.throwIfAborted();
    return scope.request(asked, signal);
  };
  const elicit = async (params: object, until: AbortSignal): Promise<ElicitAnswer> =>
    (await send({ method: 'elicitation/create', params }, until)) as ElicitAnswer;
  return request.run({
    controller: scope.controller,
    onProgress,
    approve: modes.form
      ? approveBy('mcp', async (asked) => {
          if (!(await scope.mayConsent())) return 'unable';
          return prompts.approve(client, asked.signal, (until) =>
            elicit({ mode: 'form', ...toApprovalForm(asked) }, until),
          );
        })
      : undefined,
    elicit: prompts.createElicit(client, modes, (question, signal) => {
      const mode =
        question.url === undefined
          ? { mode: 'form' }
          : { mode: 'url', elicitationId: question.id ?? loadCrypto().randomUUID() };
      return elicit({ ...mode, ...toElicitParams(question) }, signal);
    }),
    client: prompts.createClient(client, scope.capabilities, send),
  });
}

interface ResultOptions {
  readonly prompts: ClientPrompts;
  readonly suspended: SuspendedCalls;
  readonly approvals: OpenApprovals;
  readonly state: RequestState | undefined;
}

// The newer protocol version: questions are `input_required` results.
async function serveByResults(
  request: CallRequest,
  modes: ElicitationModes,
  { prompts, suspended, approvals, state }: ResultOptions,
): Promise<CallOutcome> {
  const { client, scope, onProgress } = request;
  let approvalRequired: InputRequiredResult | undefined;
  const outcome = await suspended.start(request, (call) => {
    const ask = async (asked: InputRequest, signal: AbortSignal, key?: string): Promise<ElicitAnswer> =>
      (await call.requestInput(asked, signal, key)) as ElicitAnswer;
    const approve = async (approval: ApprovalRequest): Promise<ApprovalAnswer> => {
      if (!(await scope.mayConsent())) return 'unable';
      // A nested call suspends the outer one. The outer call needs approval before it starts, so it starts over.
      if (approval.depth > 0)
        return prompts.approve(client, approval.signal, (until) => ask(toApprovalInput(approval), until));
      if (state !== undefined) {
        // An answer to another call is not used up.
        if (state.binding !== approval.record.binding || !(await approvals.take(state.nonce)))
          throw wrongApproval(approval);
        const answer = readAnswer(scope.inputResponses, APPROVAL_KEY);
        if (answer !== undefined) return toApprovalAnswer(answer as ElicitAnswer);
      }
      approvalRequired = approvals.request(approval);
      return 'later';
    };
    const own = prompts.createClient(client, scope.capabilities, call.requestInput);
    return request.run({
      controller: call.controller,
      onProgress: onProgress && call.onProgress,
      approve: modes.form ? approveBy('mcp', approve) : undefined,
      elicit: prompts.createElicit(client, modes, (question, signal) =>
        ask(toInputRequest(question), signal, question.id),
      ),
      client: own && { ...own, expect: call.expectInput },
    });
  });
  return approvalRequired ?? outcome;
}

const APPROVAL_KEY = 'consent';
// Approvals requested and not answered yet, of a user or of all callers without one; the oldest of these is dropped.
const MAX_OPEN_APPROVALS = 256;

type OpenApprovals = ReturnType<typeof createOpenApprovals>;

function createOpenApprovals(sign: (state: RequestState) => string, shared?: SharedSessions) {
  // With their users.
  const nonces = new Map<string, string | undefined>();
  return {
    request(approval: ApprovalRequest): InputRequiredResult {
      const nonce = loadCrypto().randomBytes(16).toString('hex');
      const user = readIdentity(approval.record.principal);
      const own = [...nonces].filter(([, other]) => other === user);
      if (own.length >= MAX_OPEN_APPROVALS) nonces.delete(own[0]![0]);
      nonces.set(nonce, user);
      return {
        resultType: 'input_required',
        inputRequests: { [APPROVAL_KEY]: toApprovalInput(approval) },
        requestState: sign({ binding: approval.record.binding, nonce }),
      };
    },
    /** Whether the answer to a request was not used before; in a fleet another server may have asked. */
    take: async (nonce: string): Promise<boolean> => shared?.takeOnce(nonce) ?? nonces.delete(nonce),
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

function staleAnswer(): ToolError {
  return new ToolError(
    'cancelled',
    'no question is open for this answer: it was used already, or belongs to another call',
    { hint: 'check what the call did before it asked, then call again without requestState' },
  );
}
