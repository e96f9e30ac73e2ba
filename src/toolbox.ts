// createToolbox: tools given in code, run in this process, with nothing of the machine around them.

import { createTaskTools } from './builtin/task.js';
import { ToolError } from './core/error.js';
import { DEFAULT_SETTINGS, type Settings } from './core/settings.js';
import type { Tool } from './core/tool.js';
import type { Toolbox } from './core/toolbox.js';
import type { World } from './core/world.js';
import { createFunctionExecutor } from './executors/function.js';
import { digestParts } from './files/digest.js';
import { type ToolDefinition, toTool } from './formats/module/define.js';
import { createCatalog } from './resolve/catalog.js';
import { assembleToolbox } from './runtime/create.js';

export interface ToolboxOptions {
  readonly tools: readonly ToolDefinition[];
  /** Where tools are told they work; an absolute path. */
  readonly workdir?: string;
  readonly limits?: Partial<Settings['limits']>;
  /** Whether slightly wrong input is repaired; on by default. */
  readonly repair?: boolean;
}

/** A toolbox of exactly the given tools. Throws `invalid_definition` or `conflict`. */
export function createToolbox({ tools, workdir = '/', limits = {}, repair = true }: ToolboxOptions): Toolbox {
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    repair,
    limits: { ...DEFAULT_SETTINGS.limits, ...limits },
  };
  let directory = workdir;
  return assembleToolbox({
    catalog: createCatalog({
      registered: toRegistry(tools),
      builtin: createTaskTools(),
      offered: () => false,
      places: () => [],
      formats: [],
      index: { load: () => undefined, save: () => {} },
      world: QUIET,
    }),
    executors: [createFunctionExecutor({ digest: digestParts, debug: QUIET.debug })],
    rules: () => ({ trusted: true }),
    settings: () => settings,
    secrets: () => [],
    trusted: () => true,
    instructions: () => '',
    // What was given stays as it is.
    watch: () => () => {},
    workdir: {
      get: () => directory,
      set: (path) => {
        directory = path;
      },
    },
    world: QUIET,
  });
}

/** Tools by name; two of one name are a `conflict`. */
export function toRegistry(definitions: readonly ToolDefinition[]): Map<string, Tool> {
  const registry = new Map<string, Tool>();
  for (const definition of definitions) {
    const tool = toTool(definition);
    if (registry.has(tool.name)) {
      throw new ToolError('conflict', `two tools are named "${tool.name}"`, { hint: 'rename one of them' });
    }
    registry.set(tool.name, tool);
  }
  return registry;
}

// A toolbox of functions asks nothing of its surroundings but a clock.
const QUIET: World = {
  env: {},
  home: undefined,
  platform: 'none',
  now: () => performance.timeOrigin + performance.now(),
  monotonic: () => performance.now(),
  debug: () => {},
  debugging: false,
};
