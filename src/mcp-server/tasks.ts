// The tasks of all clients: calls whose result the client fetches later, and the requests about them (SRV-70).

import { isRecord } from '../core/json.js';
import { ERROR, META, RpcError, TASKS } from '../net/mcp.js';
import { hasExtension } from './apps.js';
import { findMost } from './identity.js';
import { findParamsFault, PARAM_SHAPES, type Params } from './message.js';
import { pageAt } from './pages.js';
import type { RequestScope } from './request.js';
import { Task } from './task.js';

/** Runs a call to its end; questions go through the scope. */
type CallNow = (params: Params, scope: RequestScope) => Promise<object>;

// A call of the newer version that takes longer becomes a task.
const TASK_AFTER_MS = 2000;
const DEFAULT_TTL_MS = 60 * 60_000;
const MIN_TTL_MS = 1000;
const MAX_TTL_MS = 24 * 60 * 60_000;
const MAX_TASKS = 256;
const MAX_TASKS_PER_SESSION = 64;

export function createTasks(call: CallNow) {
  // In the order of creation.
  const tasks = new Map<string, Task>();
  const of = (session: string): Task[] => [...tasks.values()].filter((task) => task.session === session);
  // A task that has ended makes room. If there are too many in all, the session with the most gives way: no client can
  // keep the others from starting any.
  const makeRoom = (session: string): boolean => {
    const own = of(session);
    const isFull = own.length >= MAX_TASKS_PER_SESSION;
    if (!isFull && tasks.size < MAX_TASKS) return true;
    const ended = (isFull ? own : [...tasks.values()]).filter(({ isEnded }) => isEnded);
    if (ended.length === 0) return false;
    const crowded = findMost(ended.map((task) => task.session));
    ended.find((task) => task.session === crowded)!.discard();
    return true;
  };
  const find = (params: Params, scope: RequestScope): Task => {
    const task = tasks.get(String(params.taskId));
    if (task?.session === scope.client.session) return task;
    throw new RpcError(ERROR.invalidParams, 'task not found: it expired, or belongs to another client');
  };
  return {
    /** Answers a call that may become a task: with its handle, or the result of a call that ends at once. */
    async start(params: Params, scope: RequestScope): Promise<object> {
      const fault = scope.isNewer ? undefined : findParamsFault(PARAM_SHAPES.task, params);
      if (fault !== undefined) throw new RpcError(ERROR.invalidParams, `Invalid tools/call request: ${fault}`);
      const hasRoom = makeRoom(scope.client.session);
      if (!hasRoom && scope.isNewer) return call(params, scope);
      if (!hasRoom) throw new RpcError(ERROR.internal, 'too many tasks; cancel one, or wait for one to end');
      const task = new Task(scope, readTtl(params), () => tasks.delete(task.id));
      tasks.set(task.id, task);
      if (!scope.isNewer) task.handOut();
      task.run((own) => call(params, own));
      if (!scope.isNewer) return { task: task.toOlder() };
      await task.wait(TASK_AFTER_MS, scope.controller.signal);
      if (!task.isEnded) {
        task.handOut();
        return { resultType: 'task', ...task.toNewer() };
      }
      task.discard();
      return task.outcome();
    },
    async get(params: Params, scope: RequestScope): Promise<object> {
      assertTasks(scope);
      const task = find(params, scope);
      return scope.isNewer ? task.toDetailed() : task.toOlder();
    },
    async cancel(params: Params, scope: RequestScope): Promise<object> {
      assertTasks(scope);
      const task = find(params, scope);
      if (!scope.isNewer && task.isEnded) throw new RpcError(ERROR.invalidParams, `the task is ${task.status} already`);
      task.cancel();
      return scope.isNewer ? {} : task.toOlder();
    },
    async update(params: Params, scope: RequestScope): Promise<object> {
      assertTasks(scope);
      find(params, scope).answer(params.inputResponses);
      return {};
    },
    async result(params: Params, scope: RequestScope): Promise<object> {
      const task = find(params, scope);
      const related = { [META.relatedTask]: { taskId: task.id } };
      await untilEnded(task, related, scope);
      const result = task.outcome() as { readonly _meta?: object };
      return { ...result, _meta: { ...result._meta, ...related } };
    },
    async list(params: Params, scope: RequestScope): Promise<object> {
      const all = of(scope.client.session).map((task) => task.toOlder());
      const { from, to, nextCursor } = pageAt(params.cursor as string | undefined, all.length);
      return { tasks: all.slice(from, to), nextCursor };
    },
    /** Whether a task of a session runs; one that waits for an answer does not. */
    isRunning: (session: string): boolean => of(session).some(({ status }) => status === 'working'),
    abandonQuestions(): void {
      for (const task of tasks.values()) task.abandonQuestions();
    },
    /** Ends the tasks of a session, which nobody can ask for any more. */
    endSession(session: string): void {
      for (const task of of(session)) task.discard();
    },
    close(): void {
      for (const task of tasks.values()) task.discard();
    },
  };
}

// Questions of the task are sent while the client waits for the result.
async function untilEnded(task: Task, related: object, scope: RequestScope): Promise<void> {
  while (!task.isEnded) {
    await task.wait(Number.POSITIVE_INFINITY);
    scope.controller.signal.throwIfAborted();
    for (const { request, settle } of [...task.questions.values()]) {
      const asked = { method: request.method, params: { ...request.params, _meta: related } };
      settle(await scope.request(asked, scope.controller.signal).catch((error: Error) => error));
    }
  }
}

function readTtl({ task }: Params): number {
  const ttl = isRecord(task) ? task.ttl : undefined;
  if (typeof ttl !== 'number' || !Number.isFinite(ttl)) return DEFAULT_TTL_MS;
  return Math.min(Math.max(Math.round(ttl), MIN_TTL_MS), MAX_TTL_MS);
}

/** The error of a request that only clients with tasks can send. */
export function needsTasks({ isNewer }: RequestScope): RpcError {
  // The older version has no code for it.
  if (!isNewer) return new RpcError(ERROR.methodNotFound, 'the tool can only be called as a task');
  const requiredCapabilities = { extensions: { [TASKS]: {} } };
  return new RpcError(ERROR.missingCapability, 'Missing required client capability', { requiredCapabilities });
}

/** Whether a call may become a task: in the older version the client asks for one with the call. */
export function wantsTask({ task }: Params, scope: RequestScope): boolean {
  return scope.isNewer ? hasTasks(scope.capabilities) : task !== undefined;
}

function assertTasks(scope: RequestScope): void {
  if (scope.isNewer && !hasTasks(scope.capabilities)) throw needsTasks(scope);
}

function hasTasks(capabilities: unknown): boolean {
  return hasExtension(capabilities, TASKS);
}
