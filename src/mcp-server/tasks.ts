// Tasks: calls whose result the client fetches later, in both protocol versions (SRV-70).

import { randomUUID } from 'node:crypto';
import { Cancellation } from '../core/cancellation.js';
import type { ElicitAnswer } from '../core/elicit.js';
import { isRecord } from '../core/json.js';
import { type InputRequest, readAnswer } from './input-request.js';
import { ERROR, type Params, RequestError } from './message.js';
import type { RequestContext } from './request-context.js';

/** Runs a call to its end; questions go through the context. */
export type CallNow = (params: Params, context: RequestContext) => Promise<object>;

export interface Tasks {
  /** Starts a task; returns its handle, or the result of a call that ends at once. */
  start(session: string, params: Params, context: RequestContext, call: CallNow): Promise<object>;
  /** Throws a `RequestError` if the session has no such task. */
  find(session: string, params: unknown): Task;
  list(session: string): readonly Task[];
  close(): void;
}

// A call of the newer version that takes longer becomes a task.
const TASK_AFTER_MS = 2000;
const POLL_MS = 1000;
const DEFAULT_TTL_MS = 60 * 60_000;
const MIN_TTL_MS = 1000;
const MAX_TTL_MS = 24 * 60 * 60_000;
const MAX_TASKS = 256;
const MAX_TASKS_PER_SESSION = 64;

export function createTasks(): Tasks {
  // In the order of creation.
  const tasks = new Map<string, Task>();
  const of = (session: string): Task[] => [...tasks.values()].filter((task) => task.session === session);
  // A task that has ended makes room.
  const makeRoom = (session: string): boolean => {
    const own = of(session);
    if (own.length < MAX_TASKS_PER_SESSION && tasks.size < MAX_TASKS) return true;
    const ended = own.find(({ isEnded }) => isEnded);
    ended?.discard();
    return ended !== undefined;
  };
  return {
    async start(session, params, context, call) {
      const hasRoom = makeRoom(session);
      if (!hasRoom && context.isNewer) return call(params, context);
      if (!hasRoom) throw new RequestError(ERROR.internal, 'too many tasks; cancel one, or wait for one to end');
      const task = new Task(session, context, readTtl(params), () => tasks.delete(task.id));
      tasks.set(task.id, task);
      task.run((own) => call(params, own));
      if (!context.isNewer) return { task: task.toOlder() };
      await task.wait(TASK_AFTER_MS, context.cancellation);
      if (!task.isEnded) return { resultType: 'task', ...task.toNewer() };
      task.discard();
      return task.outcome();
    },
    find(session, params) {
      const task = tasks.get(String(isRecord(params) ? params.taskId : undefined));
      if (task?.session === session) return task;
      throw new RequestError(ERROR.invalidParams, 'task not found: it expired, or belongs to another client');
    },
    list: of,
    close() {
      for (const task of tasks.values()) task.discard();
    },
  };
}

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

interface Ended {
  readonly status: Status;
  readonly result?: object;
  readonly error?: RequestError;
}

interface Question {
  readonly request: InputRequest;
  settle(answer: ElicitAnswer | Error): void;
}

/** One call, its questions and its outcome. */
export class Task {
  readonly id = randomUUID();
  readonly session: string;
  readonly #context: RequestContext;
  readonly #cancellation = new Cancellation();
  readonly #questions = new Map<string, Question>();
  readonly #created = new Date();
  readonly #ttlMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #onDiscard: () => void;
  #updated = this.#created;
  #message: string | undefined;
  #ended: Ended | undefined;
  #asked = 0;
  #wake: (() => void)[] = [];

  constructor(session: string, context: RequestContext, ttlMs: number, onDiscard: () => void) {
    this.session = session;
    this.#context = context;
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

  run(call: (context: RequestContext) => Promise<object>): void {
    call(this.#toContext()).then(
      (result) => this.#end({ status: 'completed', result }),
      (error: unknown) => this.#end({ status: 'failed', error: toRequestError(error) }),
    );
  }

  /** Waits until the task ends, asks something or waits for a person, for a limited time. */
  async wait(ms: number, cancellation?: Cancellation): Promise<void> {
    const cancel = (): void => this.cancel();
    cancellation?.onCancel(cancel);
    let timer: NodeJS.Timeout | undefined;
    if (!this.isEnded && this.#questions.size === 0)
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
        if (Number.isFinite(ms)) timer = setTimeout(resolve, ms).unref();
      });
    clearTimeout(timer);
    cancellation?.offCancel(cancel);
  }

  /** Returns the result. Throws the error of the call. */
  outcome(): object {
    const { result, error } = this.#ended!;
    if (result !== undefined) return result;
    throw error ?? new RequestError(ERROR.internal, 'the task was cancelled');
  }

  cancel(): void {
    this.#cancellation.cancel();
    this.#end({ status: 'cancelled' });
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
      const answer = readAnswer(responses, key);
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

  // The request that started the call may be answered long before the call asks something.
  #toContext(): RequestContext {
    const { isNewer, capabilities, clientName, meta } = this.#context;
    return {
      isNewer,
      capabilities,
      clientName,
      meta: meta && withoutToken(meta),
      asksDirectly: true,
      cancellation: this.#cancellation,
      connection: undefined,
      state: undefined,
      inputResponses: undefined,
      notify: () => {},
      log: () => {},
      elicit: (params, signal) => this.#ask({ method: 'elicitation/create', params }, signal),
      onPending: (id) => {
        this.#message = `waits for approval by a person: wield approvals approve ${id}`;
        this.#touch();
      },
    };
  }

  #ask(request: InputRequest, signal: AbortSignal): Promise<ElicitAnswer> {
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

// Progress of a task is not sent.
function withoutToken({ progressToken: _, ...meta }: Params): Params {
  return meta;
}

function readTtl({ task }: Params): number {
  const ttl = isRecord(task) ? task.ttl : undefined;
  if (typeof ttl !== 'number' || !Number.isFinite(ttl)) return DEFAULT_TTL_MS;
  return Math.min(Math.max(Math.round(ttl), MIN_TTL_MS), MAX_TTL_MS);
}

function toRequestError(error: unknown): RequestError {
  return error instanceof RequestError ? error : new RequestError(ERROR.internal, (error as Error).message);
}
