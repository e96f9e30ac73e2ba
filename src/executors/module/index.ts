// The module executor: runs module files and inline code in a tool host, never in this process.

import { delimiter, dirname, join, relative } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Executor, WithVariables } from '../../core/executor.js';
import { canonicalJson, type Json } from '../../core/json.js';
import type { ModulePlan } from '../../core/plan.js';
import type { SandboxSettings } from '../../core/sandbox.js';
import type { Snapshot } from '../../core/snapshot.js';
import { actionOf, type ModuleAction, type ModuleFiles, type Tool } from '../../core/tool.js';
import { MAX_MODULE_BYTES } from '../../files/closure.js';
import { digestParts } from '../../files/digest.js';
import { identifyPackages, type ModuleText } from '../../files/packages.js';
import { readHead } from '../../files/read.js';
import { baseEnvironment, grantsOf, mayBeSandboxed, withReferences, worldOf } from '../../process/environment.js';
import { identifyPrograms } from '../../process/programs.js';
import { planSandbox, type SandboxContext, withSandbox } from '../../process/sandbox/index.js';
import type { HostSettings } from './connection.js';
import { createHostPool, type HostPoolOptions } from './pool.js';

/** Options of `createModuleExecutor`. */
export interface ModuleExecutorOptions extends HostPoolOptions {
  /** Where the state of wield is; found by the environment if absent. */
  readonly wieldHome?: string;
  /** Replaces references in the environment of a plan. */
  readonly withVariables: WithVariables;
}

/** Runs modules in tool hosts, and describes them. */
export interface ModuleExecutor extends Executor<'module'> {
  /** Loads a module in the host of a directory and describes its tools. */
  describe(source: ModuleFiles, snapshot: Pick<Snapshot, 'workdir' | 'settings'>): Promise<Json>;
}

/** Creates the executor of modules, which run in tool hosts. */
export function createModuleExecutor(options: ModuleExecutorOptions): ModuleExecutor {
  const { world, wieldHome, entry, cacheDirectory, withVariables } = options;
  // What a plan that needed approval imports. Another host may have loaded other packages.
  const approved = new WeakMap<ModulePlan, string>();
  const pool = createHostPool(options);
  const codeOf = (file: string): string[] => [
    ...[process.execPath, packageOf(entry()), cacheDirectory, file, dirname(file)],
    ...modulesAbove(file),
  ];
  return {
    kind: 'module',
    digest: (tool) => digestModule(tool, actionOf(tool, 'module')),
    async plan(tool, input, context) {
      const { source, export: name, offer } = actionOf(tool, 'module');
      if (name === null) throw notLoaded(tool);
      const { workdir, settings } = context.snapshot;
      const { limits } = settings;
      // All tools of a host share its environment, so a tool with its own variables gets its own host.
      const plan: ModulePlan = {
        kind: 'module',
        tool,
        input,
        source,
        export: name,
        offer,
        cwd: workdir,
        environment: baseEnvironment(withReferences(tool, settings, worldOf(context, world)), grantsOf(tool, settings)),
        timeoutMs: context.timeoutMs,
        limits,
      };
      if (context.withoutSandbox || !mayBeSandboxed(tool, settings)) return plan;
      return withSandbox(plan, context.snapshot, codeOf(source.file), { world, wieldHome });
    },
    async programs(plan) {
      const lines = identifyModule(plan, { world, wieldHome });
      approved.set(plan, digestParts(lines));
      return lines;
    },
    run: async (plan, scope) => pool.run(await withVariables(plan, scope), scope, approved.get(plan)),
    async describe(source, { workdir, settings: { env, limits, sandbox } }) {
      const environment = baseEnvironment(world, env.pass);
      const plain: HostSettings = { cwd: workdir, environment, limits };
      const isSandboxed = sandbox.profiles.size > 0 || sandbox.rules.length > 0;
      const host = isSandboxed
        ? await sandboxLoading(plain, sandbox, codeOf(source.file), { world, wieldHome })
        : plain;
      return pool.describe(source, host);
    },
    close: pool.close,
  };
}

// The profile of a tool is known only when its module is loaded. If the configuration has profiles, loading is no way
// around them.
async function sandboxLoading(
  settings: HostSettings,
  sandboxes: SandboxSettings,
  code: readonly string[],
  context: SandboxContext,
): Promise<HostSettings> {
  const required = sandboxes.rules.some((rule) => rule.required);
  const target = { name: 'loading a module', workdir: settings.cwd, code, environment: settings.environment };
  const applied = [{ profile: 'read-only', required, by: 'tool' }] as const;
  return { ...settings, ...(await planSandbox(applied, sandboxes, target, context)) };
}

// Where Node looks for packages.
function modulesAbove(file: string): string[] {
  const directory = dirname(file);
  return directory === dirname(directory) ? [] : [join(directory, 'node_modules'), ...modulesAbove(directory)];
}

// The directory that contains a package and those that it uses.
function packageOf(file: string): string {
  const at = file.lastIndexOf('/node_modules/');
  return at === -1 ? dirname(dirname(dirname(file))) : file.slice(0, at + '/node_modules'.length);
}

// TOOL-7: covers every file loaded by a relative path; independent of the location of the checkout.
function digestModule(tool: Tool, { source, export: name }: ModuleAction): string {
  const files = source.files.map(({ path, sha256 }) => `${relative(dirname(source.file), path)}\n${sha256}`);
  // The input schema of inline code is not part of the code.
  const inline = 'inline' in source ? [source.inline, canonicalJson(tool.input.json)] : [''];
  return digestParts([tool.origin.format, tool.name, tool.description, name ?? '', ...inline, ...files.sort()]);
}

function notLoaded({ name }: Tool): ToolError {
  return new ToolError('needs_trust', `${name} was not run: its workspace is not trusted, so it was not loaded`, {
    hint: 'a person must review its tools and run: wield trust',
  });
}

/** Returns the lines of a plan (POL-25). */
function identifyModule({ source, sandbox, environment }: ModulePlan, context: SandboxContext): string[] {
  const modules = source.files.flatMap(({ path }): ModuleText[] => {
    const reading = readHead(path, MAX_MODULE_BYTES);
    return 'fault' in reading ? [] : [{ file: path, text: reading.bytes.toString('utf8') }];
  });
  if ('inline' in source) modules.push({ file: source.file, text: source.inline });
  const [launcher] = sandbox?.launcher ?? [];
  const path = (environment.PATH ?? '').split(delimiter);
  return [
    ...identifyPrograms(launcher === undefined ? [] : [{ name: launcher, file: launcher }], { ...context, path }),
    ...identifyPackages(modules, context.world.now),
  ];
}
