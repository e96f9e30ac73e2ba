// The person behind a client: consent before a call, questions in its midst, in the way of the era that is spoken.

import { randomBytes, randomUUID } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  PROTOCOL_VERSION_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ApprovalAnswer, ApprovalRequest, Approve } from '../core/approval.js';
import { cannotAsk, type Elicit, type ElicitAnswer, type Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import type { ToolResult } from '../core/result.js';
import { spellOut } from '../core/text.js';
import type { CallOptions } from '../core/toolbox.js';
import { assertFits, toConsent, toConsentForm } from './approval.js';
import { createDialogs, readShows, type Shows } from './dialogs.js';
import { createHeldCalls, type HeldContext, type Turn, type Waiting } from './held.js';

/** What differs between calls whose person is asked in one way or another, or not at all. */
export type AskingOptions = Pick<CallOptions, 'signal' | 'onProgress' | 'approve' | 'elicit' | 'fault'>;

/** A request for a call. */
export interface CallRequest extends Waiting {
  readonly server: Server;
  /** Names caller, tool and input, and nothing else. */
  readonly binding: () => string;
  run(options: AskingOptions): Promise<ToolResult>;
}

export interface McpPerson {
  /** Runs the call, or goes on with the one that the request answers. */
  serve(request: CallRequest): Promise<Turn>;
  /** Refuses state that is not ours, altered or too old, before a handler sees it. */
  verify(state: string, context: ServerContext): Promise<unknown>;
  /** Ends calls that wait for a client. */
  close(): void;
}

interface State {
  readonly nonce: string;
  /** Names exactly one call that waits for consent: caller, tool, plan, directory and input. */
  readonly binding?: string;
}

const KEY = 'consent';
const TTL_SECONDS = 600;
// Consents that are asked for at once.
const MAX_OPEN = 256;

/** One for a server process: what it signs, another cannot have signed, and each answer counts once. */
export function createMcpPerson(): McpPerson {
  const codec = createRequestStateCodec<State>({ key: randomBytes(32), ttlSeconds: TTL_SECONDS });
  const open = new Set<string>();
  const dialogs = createDialogs();
  const held = createHeldCalls(TTL_SECONDS * 1000, (nonce, context) => codec.mint({ nonce }, context));

  // A consent that finds no place is recorded for someone who gives it elsewhere.
  const consentNow = async (ask: () => Promise<ElicitAnswer>): Promise<ApprovalAnswer> => {
    const release = dialogs.tryOpen();
    if (release === undefined) return 'unable';
    try {
      return toConsent(await ask());
    } finally {
      release();
    }
  };
  // A question waits for its place.
  const createElicit =
    (
      shows: Shows,
      ask: (question: Question, signal: AbortSignal) => Promise<ElicitAnswer>,
    ): Elicit<Question> =>
    async (question, signal) => {
      if (question.url === undefined ? !shows.forms : !shows.pages)
        throw cannotAsk(question.url === undefined ? 'a form' : 'a page to visit');
      const release = await dialogs.open(signal);
      try {
        return await ask(question, signal);
      } finally {
        release();
      }
    };

  const serveOlder = ({ context: { mcpReq }, onProgress, run }: CallRequest, shows: Shows): Promise<Turn> => {
    const send = async (params: object, signal: AbortSignal): Promise<ElicitAnswer> => {
      const sent = { signal, timeout: TTL_SECONDS * 1000 };
      return (await mcpReq.send({ method: 'elicitation/create', params: params as never }, sent)) as never;
    };
    const approve = (request: ApprovalRequest): Promise<ApprovalAnswer> =>
      consentNow(() => send({ mode: 'form', ...toConsentForm(request) }, request.signal));
    const elicit = createElicit(shows, (question, signal) => {
      const { url, id } = question;
      const mode = url === undefined ? { mode: 'form' } : { mode: 'url', elicitationId: id ?? randomUUID() };
      return send({ ...mode, ...toParams(question) }, signal);
    });
    return run({
      signal: mcpReq.signal,
      ...(onProgress === undefined ? {} : { onProgress }),
      ...(shows.forms ? { approve: byClient(approve) } : {}),
      elicit,
    });
  };

  const openConsent = async (request: ApprovalRequest, context: ServerContext) => {
    const nonce = randomBytes(16).toString('hex');
    if (open.size >= MAX_OPEN) open.delete(open.values().next().value!);
    open.add(nonce);
    return inputRequired({
      inputRequests: { [KEY]: inputRequired.elicit(toConsentForm(request)) },
      requestState: await codec.mint({ binding: request.record.binding, nonce }, context),
    });
  };

  const serveNewer = async (request: CallRequest, shows: Shows): Promise<Turn> => {
    const { context, onProgress, run, binding } = request;
    const state = context.mcpReq.requestState<State>();
    let question: InputRequiredResult | undefined;
    const createApprove =
      ({ hold }: HeldContext) =>
      async (asked: ApprovalRequest): Promise<ApprovalAnswer> => {
        // What a tool calls in its midst is asked for there; the call itself before it runs, and so from the top.
        if (asked.depth > 0)
          return consentNow(() => hold(inputRequired.elicit(toConsentForm(asked)), asked.signal));
        if (state !== undefined) {
          assertFits(open.delete(state.nonce) && state.binding === asked.record.binding, asked);
          const response = inputResponse(context.mcpReq.inputResponses, KEY);
          if (response.kind === 'elicit') return toConsent(response as ElicitAnswer);
        }
        question = await openConsent(asked, context);
        return 'later';
      };
    const turn = await held.begin(request, binding, (call) =>
      run({
        signal: call.signal,
        ...(onProgress === undefined ? {} : { onProgress: call.onProgress }),
        ...(shows.forms ? { approve: byClient(createApprove(call)) } : {}),
        elicit: createElicit(shows, (asked, signal) => call.hold(toInputRequest(asked), signal)),
      }),
    );
    return question ?? turn;
  };

  return {
    verify: codec.verify,
    close: held.close,
    async serve(request) {
      const { server, context, onProgress, run, binding } = request;
      const { signal } = context.mcpReq;
      const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
      const isNewer = envelope[PROTOCOL_VERSION_META_KEY] !== undefined;
      const state = isNewer ? context.mcpReq.requestState<State>() : undefined;
      // Whatever its client can show now, a call that was held never runs from the top.
      if (state !== undefined && state.binding === undefined)
        return held.resume(request, binding, state.nonce) ?? run({ signal, fault: stale() });
      const shows = readShows(
        isNewer ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities(),
      );
      if (shows.forms || shows.pages)
        return isNewer ? serveNewer(request, shows) : serveOlder(request, shows);
      return run({
        signal,
        ...(onProgress === undefined ? {} : { onProgress }),
      });
    },
  };
}

function byClient(approve: (request: ApprovalRequest) => Promise<ApprovalAnswer>): Approve {
  return Object.assign(approve, { by: 'mcp' as const });
}

function toParams({ tool, message, schema, url }: Question) {
  const text = `${spellOut(tool)} asks:\n${message}`;
  return url === undefined ? { message: text, requestedSchema: schema } : { message: text, url };
}

function toInputRequest(question: Question): InputRequest {
  const params = toParams(question);
  return question.url === undefined
    ? inputRequired.elicit(params as Parameters<typeof inputRequired.elicit>[0])
    : inputRequired.elicitUrl(params as Parameters<typeof inputRequired.elicitUrl>[0]);
}

function stale(): ToolError {
  return new ToolError(
    'cancelled',
    'this answer fits no question that is open: it was used, or is for another call',
    {
      hint: 'see what the call did before it asked, then call it again without requestState',
    },
  );
}
