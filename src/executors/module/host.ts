// One tool host, as we see it: what is asked of it, what it answers, and what its end means for those who wait.

import { atMost } from '../../core/at-most.js';
import { ERROR_CODES, type ErrorCode, type ErrorValue, ToolError, toToolError } from '../../core/error.js';
import type { RunContext } from '../../core/executor.js';
import { isRecord, type Json } from '../../core/json.js';
import type { ModulePlan } from '../../core/plan.js';
import { type Output, type Part, textPart } from '../../core/result.js';
import { cancelled, timedOut } from '../../core/stopped.js';
import { formatDuration } from '../../core/text.js';
import { startTimeLimit } from '../../core/time-limit.js';
import type { ModuleFiles } from '../../core/tool.js';
import { startCompanion } from '../../process/companion.js';
import type { ModuleExecutorOptions } from './index.js';
import type { Setting } from './pool.js';
import { type Answer, createLineReader, type Reply, type Request } from './protocol.js';
import { answerStore } from './remote-store.js';

export interface Host {
  describe(source: ModuleFiles): Promise<Json>;
  /** Runs a plan. `onStuck` is told where the call is over and its code goes on. */
  run(plan: ModulePlan, context: RunContext, onStuck: () => void): Promise<Output>;
  readonly ended: Promise<unknown>;
  kill(): void;
  /** Ends it politely, and after a while not. */
  close(graceMs: number): Promise<void>;
}

// What a file may take to load when only its description is wanted.
const DESCRIBE_MS = 10_000;
// Between telling a tool to stop and taking its host away.
const STOP_MS = 2000;
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const DEFAULT_HEAP_BYTES = 1024 * 1024 * 1024;
const FLAGS = [
  '--experimental-vm-modules',
  '--experimental-import-meta-resolve',
  '--disable-warning=ExperimentalWarning',
];

/** Someone who waits for the host. */
interface Waiter {
  readonly tool: string;
  hear(reply: Reply): void;
  /** The host is gone. */
  lose(error: ToolError): void;
}

/** Starts a host. `onEnd` is told as soon as it takes nothing more, which may be before its process is gone. */
export async function startHost(
  setting: Setting,
  options: ModuleExecutorOptions,
  onEnd: () => void,
): Promise<Host> {
  const { world } = options;
  const heap = Math.floor((setting.limits.memoryBytes ?? DEFAULT_HEAP_BYTES) / (1024 * 1024));
  const argv = [
    process.execPath,
    ...FLAGS,
    `--max-old-space-size=${Math.max(heap, 32)}`,
    options.entry(),
    options.cacheDirectory,
  ];
  const companion = await startCompanion({ argv, cwd: setting.cwd, environment: setting.environment }, world);
  const waiters = new Map<number, Waiter>();
  let ids = 0;
  let blamed: string | undefined;

  const send = (request: Request): void => {
    if (!companion.channel.destroyed) companion.channel.write(`${JSON.stringify(request)}\n`);
  };
  const kill = (why: string): void => {
    blamed ??= why;
    onEnd();
    companion.kill();
  };
  const hear = (line: string): void => {
    let reply: Reply;
    try {
      reply = JSON.parse(line) as Reply;
    } catch {
      kill('it said something that is no message');
      return;
    }
    if (reply.type === 'log') world.debug(`${waiters.get(reply.id)?.tool}: ${reply.message}`);
    else waiters.get(reply.id)?.hear(reply);
  };
  const read = createLineReader(hear, MAX_LINE_BYTES);
  companion.channel.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      kill((error as Error).message);
    }
  });
  companion.channel.on('error', () => {});
  companion.ended.then(({ code, signal }) => {
    onEnd();
    const how = blamed ?? (signal === null ? `it exited with status ${code}` : `it was ended by ${signal}`);
    for (const waiter of waiters.values()) waiter.lose(hostEnded(waiter.tool, how));
    waiters.clear();
  });

  const wait = (waiter: Waiter): number => {
    const id = ++ids;
    waiters.set(id, waiter);
    return id;
  };

  return {
    ended: companion.ended,
    kill: () => kill('it was not needed any more'),
    async close(graceMs) {
      companion.channel.end();
      await atMost(companion.ended, graceMs);
      companion.kill();
    },
    describe: (source) =>
      new Promise((resolve, reject) => {
        const settle = (act: () => void): void => {
          clearTimeout(timer);
          waiters.delete(id);
          act();
        };
        const timer = setTimeout(() => {
          settle(() => reject(slowToLoad()));
          kill('a module did not finish loading');
        }, DESCRIBE_MS);
        const id = wait({
          tool: source.file,
          hear: (reply) => {
            if (reply.type === 'described') settle(() => resolve(reply.description));
          },
          lose: (error) => settle(() => reject(endedLoading(error))),
        });
        send({ type: 'describe', id, source });
      }),
    run: (plan, context, onStuck) =>
      new Promise((resolve) => {
        const { name } = plan.tool;
        let over = false;
        let alive = false;
        let grace: NodeJS.Timeout | undefined;
        const asking = new AbortController();
        const answer = (output: Output): void => {
          if (over) return;
          over = true;
          limit.clear();
          asking.abort();
          context.signal.removeEventListener('abort', onAbort);
          resolve(output);
        };
        const forget = (): void => {
          clearTimeout(grace);
          waiters.delete(id);
        };
        // RUN-6: the caller is answered at once; the code has a while to stop, else it costs the host.
        const stop = (error: ToolError): void => {
          if (over) return;
          answer(failed(error));
          // Only what is heard from now on says that the host still listens.
          alive = false;
          send({ type: 'cancel', id });
          grace = setTimeout(() => {
            forget();
            if (alive) onStuck();
            else kill(`${name} did not stop and let nothing else run`);
          }, STOP_MS);
        };
        const onAbort = (): void => stop(cancelled(name));
        const limit = startTimeLimit(context.timeoutMs ?? plan.timeoutMs, () =>
          stop(timedOut(name, plan.timeoutMs)),
        );
        context.whileAsked?.(limit.pause);
        const reply = (question: number, promise: Promise<Answer>): void => {
          promise
            .catch((thrown: unknown): Answer => ({ error: toToolError(thrown).toJSON() }))
            .then((given) => send({ type: 'answer', id, question, answer: given }));
        };
        const id = wait({
          tool: name,
          hear: (message) => {
            alive = true;
            if (message.type === 'result') {
              forget();
              answer(toOutput(message));
            } else if (over) return;
            else if (message.type === 'progress') context.progress(message.progress);
            else if (message.type === 'call')
              reply(
                message.question,
                context.call(message.ref, message.input).then((result) => ({ result })),
              );
            else if (message.type === 'store')
              reply(
                message.question,
                answerStore(context.store, message.method, message.args).then((value) => ({ value })),
              );
            else if (message.type === 'remote-tools' && context.remoteTools !== undefined)
              reply(
                message.question,
                context.remoteTools().then((remoteTools) => ({ remoteTools })),
              );
            else if (message.type === 'elicit' && context.elicit !== undefined)
              reply(
                message.question,
                context.elicit(message.request, asking.signal).then((elicited) => ({ elicited })),
              );
          },
          lose: (error) => {
            forget();
            answer(failed(error));
          },
        });
        context.signal.addEventListener('abort', onAbort, { once: true });
        send({
          type: 'run',
          id,
          tool: name,
          source: plan.source,
          export: plan.export,
          input: plan.input,
          workdir: context.workdir,
          config: context.config,
          stores: context.store !== null,
          upstreams: context.remoteTools !== undefined,
          asks: context.elicit !== undefined,
          outputBytes: plan.limits.outputBytes,
        });
        if (context.signal.aborted) onAbort();
      }),
  };
}

function toOutput({ content, structured, error }: Reply & { readonly type: 'result' }): Output {
  const parts = Array.isArray(content) ? content.filter(isPart) : [];
  return {
    content: parts.length > 0 ? parts : [textPart('')],
    ...(structured === undefined ? {} : { structured }),
    ...(error === undefined ? {} : { error: toError(error) }),
  };
}

function isPart(part: unknown): part is Part {
  return isRecord(part) && typeof part.type === 'string';
}

function toError({ code, message, hint, data }: ErrorValue): ToolError {
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? code : 'tool_failed';
  return new ToolError(known, String(message), { hint: hint ?? 'mend the tool', data });
}

function failed(error: ToolError): Output {
  return { content: [textPart('')], error };
}

// Whoever else ran in that host is not to blame, so the next step is to try again.
function hostEnded(tool: string, how: string): ToolError {
  return new ToolError('exec_failed', `the tool host ended while it ran ${tool}: ${how}`, {
    hint: 'call it again: a fresh host is started; if it ends again, the tool itself ends its process',
    data: { retry: true },
  });
}

function endedLoading(error: ToolError): ToolError {
  return new ToolError('exec_failed', `ends its process while it loads (${error.message})`, {
    hint: 'let it only define tools when it is loaded',
  });
}

function slowToLoad(): ToolError {
  return new ToolError('timeout', `does not finish loading within ${formatDuration(DESCRIBE_MS)}`, {
    hint: 'let it only define tools when it is loaded, and do the work in execute',
  });
}
