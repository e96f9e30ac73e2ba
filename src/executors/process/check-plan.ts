// What few plans of processes need; a module of its own, so that most commands do not load it.

import { dirname } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { PlanContext } from '../../core/executor.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { ProcessAction, ScriptAction } from '../../core/tool.js';
import { grantsOf, worldOf } from '../../process/environment.js';
import type { SandboxPlaces } from '../../process/sandbox/index.js';

interface CheckPlanOptions {
  readonly isGuarded: boolean;
  readonly isSandboxed: boolean;
  readonly places: SandboxPlaces;
}

// Importing a loaded module again still takes 0.2 ms.
let sandboxing: typeof import('../shared/sandbox.js') | undefined;

/** Does what most plans do not need: variables, input of foreign scripts, values that are denied, sandboxes. */
export async function checkPlan(
  bare: ProcessPlan,
  context: PlanContext,
  { isGuarded, isSandboxed, places }: CheckPlanOptions,
): Promise<ProcessPlan> {
  const action = bare.tool.action as ProcessAction;
  const { call, needs } = action as Partial<ScriptAction>;
  if (needs?.length) {
    const { assertGranted } = await import('./missing-variables.js');
    assertGranted(bare.tool, needs, grantsOf(bare.tool, context.snapshot.settings), worldOf(context, places.world));
  }
  const plan =
    call === undefined ? bare : (await import('../../formats/script/foreign-input.js')).withForeignInput(bare, call);
  if (isGuarded) {
    // Refused before anyone is asked for approval.
    const { assertNotDenied } = await import('./deny.js');
    assertNotDenied(isRecord(plan.input) ? (plan.input as JsonObject) : {}, plan.command!.slots);
  }
  if (!isSandboxed) return plan;
  sandboxing ??= await import('../shared/sandbox.js');
  const own = action.runs === 'script' ? [action.file, dirname(action.file)] : [action.directory];
  return sandboxing.withSandbox(plan, context, places, [plan.interpreter ?? plan.binary, ...own]);
}

/** The error for a value that cannot be a variable. */
export function nulError(name: string): ToolError {
  return new ToolError('invalid_input', `${name} contains a NUL character, which no variable can hold`, {
    hint: 'leave it out',
    data: {
      faults: [{ kind: 'value', path: `/${name}`, expected: 'text without NUL', got: 'text with NUL' }],
    },
  });
}
