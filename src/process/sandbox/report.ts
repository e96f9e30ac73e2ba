// Reports what a sandbox did: its level in the metadata of a result, and what it refused.

import type { ProcessPlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { World } from '../../core/world.js';
import { findLauncherFault, findRefusal, refusedError } from './refusal.js';

type SandboxedPlan = Pick<ProcessPlan, 'sandbox' | 'tool' | 'cwd'>;

/** Returns the output of a sandboxed process: with the level in its metadata, and what was refused if it failed. */
export function reportSandbox(
  output: Output,
  { sandbox, tool, cwd }: SandboxedPlan,
  stderr: string,
  world: World,
): Output {
  if (sandbox === undefined) return output;
  const meta = { ...output.meta, sandbox: sandbox.backend, sandboxProfile: sandbox.profile };
  if (sandbox.backend === 'none' || output.error?.code !== 'tool_failed') return { ...output, meta };
  const refused = { name: tool.name, sandbox, cwd, home: world.home };
  const refusal = findRefusal(stderr, refused);
  const error = findLauncherFault(stderr, refused) ?? (refusal && refusedError(refusal, refused));
  return { ...output, meta, error: error ?? output.error };
}
