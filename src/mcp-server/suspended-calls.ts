// Calls suspended while their client collects input: the newer protocol version answers in another request (SRV-15).

import { deferred, onAbort, pause } from '../core/async.js';
import { CallController } from '../core/call-controller.js';
import type { ProgressListener } from '../core/context.js';
import { canonicalJson, type Json } from '../core/json.js';
import type { ToolResult } from '../core/result.js';
import type { DoorOptions } from '../core/toolbox.js';
import { loadCrypto } from '../files/digest.js';
import { type InputAnswer, type InputRequest, type InputRequiredResult, readAnswer } from './client-requests.js';
import { type RequestScope, toProgressListener } from './request.js';
import type { RequestState } from './request-state.js';

/** A call of a tool, a resource or a prompt, which a request starts or resumes. */
export interface ServedCall extends Pick<DoorOptions, 'checkPlan'> {
  readonly scope: RequestScope;
  /** Identifies the call, with `input`. */
  readonly id: string;
  readonly input: Json;
  run(options: DoorOptions): Promise<ToolResult>;
}

/** The result of the call, or input that the client must provide first. */
export type CallOutcome = ToolResult | InputRequiredResult;

/** Returns the name of the client in a session. A user stays the same, whatever the client is called. */
export function clientNameOf({ identity, clientName = '' }: RequestScope): string {
  return identity === undefined ? clientName : '';
}

export function createSuspendedCalls(ttlMs: number, sign: (state: RequestState) => string) {
  const suspended = new Map<string, { readonly call: SuspendableCall; readonly timer: NodeJS.Timeout }>();

  const take = (nonce: string): SuspendableCall | undefined => {
    const found = suspended.get(nonce);
    clearTimeout(found?.timer);
    suspended.delete(nonce);
    return found?.call;
  };
  const takeAll = (): SuspendableCall[] => [...suspended.keys()].flatMap((nonce) => take(nonce) ?? []);
  const suspend = (call: SuspendableCall): InputRequiredResult => {
    const nonce = loadCrypto().randomBytes(16).toString('hex');
    const timer = setTimeout(() => take(nonce)?.abandon(), ttlMs).unref();
    suspended.set(nonce, { call, timer });
    return { resultType: 'input_required', inputRequests: call.send(), requestState: sign({ nonce }) };
  };

  return {
    /** Runs a call until it ends or needs input. */
    start(served: ServedCall, run: (call: SuspendableCall) => Promise<ToolResult>): Promise<CallOutcome> {
      return new SuspendableCall(served, run).proceed(served.scope, suspend);
    },
    /** Resumes the call with this nonce. Returns undefined if there is none, or the request is for another call. */
    resume(request: ServedCall, nonce: string): Promise<CallOutcome> | undefined {
      // IDN-4: that of another user stays as it is.
      if (suspended.get(nonce)?.call.session !== request.scope.client.session) return undefined;
      const call = take(nonce)!;
      if (!call.isSame(request)) {
        call.abandon();
        return undefined;
      }
      call.resume(request.scope);
      return call.proceed(request.scope, suspend);
    },
    /** Fails the questions of suspended calls, which run to their end. */
    abandon(): void {
      for (const call of takeAll()) call.abandon();
    },
    close(): void {
      for (const call of takeAll()) {
        call.abandon();
        call.controller.abort();
      }
    },
  };
}

interface PendingInput {
  readonly request: InputRequest;
  /** The key that the tool chose. */
  readonly key: string | undefined;
  readonly signal: AbortSignal;
  answer(answer: InputAnswer): void;
  fail(reason: unknown): void;
}

// How long a request may take from the tool to here: a tool that asks for several things at a time may be another process.
const TOGETHER_MS = 20;
// How long a request waits for others of the same time: deciding on one may load code, or ask the user.
const EXPECTED_MS = 500;

/** A call with a signal and progress of its own, since it is resumed by another request than the one that started it. */
class SuspendableCall {
  readonly controller = new CallController();
  /** Undefined if the first request asked for no progress. */
  readonly onProgress: ProgressListener | undefined;
  readonly #served: ServedCall;
  readonly #result: Promise<ToolResult>;
  #listener: ProgressListener | undefined;
  #unsent: PendingInput[] = [];
  /** By key. */
  #sent = new Map<string, PendingInput>();
  /** How many requests are being decided on. */
  #expected = 0;
  #isEnded = false;
  /** The client will not resume the call. */
  #isAbandoned = false;
  #wake: () => void = () => {};

  constructor(served: ServedCall, run: (call: SuspendableCall) => Promise<ToolResult>) {
    this.#served = served;
    // It may report progress before it returns for the first time.
    this.#listener = toProgressListener(served.scope);
    this.onProgress = this.#listener && ((progress) => this.#listener?.(progress));
    this.#result = run(this).finally(() => {
      this.#isEnded = true;
      this.#wake();
    });
    // Reported to the request that waits for it, if there is one.
    this.#result.catch(() => {});
  }

  /** That of the client, or of the user. */
  get session(): string {
    return this.#served.scope.client.session;
  }

  /** Whether a request is for the same call of the same client. */
  isSame(request: ServedCall): boolean {
    return identify(this.#served) === identify(request);
  }

  /** Suspends the call until the client answers. Rejects if it does not. */
  readonly requestInput = async (request: InputRequest, signal: AbortSignal, key?: string): Promise<InputAnswer> => {
    if (this.#isAbandoned) throw noAnswer();
    signal.throwIfAborted();
    const { promise, resolve: answer, reject: fail } = deferred<InputAnswer>();
    const input: PendingInput = { request, key, signal, answer, fail };
    const unlisten = onAbort(signal, () => {
      this.#unsent = this.#unsent.filter((other) => other !== input);
      for (const [key, other] of this.#sent) if (other === input) this.#sent.delete(key);
      fail(signal.reason);
    });
    this.#unsent.push(input);
    this.#wake();
    return promise.finally(unlisten);
  };

  /** Announces a request that is decided on first. The returned function must be called when it is made or will not be. */
  readonly expectInput = (): (() => void) => {
    let isOpen = true;
    this.#expected++;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#expected--;
      this.#wake();
    };
  };

  /** Waits until the call ends or needs input. The request can cancel the call meanwhile. */
  async proceed(scope: RequestScope, suspend: (call: SuspendableCall) => InputRequiredResult): Promise<CallOutcome> {
    const { signal } = scope.controller;
    const unlisten = onAbort(signal, () => this.controller.abort(signal.reason));
    try {
      while (!this.#isEnded) {
        if (this.#unsent.length === 0) await this.#untilWoken();
        // Input requested at the same time is sent in one response.
        await pause(TOGETHER_MS);
        await this.#untilDecided();
        await pause(TOGETHER_MS);
        if (this.#isEnded || this.#unsent.length === 0) continue;
        if (scope.asksInTask !== true) return suspend(this);
        for (const input of this.#unsent.splice(0))
          void scope.request(input.request, input.signal).then(input.answer, input.fail);
      }
      return await this.#result;
    } finally {
      this.#listener = undefined;
      unlisten();
    }
  }

  /** Returns what the client is asked, by key. */
  send(): InputRequiredResult['inputRequests'] {
    this.#sent = toKeyed(this.#unsent.splice(0));
    return Object.fromEntries([...this.#sent].map(([key, { request }]) => [key, request]));
  }

  /** Takes the answers of a request. Unanswered input is requested again. */
  resume(scope: RequestScope): void {
    this.#listener = toProgressListener(scope);
    for (const [key, input] of this.#sent) {
      const answer = readAnswer(scope.inputResponses, key, input.request.method);
      if (answer !== undefined) input.answer(answer);
      else this.#unsent.push(input);
    }
    this.#sent.clear();
  }

  /** Fails what was asked; the call itself runs to its end. */
  abandon(): void {
    this.#isAbandoned = true;
    for (const { fail } of [...this.#sent.values(), ...this.#unsent]) fail(noAnswer());
    this.#sent.clear();
    this.#unsent = [];
  }

  async #untilWoken(ms?: number): Promise<void> {
    const { promise, resolve } = deferred<void>();
    this.#wake = resolve;
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  }

  async #untilDecided(): Promise<void> {
    const limit = performance.now() + EXPECTED_MS;
    for (let left = EXPECTED_MS; this.#expected > 0 && !this.#isEnded && left > 0; left = limit - performance.now())
      await this.#untilWoken(left);
  }
}

function identify({ scope, id, input }: ServedCall): string {
  return canonicalJson([scope.client.session, clientNameOf(scope), id, input]);
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

function noAnswer(): Error {
  return new Error('the client sent no answer');
}
