// Runs a plan on a tool host: time limit, cancellation, and the requests of the tool during the call.

import { Cancellation } from '../../core/cancellation.js';
import { lacksCapability } from '../../core/client-request.js';
import { ToolError, toToolError } from '../../core/error.js';
import type { RunContext } from '../../core/executor.js';
import type { ModulePlan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import { toToolConfig } from '../../core/settings.js';
import { cancelled, startTimeLimit, timedOut } from '../../core/time-limit.js';
import type { HostConnection } from './connection.js';
import type { Answer, Question, Request } from './protocol.js';
import { answerStore } from './remote-store.js';

// Time for a cancelled tool to stop before its host is killed.
const STOP_MS = 2000;

/** Runs a plan. Calls `onStuck` if the call has ended but its code does not stop. */
export function runOnHost(
  host: HostConnection,
  plan: ModulePlan,
  context: RunContext,
  onStuck: () => void,
): Promise<Output> {
  let resolve: (output: Output) => void;
  const promise = new Promise<Output>((settle) => {
    resolve = settle;
  });
  const { name } = plan.tool;
  const callEnded = new Cancellation();
  let responsive = false;
  let grace: NodeJS.Timeout | undefined;
  const finish = (output: Output): void => {
    if (callEnded.isCancelled) return;
    limit.clear();
    callEnded.cancel();
    context.cancellation.offCancel(onCancel);
    resolve(output);
  };
  const remove = (): void => {
    clearTimeout(grace);
    host.remove(id);
  };
  // RUN-6: the caller is answered at once. Code that does not stop in time costs its host.
  const stop = (error: ToolError): void => {
    if (callEnded.isCancelled) return;
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
  const onCancel = (): void => stop(cancelled(name));
  const limit = startTimeLimit(context.timeoutMs ?? plan.timeoutMs, () => stop(timedOut(name, plan.timeoutMs)));
  context.whileAsked?.(limit.pause);
  const id = host.add({
    tool: name,
    onReply(reply) {
      responsive = true;
      if (reply.type === 'result') {
        remove();
        finish(reply.output);
      } else if (callEnded.isCancelled) return;
      else if (reply.type === 'progress') context.progress(reply.progress);
      else if ('question' in reply) {
        answerQuestion(reply, context, callEnded)
          .catch((thrown: unknown): Answer => ({ error: toToolError(thrown).toJSON() }))
          .then((answer) => host.send({ type: 'answer', id, question: reply.question, answer }));
      }
    },
    onLost(error) {
      remove();
      finish(failed(error));
    },
  });
  host.send(toRequest(id, plan, context));
  context.cancellation.onCancel(onCancel);
  return promise;
}

function toRequest(id: number, plan: ModulePlan, context: RunContext): Request {
  return {
    type: 'run',
    id,
    tool: plan.tool.name,
    source: plan.source,
    export: plan.export,
    offer: plan.offer,
    input: plan.input,
    workdir: context.workdir,
    config: toToolConfig(context.snapshot.settings),
    stores: context.store !== null,
    upstreams: context.remoteTools !== undefined,
    asks: context.elicit !== undefined,
    outputBytes: plan.limits.outputBytes,
  };
}

async function answerQuestion(question: Question, context: RunContext, ended: Cancellation): Promise<Answer> {
  switch (question.type) {
    case 'call':
      return { result: await context.call(question.ref, question.input) };
    case 'store':
      return { value: await answerStore(context.store, question.method, question.args) };
    case 'remote-tools':
      if (context.remoteTools !== undefined) return { remoteTools: await context.remoteTools() };
      break;
    case 'elicit':
      if (context.elicit !== undefined) return { elicited: await context.elicit(question.request, ended.signal) };
      break;
    case 'client': {
      const { client } = context;
      if (client !== undefined) return { answered: await client.request(question.request, ended.signal) };
      throw lacksCapability('the tool', question.request.capability);
    }
  }
  throw new ToolError('unavailable', `${question.type} is not available in this call`);
}

function failed(error: ToolError): Output {
  return { content: [textPart('')], error };
}
