// Checks the requirements of tools before their first call, and again after a call that failed (TOOL-27).

import { ToolError } from '../../core/error.js';
import type { Dispatcher, Executor, PlanContext } from '../../core/executor.js';
import type { World } from '../../core/snapshot.js';
import type { Tool } from '../../core/tool.js';
import { worldOf } from '../../process/environment.js';
import { forgetVersions, type Missing, missingOf } from '../../process/requirements.js';

export interface RequirementOptions {
  readonly world: World;
  /** Runs some plans on other machines, whose programs are not those of this one. */
  readonly dispatcher: Dispatcher | undefined;
}

/** Wraps executors, so that what a tool requires is there before it is planned, or the call is `unavailable`. */
export function withRequirements(
  executors: readonly Executor[],
  { world, dispatcher }: RequirementOptions,
): readonly Executor[] {
  const met = new Set<string>();
  const check = async (tool: Tool, context: PlanContext): Promise<void> => {
    const key = keyOf(tool);
    if (key === undefined || met.has(key)) return;
    const missing = await missingOf(tool, worldOf(context, world), context.snapshot);
    if (missing.length > 0) throw toError(tool, missing);
    met.add(key);
  };
  return executors.map((executor) => ({
    ...executor,
    async plan(tool, input, context) {
      if (dispatcher === undefined) await check(tool, context);
      const plan = await executor.plan(tool, input, context);
      if (dispatcher?.takes(plan) === false) await check(tool, context);
      return plan;
    },
    async run(plan, scope) {
      let hasFailed = true;
      try {
        const output = await executor.run(plan, scope);
        hasFailed = output.error !== undefined;
        return output;
      } finally {
        const key = hasFailed ? keyOf(plan.tool) : undefined;
        if (key !== undefined && met.delete(key)) forgetVersions();
      }
    },
  }));
}

// Nothing runs when a text is read: what is missing is said there.
function keyOf({ name, traits, action }: Tool): string | undefined {
  return traits.requires === undefined || action.kind === 'text' ? undefined : JSON.stringify([name, traits.requires]);
}

function toError({ name }: Tool, missing: readonly Missing[]): ToolError {
  return new ToolError('unavailable', `${name} was not run: it needs ${missing.map(({ what }) => what).join('; ')}`, {
    hint: [...new Set(missing.map(({ hint }) => hint))].join('; '),
    data: { missing: missing.map(({ what }) => what) },
  });
}
