// Runs a job with the toolbox of a worker: the one call path, with the decision of the front.

import type { Json } from '../core/json.js';
import { addSecrets, type KnownSecrets } from '../core/redact.js';
import type { ToolResult } from '../core/result.js';
import type { DoorOptions, Toolbox } from '../core/toolbox.js';
import type { Job } from './job.js';
import type { Reporter } from './reporter.js';

export interface RunJobOptions {
  readonly toolbox: Toolbox;
  /** What the toolbox must not show. */
  readonly secrets: KnownSecrets;
  readonly job: Job;
  /** The time that is left. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
  /** Called before the tool starts; it does not start if this fails. */
  readonly onStart: () => Promise<void>;
}

export async function runJob(options: RunJobOptions): Promise<{ result: ToolResult; started: boolean }> {
  const { toolbox, secrets, job, timeoutMs, signal, reporter, onStart } = options;
  const { tool, input, caller, digest, approval, trace, variables, entered, isStateless, wants } = job;
  addSecrets(secrets, Object.values(variables ?? {}));
  let started = false;
  let sending: Promise<unknown> = Promise.resolve();
  const send = (type: 'progress' | 'log', value: unknown): void => {
    sending = reporter.send(job, { type, value: value as Json });
  };
  const call: DoorOptions = {
    caller,
    dispatched: { digest, approval, variables, entered },
    timeoutMs,
    signal,
    full: true,
    ...(isStateless ? { background: 'none' } : {}),
    ...(trace === undefined ? {} : { trace }),
    ready: async () => {
      await onStart();
      started = true;
    },
    ...(wants.progress ? { onProgress: (progress) => send('progress', progress) } : {}),
    ...(wants.log ? { onLog: (entry) => send('log', entry) } : {}),
    ...(wants.output
      ? {
          onOutput: async (chunk, from) => {
            await reporter.send(job, { type: 'output', from, base64: Buffer.from(chunk).toString('base64') });
          },
        }
      : {}),
  };
  const result = await toolbox.call(tool, input, call);
  await sending;
  return { result, started };
}
