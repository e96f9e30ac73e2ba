// The remote executor: says what a server would be asked to run; the running is loaded with the first call.

import type { Progress } from '../../core/context.js';
import type { Executor } from '../../core/executor.js';
import { canonicalJson } from '../../core/json.js';
import type { RemotePlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { RemoteAction, Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { Pool } from '../connection/pool.js';

export interface RemoteExecutorOptions {
  /** SHA-256 of parts, from whoever has it. */
  readonly digest: (parts: readonly string[]) => string;
  /** The server of a name, with the name of its configuration now. */
  readonly find: (
    server: string,
  ) => { readonly server: ServerEntry; readonly configuration: string } | undefined;
  readonly pool: Pick<Pool, 'acquire' | 'close'>;
  /** Takes the secrets that a server was given out of what it says. */
  readonly redact: (output: Output) => Output;
  /** The same for what it says on the way. */
  readonly redactProgress: (progress: Progress) => Progress;
}

// Most starts call no server.
let running: typeof import('./run.js') | undefined;

export function createRemoteExecutor(options: RemoteExecutorOptions): Executor<'remote'> {
  return {
    kind: 'remote',
    digest: (tool) => {
      const { server, tool: name, target, configuration, definition } = actionOf(tool);
      const input = canonicalJson(tool.input.json);
      return options.digest([server, name, target, configuration, definition, tool.name, input]);
    },
    plan: (tool, input, { timeoutMs }): RemotePlan => {
      const { server, tool: remoteTool, target } = actionOf(tool);
      return { kind: 'remote', tool, input, timeoutMs, server, remoteTool, target };
    },
    async run(plan, context) {
      if (plan.kind !== 'remote') throw new TypeError(`${plan.tool.name} is no tool of a server`);
      running ??= await import('./run.js');
      return running.runRemote(plan, context, options);
    },
    close: () => options.pool.close(),
  };
}

export function actionOf(tool: Tool): RemoteAction {
  if (tool.action.kind !== 'remote') throw new TypeError(`${tool.name} is no tool of a server`);
  return tool.action;
}
