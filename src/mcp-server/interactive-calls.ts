// Runs calls that may ask the client's user for approval or input, for both protocol versions.

import { randomBytes, randomUUID } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  PROTOCOL_VERSION_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ElicitAnswer } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import {
  byClient,
  type ClientPrompts,
  createClientPrompts,
  type ElicitationModes,
  readElicitationModes,
  toApprovalForm,
  toElicitParams,
} from './client-prompts.js';
import { createInputRequiredCalls, type RequestState } from './input-required.js';
import type { CallOutcome, CallRequest } from './suspended-calls.js';
import { createSuspendedCalls } from './suspended-calls.js';

export interface InteractiveCalls {
  /** Runs the call, or resumes the one that the request answers. */
  serve(request: CallRequest): Promise<CallOutcome>;
  /** Rejects foreign, altered or expired request state. */
  verifyState(state: string, context: ServerContext): Promise<unknown>;
  /** Ends suspended calls. */
  close(): void;
}

const TTL_SECONDS = 600;

/** Creates the calls of one server process. Request state is signed with a random key and accepted once. */
export function createInteractiveCalls(): InteractiveCalls {
  const codec = createRequestStateCodec<RequestState>({ key: randomBytes(32), ttlSeconds: TTL_SECONDS });
  const prompts = createClientPrompts();
  const suspended = createSuspendedCalls(TTL_SECONDS * 1000, (nonce, context) => codec.mint({ nonce }, context));
  const serveByResults = createInputRequiredCalls({ mintState: codec.mint, prompts, suspended });

  return {
    verifyState: codec.verify,
    close: suspended.close,
    async serve(request) {
      const { server, context, onProgress, run } = request;
      const { signal } = context.mcpReq;
      const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
      const isNewer = envelope[PROTOCOL_VERSION_META_KEY] !== undefined;
      const state = isNewer ? context.mcpReq.requestState<RequestState>() : undefined;
      // State without a binding names a suspended call, which must never run from the start again.
      if (state !== undefined && state.binding === undefined)
        return suspended.resume(request, state.nonce) ?? run({ signal, fault: staleAnswer() });
      const modes = readElicitationModes(
        isNewer ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities(),
      );
      if (!modes.form && !modes.url) return run({ signal, onProgress });
      return isNewer ? serveByResults(request, modes) : serveByRequests(request, modes, prompts);
    },
  };
}

/** The older protocol version: the server sends `elicitation/create` requests during the call. */
function serveByRequests(
  { client, context: { mcpReq, http }, onProgress, run }: CallRequest,
  modes: ElicitationModes,
  prompts: ClientPrompts,
): Promise<CallOutcome> {
  // A result can only be sent on the connection of its request, so questions end with it.
  const connection = http?.req?.signal;
  const send = async (params: object, until: AbortSignal): Promise<ElicitAnswer> => {
    const signal = connection === undefined ? until : AbortSignal.any([until, connection]);
    signal.throwIfAborted();
    const options = { signal, timeout: TTL_SECONDS * 1000 };
    return (await mcpReq.send({ method: 'elicitation/create', params: params as never }, options)) as never;
  };
  return run({
    signal: mcpReq.signal,
    onProgress,
    approve: modes.form
      ? byClient((request) =>
          prompts.approve(client, request.signal, (until) => send({ mode: 'form', ...toApprovalForm(request) }, until)),
        )
      : undefined,
    elicit: prompts.createElicit(client, modes, (question, signal) => {
      const mode =
        question.url === undefined ? { mode: 'form' } : { mode: 'url', elicitationId: question.id ?? randomUUID() };
      return send({ ...mode, ...toElicitParams(question) }, signal);
    }),
  });
}

function staleAnswer(): ToolError {
  return new ToolError(
    'cancelled',
    'no question is open for this answer: it was used already, or belongs to another call',
    { hint: 'check what the call did before it asked, then call again without requestState' },
  );
}
