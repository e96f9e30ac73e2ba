// Identifies the programs that a script or command can start; imported if a call needs approval.

import { delimiter } from 'node:path';
import type { ProcessPlan } from '../../core/plan.js';
import type { CommandAction, ProcessAction } from '../../core/tool.js';
import { findProgram, pathOutside } from '../../process/environment.js';
import { identifyPrograms, type NamedProgram, shebangPrograms } from '../../process/programs.js';
import type { SandboxPlaces } from '../../process/sandbox/index.js';
import { resolversOf } from './integrity.js';

/** Returns the lines of a plan (POL-25): the same for every input, because an approval may be for any input. */
export function identifyPlan(plan: ProcessPlan, workdir: string, { world, wieldHome }: SandboxPlaces): string[] {
  const action = plan.tool.action as ProcessAction;
  const path = (plan.environment.PATH ?? '').split(delimiter);
  const launchers = [plan.launcher[0], plan.sandbox?.launcher[0]].filter((file) => file !== undefined);
  const programs =
    action.runs === 'command'
      ? commandPrograms(action, pathOutside(workdir, world))
      : action.shebang === ''
        ? []
        : shebangPrograms(action.shebang, action.file, { path });
  const started = launchers.map((file) => ({ name: file, file }));
  return identifyPrograms([...started, ...programs], { path, world, wieldHome });
}

// All that the declaration names: which of them run depends on the input.
function commandPrograms(action: CommandAction, path: readonly string[]): NamedProgram[] {
  const resolvers = resolversOf(action);
  const names = [
    ...action.executions.flatMap(({ binary, wrapper = [] }) => [binary, ...wrapper.slice(0, 1)]),
    ...resolvers.flatMap(({ binary }) => binary ?? []),
  ];
  const programs = names.map((name) => ({ name, file: findProgram(name, path) }));
  const needsShell = resolvers.some(({ script }) => script !== undefined);
  return needsShell ? [...programs, { name: 'sh', file: findProgram('sh', ['/bin', ...path]) }] : programs;
}
