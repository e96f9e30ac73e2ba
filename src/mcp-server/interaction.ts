// Runs calls that may ask the client's user for approval or input, in both protocol versions (SRV-6, SRV-15).

import { type ApprovalAnswer, type ApprovalRequest, approveBy } from '../core/approval.js';
import { ToolError } from '../core/error.js';
import { readIdentity } from '../core/name.js';
import type { ToolResult } from '../core/result.js';
import type { DoorOptions } from '../core/toolbox.js';
import { loadCrypto } from '../files/digest.js';
import { ERROR, RpcError } from '../net/mcp.js';
import {
  type Askable,
  createClientPrompts,
  readAskable,
  type SendRequest,
  toApprovalAnswer,
  toApprovalInput,
} from './client-prompts.js';
import { ANSWER_TIMEOUT_MS, type InputRequest, type InputRequiredResult, readAnswer } from './client-requests.js';
import { type RequestScope, readKey, toCallOptions, toLogListener, toProgressListener } from './request.js';
import { createRequestStates, type RequestState } from './request-state.js';
import type { SharedSessions } from './shared-sessions.js';
import { type CallOutcome, clientNameOf, createSuspendedCalls, type ServedCall } from './suspended-calls.js';

export type InteractiveCalls = ReturnType<typeof createInteractiveCalls>;

export interface InteractionOptions {
  /** Delays calls while the client does not read its responses. */
  readonly ready?: DoorOptions['ready'];
  readonly shared?: SharedSessions | undefined;
}

/** Options of a call that depend on what the client supports. */
type OwnOptions = Pick<DoorOptions, 'controller' | 'onProgress' | 'approve' | 'elicit' | 'client' | 'fault'>;

/** Creates the calls of one server process. Request state is signed with its key or that of its fleet, and accepted once. */
export function createInteractiveCalls({ ready, shared }: InteractionOptions) {
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
  const run = ({ scope, checkPlan, run }: ServedCall, own: OwnOptions): Promise<ToolResult> => {
    const { caller, background, trace } = toCallOptions(scope);
    return run({
      caller,
      background,
      trace,
      controller: own.controller,
      onProgress: own.onProgress,
      approve: own.approve,
      elicit: own.elicit,
      client: own.client,
      fault: own.fault,
      ready,
      operation: scope.operation,
      key: readKey(scope),
      onPending: scope.onPending,
      onLog: toLogListener(scope),
      logLevel: scope.logLevel,
      checkPlan,
    });
  };

  // The older protocol version: the server sends requests during the call.
  const serveByRequests = (call: ServedCall, askable: Askable): Promise<ToolResult> => {
    const { scope } = call;
    const whom = whomOf(scope);
    // A result can only be sent on the connection of its request, so questions end with it.
    const disconnected = new AbortController();
    scope.exchange?.onDisconnect(() => disconnected.abort());
    const send: SendRequest = async (asked, until, key) => {
      const signal = AbortSignal.any([until, disconnected.signal]);
      signal.throwIfAborted();
      return scope.request(withId(asked, key), signal);
    };
    const approve = async (approval: ApprovalRequest): Promise<ApprovalAnswer> =>
      (await scope.mayConsent()) ? prompts.approve(whom, approval, send) : 'unable';
    const { elicit, client } = prompts.toOptions(whom, askable, send);
    return run(call, {
      controller: scope.controller,
      onProgress: toProgressListener(scope),
      approve: askable.form ? approveBy('mcp', approve) : undefined,
      elicit,
      client,
    });
  };

  // The newer protocol version: questions are `input_required` results.
  const serveByResults = async (
    served: ServedCall,
    askable: Askable,
    state: RequestState | undefined,
  ): Promise<CallOutcome> => {
    const { scope } = served;
    const whom = whomOf(scope);
    let approvalRequired: InputRequiredResult | undefined;
    const outcome = await suspended.start(served, (call) => {
      const approve = async (approval: ApprovalRequest): Promise<ApprovalAnswer> => {
        if (!(await scope.mayConsent())) return 'unable';
        // A nested call suspends the outer one. The outer call needs approval before it starts, so it starts over.
        if (approval.depth > 0) return prompts.approve(whom, approval, call.requestInput);
        if (state !== undefined) {
          // An answer to another call is not used up.
          if (state.binding !== approval.record.binding || !(await approvals.take(state.nonce)))
            throw wrongApproval(approval);
          const answer = readAnswer(scope.inputResponses, APPROVAL_KEY);
          if (answer !== undefined) return toApprovalAnswer(answer);
        }
        approvalRequired = approvals.request(approval);
        return 'later';
      };
      const { elicit, client } = prompts.toOptions(whom, askable, call.requestInput);
      return run(served, {
        controller: call.controller,
        onProgress: call.onProgress,
        approve: askable.form ? approveBy('mcp', approve) : undefined,
        elicit,
        client: client && { ...client, expect: call.expectInput },
      });
    });
    return approvalRequired ?? outcome;
  };

  return {
    /** Ends suspended calls. */
    close: suspended.close,
    /** Fails the questions of calls that wait for their client. */
    abandonQuestions: suspended.abandon,
    /** Runs a call that may ask the client's user, or resumes the one that the request answers. */
    async serve(call: ServedCall): Promise<CallOutcome> {
      const { isNewer, controller, capabilities } = call.scope;
      const state = readState(call.scope);
      // State without a binding names a suspended call, which must never run from the start again.
      if (state !== undefined && state.binding === undefined)
        return suspended.resume(call, state.nonce) ?? run(call, { controller, fault: staleAnswer() });
      const askable = readAskable(capabilities);
      if (askable === undefined) return run(call, { controller, onProgress: toProgressListener(call.scope) });
      return isNewer ? serveByResults(call, askable, state) : serveByRequests(call, askable);
    },
  };
}

/** Identifies who is asked: session and client name. */
function whomOf(scope: RequestScope): string {
  return `${scope.client.session} ${clientNameOf(scope)}`;
}

// In the older protocol version, a question with a URL has an id.
function withId({ method, params }: InputRequest, id: string | undefined): InputRequest {
  const isPage = 'mode' in params && params.mode === 'url';
  return { method, params: isPage ? { ...params, elicitationId: id ?? loadCrypto().randomUUID() } : params };
}

const APPROVAL_KEY = 'consent';
// Approvals requested and not answered yet, of a user or of all callers without one; the oldest of these is dropped.
const MAX_OPEN_APPROVALS = 256;

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
