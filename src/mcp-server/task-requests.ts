// The requests about tasks, in both protocol versions.

import { RpcError } from '../net/mcp.js';
import type { InputAnswer } from './input-request.js';
import { ANSWER_TIMEOUT_MS } from './interactive-calls.js';
import { ERROR, META } from './message.js';
import { pageAt } from './pages.js';
import type { RequestContext } from './request-context.js';
import type { Server, ServerContext } from './sdk.js';
import type { Task } from './task.js';
import type { Tasks } from './tasks.js';
import { hasTasks, needsTasks } from './wants-task.js';

export interface TaskRequestsOptions {
  readonly server: Server;
  readonly session: string;
  readonly tasks: () => Promise<Tasks>;
  readonly toContext: (context: ServerContext) => RequestContext;
}

// Parameters are read where they are used.
const ANY = { '~standard': { version: 1, vendor: 'wield', validate: (value: unknown) => ({ value }) } } as const;

type Handler = (params: Record<string, unknown>, context: ServerContext) => Promise<object>;

export function registerTaskRequests({ server, session, tasks, toContext }: TaskRequestsOptions): void {
  const on = (method: string, handler: Handler): void =>
    server.setRequestHandler(method, { params: ANY as never }, handler as never);
  const find = async (params: Record<string, unknown>): Promise<Task> => (await tasks()).find(session, params);
  const isNewer = (context: ServerContext): boolean => {
    const request = toContext(context);
    if (request.isNewer && !hasTasks(request.capabilities)) throw needsTasks(request);
    return request.isNewer;
  };

  on('tasks/get', async (params, context) => {
    const newer = isNewer(context);
    const task = await find(params);
    return newer ? task.toDetailed() : task.toOlder();
  });
  on('tasks/cancel', async (params, context) => {
    const newer = isNewer(context);
    const task = await find(params);
    if (!newer && task.isEnded) throw new RpcError(ERROR.invalidParams, `the task is ${task.status} already`);
    task.cancel();
    return newer ? {} : task.toOlder();
  });
  on('tasks/update', async (params, context) => {
    if (!isNewer(context)) throw new RpcError(ERROR.methodNotFound, 'Method not found');
    // The SDK takes them out of the parameters.
    (await find(params)).answer(params.inputResponses ?? toContext(context).inputResponses);
    return {};
  });
  on('tasks/result', async (params, context) => {
    const task = await find(params);
    const related = { [META.relatedTask]: { taskId: task.id } };
    await untilEnded(task, related, context);
    const result = task.outcome() as { readonly _meta?: object };
    return { ...result, _meta: { ...result._meta, ...related } };
  });
  on('tasks/list', async (params) => {
    const all = (await tasks()).list(session).map((task) => task.toOlder());
    const { from, to, nextCursor } = pageAt(params?.cursor as string | undefined, all.length);
    return { tasks: all.slice(from, to), nextCursor };
  });
}

// Questions of the task are sent while the client waits for the result.
async function untilEnded(task: Task, related: object, { mcpReq }: ServerContext): Promise<void> {
  while (!task.isEnded) {
    await task.wait(Number.POSITIVE_INFINITY);
    for (const { request, settle } of [...task.questions.values()]) {
      const params = { ...request.params, _meta: related } as never;
      const asked = { method: request.method, params } as const;
      const answer = mcpReq.send(asked as never, { signal: mcpReq.signal, timeout: ANSWER_TIMEOUT_MS });
      settle(await answer.then((given) => given as unknown as InputAnswer).catch((error: Error) => error));
    }
  }
}
