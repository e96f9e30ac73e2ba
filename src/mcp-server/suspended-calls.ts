// Calls suspended while their client collects input: the newer protocol version answers in another request (SRV-15).

import { deferred, onAbort, pause } from '../core/async.js';
import { CallController } from '../core/call-controller.js';
import type { Progress } from '../core/context.js';
import type { ToolResult } from '../core/result.js';
import type { DoorOptions } from '../core/toolbox.js';
import { loadCrypto } from '../files/digest.js';
import { type InputAnswer, type InputRequest, type InputRequiredResult, readAnswer } from './client-requests.js';
import type { RequestScope } from './request.js';
import type { RequestState } from './request-state.js';

/** Call options that depend on what the client supports. */
export type InteractionOptions = Pick<
  DoorOptions,
  'controller' | 'onProgress' | 'approve' | 'elicit' | 'client' | 'fault'
>;

/** A request that starts a call, or resumes a suspended one. */
export interface CallRequest extends Pick<DoorOptions, 'onProgress'> {
  readonly scope: RequestScope;
  /** Identifies who is asked: session and client name. */
  readonly client: string;
  /** Identifies caller, tool and input. A function, because few calls need it. */
  readonly binding: () => string;
  run(options: InteractionOptions): Promise<ToolResult>;
}

/** The result of the call, or input that the client must provide first. */
export type CallOutcome = ToolResult | InputRequiredResult;

/** Replaces the signal and progress of the first request, since a resumed call belongs to another one. */
export interface SuspendableCall {
  readonly controller: CallController;
  readonly onProgress: (progress: Progress) => void;
  /** Suspends the call until the client answers. Rejects if it does not. */
  requestInput(request: InputRequest, signal: AbortSignal, key?: string): Promise<InputAnswer>;
  /** Announces a request that is decided on first. The returned function must be called when it is made or will not be. */
  expectInput(): () => void;
}

export type SuspendedCalls = ReturnType<typeof createSuspendedCalls>;

interface PendingInput {
  readonly request: InputRequest;
  /** The key that the tool chose. */
  readonly key: string | undefined;
  readonly signal: AbortSignal;
  answer(answer: InputAnswer): void;
  fail(reason: unknown): void;
}

interface RunningCall {
  /** Of the client, or of the user. */
  readonly session: string;
  readonly binding: () => string;
  readonly controller: CallController;
  unsent: PendingInput[];
  /** How many requests are being decided on. */
  expected: number;
  /** Sent to the client, by key. */
  sent: Map<string, PendingInput>;
  current?: CallRequest | undefined;
  result: Promise<ToolResult>;
  isEnded: boolean;
  /** The client will not resume the call. */
  abandoned: boolean;
  wake: () => void;
}

// How long a request may take from the tool to here: a tool that asks for several things at a time may be another process.
const TOGETHER_MS = 20;
// How long a request waits for others of the same time: deciding on one may load code, or ask the user.
const EXPECTED_MS = 500;

export function createSuspendedCalls(ttlMs: number, sign: (state: RequestState) => string) {
  const suspended = new Map<string, { readonly call: RunningCall; readonly timer: NodeJS.Timeout }>();

  const take = (nonce: string): RunningCall | undefined => {
    const found = suspended.get(nonce);
    clearTimeout(found?.timer);
    suspended.delete(nonce);
    return found?.call;
  };
  const suspend = (call: RunningCall): InputRequiredResult => {
    const nonce = loadCrypto().randomBytes(16).toString('hex');
    call.sent = toKeyed(call.unsent.splice(0));
    const timer = setTimeout(() => {
      suspended.delete(nonce);
      abandon(call);
    }, ttlMs);
    timer.unref();
    suspended.set(nonce, { call, timer });
    return {
      resultType: 'input_required',
      inputRequests: Object.fromEntries([...call.sent].map(([key, { request }]) => [key, request])),
      requestState: sign({ nonce }),
    };
  };
  const proceed = (call: RunningCall, request: CallRequest): Promise<CallOutcome> =>
    untilEndOrInput(call, request, () => suspend(call));

  return {
    /** Runs a call until it ends or needs input. */
    start(request: CallRequest, run: (call: SuspendableCall) => Promise<ToolResult>): Promise<CallOutcome> {
      const call: RunningCall = {
        session: request.scope.client.session,
        binding: () => request.binding(),
        controller: new CallController(),
        unsent: [],
        expected: 0,
        sent: new Map(),
        // It may report progress before it returns for the first time.
        current: request,
        result: new Promise(() => {}),
        isEnded: false,
        abandoned: false,
        wake: () => {},
      };
      const suspendable: SuspendableCall = {
        controller: call.controller,
        onProgress: (progress) => call.current?.onProgress?.(progress),
        requestInput: (input, signal, key) => requestInput(call, { request: input, key, signal }),
        expectInput: () => expectInput(call),
      };
      call.result = run(suspendable).finally(() => {
        call.isEnded = true;
        call.wake();
      });
      // Reported to the request that waits for it, if there is one.
      call.result.catch(() => {});
      return proceed(call, request);
    },
    /** Resumes the call with this nonce. Returns undefined if there is none, or the request is for another call. */
    resume(request: CallRequest, nonce: string): Promise<CallOutcome> | undefined {
      // IDN-4: that of another user stays as it is.
      if (suspended.get(nonce)?.call.session !== request.scope.client.session) return undefined;
      const call = take(nonce)!;
      if (call.binding() !== request.binding()) {
        abandon(call);
        return undefined;
      }
      for (const [key, input] of call.sent) {
        const answer = readAnswer(request.scope.inputResponses, key, input.request.method);
        // Unanswered input is requested again.
        if (answer !== undefined) input.answer(answer);
        else call.unsent.push(input);
      }
      call.sent.clear();
      return proceed(call, request);
    },
    /** Fails the questions of suspended calls, which run to their end. */
    abandon(): void {
      for (const nonce of [...suspended.keys()]) abandon(take(nonce)!);
    },
    close(): void {
      for (const nonce of [...suspended.keys()]) {
        const call = take(nonce)!;
        abandon(call);
        call.controller.abort();
      }
    },
  };
}

// The request can cancel the call meanwhile.
async function untilEndOrInput(
  call: RunningCall,
  request: CallRequest,
  suspend: () => InputRequiredResult,
): Promise<CallOutcome> {
  const { scope } = request;
  const { signal } = scope.controller;
  const unlisten = onAbort(signal, () => call.controller.abort(signal.reason));
  call.current = request;
  try {
    while (!call.isEnded) {
      if (call.unsent.length === 0)
        await new Promise<void>((resolve) => {
          call.wake = resolve;
        });
      // Input requested at the same time is sent in one response.
      await pause(TOGETHER_MS);
      await untilDecided(call);
      await pause(TOGETHER_MS);
      if (call.isEnded || call.unsent.length === 0) continue;
      if (scope.asksInTask !== true) return suspend();
      for (const input of call.unsent.splice(0))
        void scope.request(input.request, input.signal).then(input.answer, input.fail);
    }
    return await call.result;
  } finally {
    call.current = undefined;
    unlisten();
  }
}

async function untilDecided(call: RunningCall): Promise<void> {
  const limit = performance.now() + EXPECTED_MS;
  for (let left = EXPECTED_MS; call.expected > 0 && !call.isEnded && left > 0; left = limit - performance.now()) {
    const { promise, resolve } = deferred<void>();
    call.wake = resolve;
    const timer = setTimeout(resolve, left);
    await promise;
    clearTimeout(timer);
  }
}

function expectInput(call: RunningCall): () => void {
  let isOpen = true;
  call.expected++;
  return () => {
    if (!isOpen) return;
    isOpen = false;
    call.expected--;
    call.wake();
  };
}

const KEY = /^[\w.-]{1,64}$/;

// Questions keep the key that their tool chose, unless it is taken.
function toKeyed(inputs: readonly PendingInput[]): Map<string, PendingInput> {
  const keyed = new Map<string, PendingInput>();
  let last = 0;
  const nextKey = (): string => {
    for (;;) {
      const key = `question${++last}`;
      if (!keyed.has(key)) return key;
    }
  };
  for (const input of inputs) {
    const { key } = input;
    keyed.set(key !== undefined && KEY.test(key) && !keyed.has(key) ? key : nextKey(), input);
  }
  return keyed;
}

async function requestInput(
  call: RunningCall,
  asked: Pick<PendingInput, 'request' | 'key' | 'signal'>,
): Promise<InputAnswer> {
  const { signal } = asked;
  if (call.abandoned) throw noAnswer();
  signal.throwIfAborted();
  const { promise, resolve: answer, reject: fail } = deferred<InputAnswer>();
  const input: PendingInput = { ...asked, answer, fail };
  const unlisten = onAbort(signal, () => {
    call.unsent = call.unsent.filter((other) => other !== input);
    for (const [key, other] of call.sent) if (other === input) call.sent.delete(key);
    fail(signal.reason);
  });
  call.unsent.push(input);
  call.wake();
  return promise.finally(unlisten);
}

// The call itself runs to its end.
function abandon(call: RunningCall): void {
  call.abandoned = true;
  for (const { fail } of [...call.sent.values(), ...call.unsent]) fail(noAnswer());
  call.sent.clear();
  call.unsent = [];
}

function noAnswer(): Error {
  return new Error('the client sent no answer');
}
