// The remote executor: plans and runs calls of upstream tools.

import { delimiter, resolve } from 'node:path';
import type { Executor, PlanSnapshot } from '../../core/executor.js';
import { canonicalJson } from '../../core/json.js';
import type { RemotePlan } from '../../core/plan.js';
import { textOf } from '../../core/result.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import { actionOf } from '../../core/tool.js';
import type { StdioServer } from '../../core/upstream.js';
import { digestParts } from '../../files/digest.js';
import { baseEnvironment, findProgram } from '../../process/environment.js';
import { identifyPrograms } from '../../process/programs.js';
import type { SandboxContext } from '../../process/sandbox/index.js';
import { expandServer } from '../entries/expand.js';
import { assertWholeServer, keepsSandbox, serverProfiles } from '../entries/sandbox.js';
import type { RemoteRunOptions } from './run.js';

export function createRemoteExecutor(options: RemoteRunOptions): Executor<'remote'> {
  let running: Promise<typeof import('./run.js')> | undefined;
  return {
    kind: 'remote',
    digest: (tool) => {
      const { server, tool: name, target, configuration, definition, method } = actionOf(tool, 'remote');
      const parts = [server, name, target, configuration, definition];
      // A resource that is read through a template has its own name, and a tool that keeps its name may get another one.
      if (method !== undefined) return digestParts([...parts, 'offer']);
      const { uri, otherName } = tool.origin;
      const named = otherName === undefined ? tool.name : uri!;
      return digestParts([...parts, named, canonicalJson(tool.input.json)]);
    },
    plan: async (tool, input, { timeoutMs, snapshot, withoutSandbox }) => {
      const { server, tool: name, target, method, uri } = actionOf(tool, 'remote');
      const request = method === undefined ? {} : { method };
      const remoteTool = uri ?? name;
      const plan: RemotePlan = { kind: 'remote', tool, input, timeoutMs, server, remoteTool, target, ...request };
      const entry = snapshot.servers.servers.find((one) => one.name === server);
      if (entry?.kind !== 'stdio') return plan;
      const { workdir, settings } = snapshot;
      const { applied, sandboxes } = serverProfiles(entry, settings.sandbox);
      assertWholeServer(tool, entry, snapshot.settings.sandbox);
      if (applied.length === 0) return plan;
      if (withoutSandbox) throw keepsSandbox(entry);
      const { planSandbox } = await import('../../process/sandbox/index.js');
      const environment = { ...baseEnvironment(options.world, settings.env.pass), ...entry.env };
      const boxed = { name: server, isPermanent: true, workdir, code: [], environment };
      return { ...plan, sandbox: (await planSandbox(applied, sandboxes, boxed, options)).sandbox };
    },
    async programs({ server, sandbox }, snapshot) {
      const entry = snapshot.servers.servers.find((one) => one.name === server);
      if (entry?.kind !== 'stdio') return [];
      return identifyServer(entry, sandbox, snapshot, options);
    },
    async run(plan, scope) {
      running ??= import('./run.js');
      const { runRemote } = await running;
      const output = await runRemote(plan, scope, options);
      if (plan.sandbox === undefined) return output;
      const { reportSandbox } = await import('../../process/sandbox/report.js');
      const stderr = [output.error?.message ?? '', textOf(output)].join('\n');
      return reportSandbox(
        output,
        { ...plan, cwd: scope.snapshot.workdir },
        { stderr, isPermanent: true },
        options.world,
      );
    },
    close: () => options.close(),
  };
}

// Identifies the program of a server (POL-25).
function identifyServer(
  entry: StdioServer,
  sandbox: SandboxPlan | undefined,
  { workdir }: PlanSnapshot,
  { world, wieldHome }: SandboxContext,
): string[] {
  // Its secrets do not choose the program.
  const { server } = expandServer(entry, { ...world, workdir, trusted: true, secretOf: () => '' });
  const { command, env, cwd = workdir } = server as StdioServer;
  const path = ({ ...baseEnvironment(world, []), ...env }.PATH ?? '').split(delimiter);
  const file = findProgram(command.includes('/') ? resolve(cwd, command) : command, path);
  const [launcher] = sandbox?.launcher ?? [];
  const started = launcher === undefined ? [] : [{ name: launcher, file: launcher }];
  return identifyPrograms([...started, { name: command, file }], { path, world, wieldHome });
}
