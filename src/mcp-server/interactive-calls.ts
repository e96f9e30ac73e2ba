// Runs calls that may ask the client's user for approval or input, for both protocol versions.

import { randomUUID } from 'node:crypto';
import { approveBy } from '../core/approval.js';
import type { ElicitAnswer } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import {
  type ClientPrompts,
  createClientPrompts,
  type ElicitationModes,
  hasClientCapability,
  readElicitationModes,
  toApprovalForm,
  toElicitParams,
} from './client-prompts.js';
import type { InputAnswer, InputRequest } from './input-request.js';
import { createInputRequiredCalls } from './input-required.js';
import type { RequestState } from './request-context.js';
import { createRequestStates } from './request-state.js';
import type { SharedSessions } from './shared-sessions.js';
import type { CallOutcome, CallRequest } from './suspended-calls.js';
import { createSuspendedCalls } from './suspended-calls.js';

export interface InteractiveCalls {
  /** Runs the call, or resumes the one that the request answers. */
  serve(request: CallRequest): Promise<CallOutcome>;
  /** Throws on foreign, altered or expired request state. */
  verifyState(state: string): RequestState;
  /** Ends suspended calls. */
  close(): void;
}

const TTL_SECONDS = 600;

/** How long a client may take to answer a question. */
export const ANSWER_TIMEOUT_MS = TTL_SECONDS * 1000;

/** Creates the calls of one server process. Request state is signed with its key or that of its fleet, and accepted once. */
export function createInteractiveCalls(shared?: SharedSessions): InteractiveCalls {
  const states = createRequestStates(TTL_SECONDS, shared?.stateKeys);
  const prompts = createClientPrompts();
  const suspended = createSuspendedCalls(TTL_SECONDS * 1000, states.sign);
  const serveByResults = createInputRequiredCalls({ sign: states.sign, prompts, suspended, shared });

  return {
    verifyState: states.verify,
    close: suspended.close,
    serve(request) {
      const { context, onProgress } = request;
      const { isNewer, state, cancellation } = context;
      // State without a binding names a suspended call, which must never run from the start again.
      if (state !== undefined && state.binding === undefined)
        return suspended.resume(request, state.nonce) ?? request.run({ cancellation, fault: staleAnswer() });
      const modes = readElicitationModes(context.capabilities);
      if (!modes.form && !modes.url && !hasClientCapability(context.capabilities))
        return request.run({ cancellation, onProgress });
      return isNewer ? serveByResults(request, modes) : serveByRequests(request, modes, prompts);
    },
  };
}

/** The older protocol version: the server sends `elicitation/create` requests during the call. */
function serveByRequests(request: CallRequest, modes: ElicitationModes, prompts: ClientPrompts): Promise<CallOutcome> {
  const { client, context, onProgress } = request;
  // A result can only be sent on the connection of its request, so questions end with it.
  const { connection } = context;
  const send = async (asked: InputRequest, until: AbortSignal): Promise<InputAnswer> => {
    const signal = connection === undefined ? until : AbortSignal.any([until, connection]);
    signal.throwIfAborted();
    return context.request(asked, signal);
  };
  const elicit = async (params: object, until: AbortSignal): Promise<ElicitAnswer> =>
    (await send({ method: 'elicitation/create', params }, until)) as ElicitAnswer;
  return request.run({
    cancellation: context.cancellation,
    onProgress,
    approve: modes.form
      ? approveBy('mcp', async (asked) => {
          if (context.mayConsent?.() === false) return 'unable';
          return prompts.approve(client, asked.signal, (until) =>
            elicit({ mode: 'form', ...toApprovalForm(asked) }, until),
          );
        })
      : undefined,
    elicit: prompts.createElicit(client, modes, (question, signal) => {
      const mode =
        question.url === undefined ? { mode: 'form' } : { mode: 'url', elicitationId: question.id ?? randomUUID() };
      return elicit({ ...mode, ...toElicitParams(question) }, signal);
    }),
    client: prompts.createClient(client, context.capabilities, send),
  });
}

function staleAnswer(): ToolError {
  return new ToolError(
    'cancelled',
    'no question is open for this answer: it was used already, or belongs to another call',
    { hint: 'check what the call did before it asked, then call again without requestState' },
  );
}
