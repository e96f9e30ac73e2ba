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
      const { server, tool: name, target, configuration, definition, method } = remoteActionOf(tool);
      const parts = [server, name, target, configuration, definition];
      // A resource that is read through a template has its own name, and a tool that keeps its name may get another one.
      if (method !== undefined) return digestParts([...parts, 'offer']);
      const { uri, otherName } = tool.origin;
      const named = otherName === undefined ? tool.name : uri!;
      return digestParts([...parts, named, canonicalJson(tool.input.json)]);
    },
    plan: (tool, input, { timeoutMs }): RemotePlan => {
      const { server, tool: name, target, method, uri } = remoteActionOf(tool);
      const request = method === undefined ? {} : { method };
      return { kind: 'remote', tool, input, timeoutMs, server, remoteTool: uri ?? name, target, ...request };
    },
    async run(plan, context) {
      if (plan.kind !== 'remote') throw new TypeError(`${plan.tool.name} is not an upstream tool`);
      running ??= await import('./run.js');
      return running.runRemote(plan, context, options);
    },
    close: () => options.close(),
  };
}
