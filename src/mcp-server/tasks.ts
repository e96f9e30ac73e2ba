// The tasks of all clients: calls whose result the client fetches later (SRV-70).

import { isRecord } from '../core/json.js';
import { RpcError } from '../net/mcp.js';
import { ERROR, type Params } from './message.js';
import type { RequestContext, RequestState } from './request-context.js';
import { Task } from './task.js';

/** Runs a call to its end; questions go through the context. */
export type CallNow = (params: Params, context: RequestContext) => Promise<object>;

export interface Tasks {
  /** Starts a task; returns its handle, or the result of a call that ends at once. */
  start(session: string, params: Params, context: RequestContext, call: CallNow): Promise<object>;
  /** Throws a `RpcError` if the session has no such task. */
  find(session: string, params: unknown): Task;
  list(session: string): readonly Task[];
  /** Ends the tasks of a session: nobody can ask for them any more. */
  end(session: string): void;
  close(): void;
}

// A call of the newer version that takes longer becomes a task.
const TASK_AFTER_MS = 2000;
const DEFAULT_TTL_MS = 60 * 60_000;
const MIN_TTL_MS = 1000;
const MAX_TTL_MS = 24 * 60 * 60_000;
const MAX_TASKS = 256;
const MAX_TASKS_PER_SESSION = 64;

export function createTasks(verifyState: (state: string) => RequestState): Tasks {
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
      if (!hasRoom) throw new RpcError(ERROR.internal, 'too many tasks; cancel one, or wait for one to end');
      const task = new Task(session, context, readTtl(params), () => tasks.delete(task.id));
      tasks.set(task.id, task);
      if (!context.isNewer) task.handOut();
      task.run((own) => call(params, own), verifyState);
      if (!context.isNewer) return { task: task.toOlder() };
      await task.wait(TASK_AFTER_MS, context.cancellation);
      if (!task.isEnded) {
        task.handOut();
        return { resultType: 'task', ...task.toNewer() };
      }
      task.discard();
      return task.outcome();
    },
    find(session, params) {
      const task = tasks.get(String(isRecord(params) ? params.taskId : undefined));
      if (task?.session === session) return task;
      throw new RpcError(ERROR.invalidParams, 'task not found: it expired, or belongs to another client');
    },
    list: of,
    end(session) {
      for (const task of of(session)) task.discard();
    },
    close() {
      for (const task of tasks.values()) task.discard();
    },
  };
}

function readTtl({ task }: Params): number {
  const ttl = isRecord(task) ? task.ttl : undefined;
  if (typeof ttl !== 'number' || !Number.isFinite(ttl)) return DEFAULT_TTL_MS;
  return Math.min(Math.max(Math.round(ttl), MIN_TTL_MS), MAX_TTL_MS);
}
