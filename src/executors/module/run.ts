// Runs a plan on a tool host: time limit, cancellation, and the requests of the tool during the call.

import { deferred, onAbort } from '../../core/async.js';
import { lacksCapability } from '../../core/client-request.js';
import { ToolError, toToolError } from '../../core/error.js';
import type { CallScope } from '../../core/executor.js';
import type { Json } from '../../core/json.js';
import type { ModulePlan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import { toToolConfig } from '../../core/settings.js';
import { formatDuration } from '../../core/text.js';
import { cancelled, startTimeLimit, timedOut } from '../../core/time-limit.js';
import type { ModuleFiles } from '../../core/tool.js';
import type { HostConnection } from './connection.js';
import type { Answer, Question, Request } from './protocol.js';
import { answerStore } from './remote-store.js';

// Time for a cancelled tool to stop before its host is killed.
const STOP_MS = 2000;

/** Runs a plan. Calls `onStuck` if the call has ended but its code does not stop. */
export function runOnHost(
  host: HostConnection,
  plan: ModulePlan,
  scope: CallScope,
  onStuck: () => void,
): Promise<Output> {
  const ended = deferred<Output>();
  const { name } = plan.tool;
  const callEnded = new AbortController();
  let responsive = false;
  let grace: NodeJS.Timeout | undefined;
  let release = (): void => {};
  const finish = (output: Output): void => {
    if (callEnded.signal.aborted) return;
    limit.clear();
    callEnded.abort();
    release();
    ended.resolve(output);
  };
  const remove = (): void => {
    clearTimeout(grace);
    host.remove(id);
  };
  // RUN-6: the caller is answered at once. Code that does not stop in time costs its host.
  const stop = (error: ToolError): void => {
    if (callEnded.signal.aborted) return;
    finish(failed(error));
    // Set again by any reply after the cancellation.
    responsive = false;
    host.send({ type: 'cancel', id });
    grace = setTimeout(() => {
      remove();
      if (responsive) onStuck();
      else host.kill(`${name} did not stop and blocked its host`);
    }, STOP_MS);
  };
  const limit = startTimeLimit(scope.timeoutMs ?? plan.timeoutMs, () => stop(timedOut(name, plan.timeoutMs)));
  scope.whileAsked(limit.pause);
  const id = host.add({
    tool: name,
    onReply(reply) {
      responsive = true;
      if (reply.type === 'result') {
        remove();
        finish(reply.output);
      } else if (callEnded.signal.aborted) return;
      else if (reply.type === 'progress') scope.progress(reply.progress);
      else if (reply.type === 'log') scope.log?.({ level: 'info', data: reply.message, logger: name });
      else if ('question' in reply) {
        answerQuestion(reply, scope, callEnded.signal)
          .then(
            (value): Answer => ({ value }),
            (thrown: unknown): Answer => ({ error: toToolError(thrown).toJSON() }),
          )
          .then((answer) => host.send({ type: 'answer', id, question: reply.question, answer }));
      }
    },
    onLost(error) {
      remove();
      finish(failed(error));
    },
  });
  host.send(toRequest(id, plan, scope));
  release = onAbort(scope.controller.signal, () => stop(cancelled(name)));
  return ended.promise;
}

function toRequest(id: number, plan: ModulePlan, scope: CallScope): Request {
  return {
    type: 'run',
    id,
    tool: plan.tool.name,
    source: plan.source,
    export: plan.export,
    offer: plan.offer,
    input: plan.input,
    workdir: scope.snapshot.workdir,
    config: toToolConfig(scope.snapshot.settings),
    stores: scope.store !== null,
    upstreams: scope.remoteTools !== undefined,
    asks: scope.elicit !== undefined,
    outputBytes: plan.limits.outputBytes,
  };
}

async function answerQuestion(question: Question, scope: CallScope, ended: AbortSignal): Promise<unknown> {
  switch (question.type) {
    case 'call':
      return scope.call(question.ref, question.input);
    case 'store':
      return answerStore(scope.store, question.method, question.args);
    case 'remote-tools':
      if (scope.remoteTools !== undefined) return scope.remoteTools();
      break;
    case 'elicit':
      if (scope.elicit !== undefined) return scope.elicit(question.request, ended);
      break;
    case 'client':
      if (scope.client !== undefined) return scope.client.request(question.request, ended);
      throw lacksCapability('the tool', question.request.capability);
  }
  throw new ToolError('unavailable', `${question.type} is not available in this call`);
}

function failed(error: ToolError): Output {
  return { content: [textPart('')], error };
}

const TIMEOUT_MS = 10_000;
const HINT = 'only define tools while loading, and do the work in execute';

/** Throws `timeout` or `exec_failed` if the module does not load. */
export function describeOnHost(host: HostConnection, source: ModuleFiles): Promise<Json> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      host.remove(id);
      act();
    };
    const timer = setTimeout(() => {
      const message = `does not finish loading within ${formatDuration(TIMEOUT_MS)}`;
      settle(() => reject(new ToolError('timeout', message, { hint: HINT })));
      host.kill('a module did not finish loading');
    }, TIMEOUT_MS);
    const id = host.add({
      tool: source.file,
      onReply(reply) {
        if (reply.type === 'described') settle(() => resolve(reply.description));
      },
      onLost({ message }) {
        settle(() =>
          reject(new ToolError('exec_failed', `ends its process while loading (${message})`, { hint: HINT })),
        );
      },
    });
    host.send({ type: 'describe', id, source });
  });
}
