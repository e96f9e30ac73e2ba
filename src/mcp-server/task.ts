// A task: one call, its questions and its outcome, for both protocol versions.

import { onAbort } from '../core/async.js';
import { CallController } from '../core/call-controller.js';
import { loadCrypto } from '../files/digest.js';
import { ERROR, RpcError } from '../net/mcp.js';
import { type InputAnswer, type InputRequest, type InputRequiredResult, readAnswer } from './client-requests.js';
import type { RequestScope } from './request.js';

const POLL_MS = 1000;
const NEVER = new AbortController().signal;
// As long as a question can be answered, and an hour for the call and its result (POL-7).
const WAITING_MS = (7 * 24 + 1) * 3_600_000;

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

interface Ended {
  readonly status: Status;
  readonly result?: object;
  readonly error?: RpcError;
}

interface Question {
  readonly request: InputRequest;
  settle(answer: InputAnswer | Error): void;
}

/** One call, its questions and its outcome. */
export class Task {
  readonly id = loadCrypto().randomUUID();
  readonly session: string;
  readonly #scope: RequestScope;
  readonly #controller = new CallController();
  readonly #questions = new Map<string, Question>();
  readonly #created = new Date();
  #ttlMs: number;
  #timer: NodeJS.Timeout;
  readonly #onDiscard: () => void;
  #updated = this.#created;
  #message: string | undefined;
  #ended: Ended | undefined;
  #asked = 0;
  #isHandedOut = false;
  #wake: (() => void)[] = [];

  constructor(scope: RequestScope, ttlMs: number, onDiscard: () => void) {
    this.session = scope.client.session;
    this.#scope = scope;
    this.#ttlMs = ttlMs;
    this.#onDiscard = onDiscard;
    this.#timer = setTimeout(() => this.discard(), ttlMs).unref();
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  get status(): Status {
    return this.#ended?.status ?? (this.#questions.size > 0 ? 'input_required' : 'working');
  }

  /** The questions that the client has not answered, by key. */
  get questions(): ReadonlyMap<string, Question> {
    return this.#questions;
  }

  /** Marks that the client has the handle: from now on it is asked by `tasks/get`, not by the result of its call. */
  handOut(): void {
    this.#isHandedOut = true;
  }

  run(call: (scope: RequestScope) => Promise<object>): void {
    this.#runToEnd(call).then(
      (result) => this.#end({ status: 'completed', result }),
      (error: unknown) => this.#end({ status: 'failed', error: toRpcError(error) }),
    );
  }

  /** Waits until the task ends, asks something or waits for a person, for a limited time. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    const unlisten = signal && onAbort(signal, () => this.cancel());
    let timer: NodeJS.Timeout | undefined;
    if (!this.isEnded && this.#questions.size === 0)
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
        if (Number.isFinite(ms)) timer = setTimeout(resolve, ms).unref();
      });
    clearTimeout(timer);
    unlisten?.();
  }

  /** Returns the result. Throws the error of the call. */
  outcome(): object {
    const { result, error } = this.#ended!;
    if (result !== undefined) return result;
    throw error ?? new RpcError(ERROR.internal, 'the task was cancelled');
  }

  cancel(): void {
    this.#controller.abort();
    this.#end({ status: 'cancelled' });
  }

  /** Fails its questions; a call that waits for approval has not begun, and is cancelled. */
  abandonQuestions(): void {
    for (const { settle } of [...this.#questions.values()]) settle(new Error('the client can no longer answer'));
    if (!this.isEnded && this.#message !== undefined) this.cancel();
  }

  /** Ends the task and forgets it. */
  discard(): void {
    this.cancel();
    clearTimeout(this.#timer);
    this.#onDiscard();
  }

  /** Answers questions; answers to others are ignored. */
  answer(responses: unknown): void {
    for (const [key, question] of [...this.#questions]) {
      const answer = readAnswer(responses, key, question.request.method);
      if (answer !== undefined) question.settle(answer);
    }
  }

  toOlder(): object {
    return { ...this.#fields(), ttl: this.#ttlMs, pollInterval: POLL_MS };
  }

  toNewer(): object {
    return { ...this.#fields(), ttlMs: this.#ttlMs, pollIntervalMs: POLL_MS };
  }

  /** With what the status calls for: the questions, the result or the error. */
  toDetailed(): object {
    const { result, error } = this.#ended ?? {};
    const inputRequests = Object.fromEntries([...this.#questions].map(([key, { request }]) => [key, request]));
    return {
      ...this.toNewer(),
      ...(this.status === 'input_required' ? { inputRequests } : {}),
      ...(result === undefined ? {} : { result }),
      ...(error === undefined ? {} : { error: { code: error.code, message: error.message, data: error.data } }),
    };
  }

  // A call that needs approval has not begun. It ends with the question, and is called again with the answer.
  async #runToEnd(call: (scope: RequestScope) => Promise<object>): Promise<object> {
    let scope = this.#toScope();
    for (;;) {
      const result = await call(scope);
      if (!this.#isHandedOut || !isInputRequired(result)) return result;
      const asked = Object.entries(result.inputRequests).map(
        async ([key, request]) => [key, await this.#ask(request, NEVER)] as const,
      );
      const inputResponses = Object.fromEntries(await Promise.all(asked));
      scope = { ...this.#toScope(), requestState: result.requestState, inputResponses };
    }
  }

  #fields(): object {
    return {
      taskId: this.id,
      status: this.status,
      ...(this.#message === undefined ? {} : { statusMessage: this.#message }),
      createdAt: this.#created.toISOString(),
      lastUpdatedAt: this.#updated.toISOString(),
    };
  }

  #end(ended: Ended): void {
    if (this.#ended !== undefined) return;
    for (const { settle } of this.#questions.values()) settle(new Error('the task ended'));
    this.#ended = ended;
    this.#message = ended.error?.message;
    this.#touch();
  }

  #touch(): void {
    this.#updated = new Date();
    for (const wake of this.#wake.splice(0)) wake();
  }

  // Lives at least so long from now on.
  #liveFor(ms: number): void {
    const age = Date.now() - this.#created.getTime();
    if (this.#ttlMs - age >= ms) return;
    this.#ttlMs = age + ms;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.discard(), ms).unref();
  }

  // The request that started the call may be answered long before the call asks something.
  #toScope(): RequestScope {
    const scope = this.#scope;
    const isHandedOut = (): boolean => this.#isHandedOut;
    return {
      ...scope,
      get asksInTask() {
        return isHandedOut();
      },
      controller: this.#controller,
      exchange: undefined,
      mayConsent: async () => true,
      // Sent with the response, and so not by a task.
      notify: (method, params) => void (isHandedOut() || scope.notify(method, params)),
      log: (level, data, logger) => void (isHandedOut() || scope.log(level, data, logger)),
      request: (request, signal) => this.#ask(request, signal),
      onPending: (command) => {
        this.#message = command && `waits for approval by a person: ${command}`;
        if (command !== undefined) this.#liveFor(WAITING_MS);
        this.#touch();
      },
    };
  }

  #ask(request: InputRequest, signal: AbortSignal): Promise<InputAnswer> {
    const key = `question${++this.#asked}`;
    return new Promise((resolve, reject) => {
      const abort = (): void => settle(new Error('the question was withdrawn'));
      const settle: Question['settle'] = (answer) => {
        this.#questions.delete(key);
        signal.removeEventListener('abort', abort);
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
        this.#touch();
      };
      this.#questions.set(key, { request, settle });
      signal.addEventListener('abort', abort, { once: true });
      this.#touch();
    });
  }
}

function isInputRequired(result: object): result is InputRequiredResult {
  return 'resultType' in result && result.resultType === 'input_required';
}

function toRpcError(error: unknown): RpcError {
  return error instanceof RpcError ? error : new RpcError(ERROR.internal, (error as Error).message);
}
