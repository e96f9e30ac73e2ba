// The remote executor: plans calls of upstream tools; the code that runs them is loaded on the first call.

import type { Executor } from '../../core/executor.js';
import { canonicalJson } from '../../core/json.js';
import type { RemotePlan } from '../../core/plan.js';
import { remoteActionOf } from '../../core/upstream.js';
import { digestParts } from '../../files/digest.js';
import type { RemoteRunOptions } from './run.js';

let running: typeof import('./run.js') | undefined;

export function createRemoteExecutor(options: RemoteRunOptions): Executor<'remote'> {
  return {
    kind: 'remote',
    digest: (tool) => {
      const { server, tool: name, target, configuration, definition } = remoteActionOf(tool);
      const input = canonicalJson(tool.input.json);
      return digestParts([server, name, target, configuration, definition, tool.name, input]);
    },
    plan: (tool, input, { timeoutMs }): RemotePlan => {
      const { server, tool: remoteTool, target } = remoteActionOf(tool);
      return { kind: 'remote', tool, input, timeoutMs, server, remoteTool, target };
    },
    async run(plan, context) {
      if (plan.kind !== 'remote') throw new TypeError(`${plan.tool.name} is not an upstream tool`);
      running ??= await import('./run.js');
      return running.runRemote(plan, context, options);
    },
    close: () => options.close(),
  };
}
