// Reports what a sandbox did: its level in the metadata of a result, and what it refused.

import { ToolError } from '../../core/error.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import type { World } from '../../core/world.js';
import { findLauncherFault, findRefusal, type RefusedProcess, refusedError } from './refusal.js';
import { tryLauncher } from './try-launcher.js';

type SandboxedPlan = Pick<ProcessPlan, 'sandbox' | 'tool' | 'cwd'>;

interface SandboxedOutput extends Pick<RefusedProcess, 'isPermanent'> {
  readonly stderr: string;
  readonly stdout?: string;
}

/** Returns the output of a sandboxed process: with the level in its metadata, and what was refused if it failed. */
export async function reportSandbox(
  output: Output,
  { sandbox, tool, cwd }: SandboxedPlan,
  { stderr, stdout = '', isPermanent }: SandboxedOutput,
  world: World,
): Promise<Output> {
  if (sandbox === undefined) return output;
  const meta = { ...output.meta, sandbox: sandbox.backend, sandboxProfile: sandbox.profile };
  if (sandbox.backend === 'none' || output.error?.code !== 'tool_failed') return { ...output, meta };
  const refused = { name: tool.name, sandbox, cwd, home: world.home, isPermanent };
  return { ...output, meta, error: await explainFailure(output.error, refused, { stderr, stdout }, world) };
}

/** Returns the error of a failed process: what its sandbox refused, if that is why. */
export async function explainFailure(
  error: ToolError,
  refused: RefusedProcess,
  { stderr, stdout }: { readonly stderr: string; readonly stdout: string },
  world: World,
): Promise<ToolError> {
  const fault = findLauncherFault(stderr, refused);
  if (fault !== undefined && !(await works(refused.sandbox, world))) return fault;
  const refusal = findRefusal(stderr, refused) ?? findRefusal(stdout, refused);
  return refusal === undefined ? withSandboxHint(error, refused) : refusedError(refusal, refused);
}

// A process that starts a sandbox itself prints the same text as a launcher that fails.
async function works({ launcher, filter }: SandboxPlan, world: World): Promise<boolean> {
  return (await tryLauncher(launcher, world, filter)).fault === null;
}

// Programs may fail without saying what they lack.
function withSandboxHint(
  { code, message, hint, data }: ToolError,
  { sandbox, isPermanent }: RefusedProcess,
): ToolError {
  const more = `it ran in its sandbox (${sandbox.profile})${isPermanent ? '' : ': --sandbox none shows whether that is why'}`;
  return new ToolError(code, message, { hint: hint === undefined ? more : `${hint}; ${more}`, data });
}
