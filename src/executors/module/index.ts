// The module executor: code of files, and pieces of code, run in the tool host and never in this process.

import { dirname, relative } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Executor } from '../../core/executor.js';
import { canonicalJson, type Json } from '../../core/json.js';
import type { ModulePlan, Plan } from '../../core/plan.js';
import type { Settings } from '../../core/settings.js';
import type { ModuleAction, ModuleFiles, Tool } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { digestParts } from '../../files/digest.js';
import { baseEnvironment } from '../../process/environment.js';
import type { ToolHost } from './pool.js';

export interface ModuleExecutorOptions {
  readonly world: World;
  readonly settings: () => Settings;
  /** The file that a host is started with. */
  readonly entry: () => string;
  /** Where compiled code is kept. */
  readonly cacheDirectory: string;
  /** Told before a host is started. */
  readonly beforeRun?: () => void;
}

export interface ModuleExecutor extends Executor<'module'> {
  /** Loads a module in the host of a directory, and says what it offers. */
  describe(source: ModuleFiles, workdir: string): Promise<Json>;
}

export function createModuleExecutor(options: ModuleExecutorOptions): ModuleExecutor {
  const { world, settings } = options;
  let host: ToolHost | undefined;
  // Loaded by the first call or the first unknown module: nobody else needs what spawns.
  const openHost = async (): Promise<ToolHost> => {
    const { createToolHost } = await import('./pool.js');
    host ??= createToolHost(options);
    return host;
  };
  return {
    kind: 'module',
    digest: (tool) => digestModule(tool, actionOf(tool)),
    plan(tool, input, context) {
      const { source, export: name } = actionOf(tool);
      if (name === null) throw notRead(tool);
      const { env, tools, limits } = settings();
      // A tool with a grant of its own gets a host of its own, since all tools of a host share what it was given.
      const pass = [...env.pass, ...(tools.get(tool.name)?.pass ?? [])];
      return {
        kind: 'module',
        tool,
        input,
        source,
        export: name,
        cwd: context.workdir,
        environment: baseEnvironment(world, pass),
        timeoutMs: context.timeoutMs,
        limits,
      };
    },
    async run(plan, context) {
      assertModule(plan);
      return (await openHost()).run(plan, context);
    },
    async describe(source, workdir) {
      const { env, limits } = settings();
      const environment = baseEnvironment(world, env.pass);
      return (await openHost()).describe(source, { cwd: workdir, environment, limits });
    },
    async close() {
      await host?.close();
    },
  };
}

// TOOL-7: every byte that is loaded by a relative path counts, the place of the checkout does not.
function digestModule(tool: Tool, { source, export: name }: ModuleAction): string {
  const files = source.files.map(({ path, sha256 }) => `${relative(dirname(source.file), path)}\n${sha256}`);
  // A piece of code takes what is said beside it; a file says itself what it takes.
  const inline = 'inline' in source ? [source.inline, canonicalJson(tool.input.json)] : [''];
  return digestParts([
    tool.origin.format,
    tool.name,
    tool.description,
    name ?? '',
    ...inline,
    ...files.sort(),
  ]);
}

function actionOf(tool: Tool): ModuleAction {
  if (tool.action.kind !== 'module') throw new TypeError(`${tool.name} is no module`);
  return tool.action;
}

function assertModule(plan: Plan): asserts plan is ModulePlan {
  if (plan.kind !== 'module') throw new TypeError(`${plan.tool.name} is no module`);
}

function notRead({ name }: Tool): ToolError {
  return new ToolError(
    'needs_trust',
    `${name} was not run: it was never loaded, since its workspace is not trusted`,
    {
      hint: 'a person must look at its tools and run: wield trust',
    },
  );
}
