// Puts the process of a plan into its sandbox, if it has one; the code for it is loaded then.

import type { PlanContext } from '../../core/executor.js';
import type { ModulePlan, ProcessPlan } from '../../core/plan.js';
import { profilesOf } from '../../process/sandbox/applied.js';
import { planSandbox, type SandboxPlaces } from '../../process/sandbox/index.js';

/** Returns the plan with its sandbox, if it has one; `code` are the programs and directories that its process needs. */
export async function withSandbox<P extends ProcessPlan | ModulePlan>(
  plan: P,
  context: PlanContext,
  places: SandboxPlaces,
  code: readonly string[],
): Promise<P> {
  const { workdir, settings } = context.snapshot;
  const { name } = plan.tool;
  const applied = profilesOf(plan.tool, settings.sandbox);
  if (applied.length === 0) return plan;
  const target = { name, workdir, code, environment: plan.environment };
  return { ...plan, ...(await planSandbox(applied, settings.sandbox, target, places)) };
}
