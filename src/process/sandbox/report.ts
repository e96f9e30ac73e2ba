// Reports what a sandbox did: its level in the metadata of a result, and what it refused.

import { ToolError } from '../../core/error.js';
import type { ProcessPlan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import type { World } from '../../core/snapshot.js';
import { isWithin } from '../../files/within.js';
import { findLauncherFault, findRefusal, type RefusedHost, type RefusedProcess, refusedError } from './refusal.js';
import { accessTo } from './rules.js';
import { findGuarded } from './secrets.js';
import { describeLeft } from './text.js';
import { tryLauncher } from './try-launcher.js';
import { type GuardedPath, walk } from './walk.js';

type SandboxedPlan = Pick<ProcessPlan, 'sandbox' | 'tool' | 'cwd'>;

interface SandboxedOutput extends Pick<RefusedProcess, 'isPermanent'> {
  readonly stderr: string;
  readonly stdout?: string;
  /** What its proxy refused. */
  readonly hosts?: readonly RefusedHost[] | undefined;
}

/** Returns the output of a sandboxed process: with the level in its metadata, and what was refused if it failed. */
export async function reportSandbox(
  output: Output,
  { sandbox, tool, cwd }: SandboxedPlan,
  { stderr, stdout = '', hosts = [], isPermanent }: SandboxedOutput,
  world: World,
): Promise<Output> {
  if (sandbox === undefined) return output;
  const left = sandbox.backend === 'none' ? [] : await findLeft(sandbox);
  const meta = {
    ...{ ...output.meta, sandbox: sandbox.backend, sandboxProfile: sandbox.profile },
    ...(left.length === 0 ? {} : { sandboxLeft: left }),
    ...(hosts.length === 0 ? {} : { sandboxRefused: hosts.map(({ message }) => message) }),
  };
  const content = left.length === 0 ? output.content : [...output.content, textPart(`\n[${describeLeft(left)}]`)];
  if (sandbox.backend === 'none' || output.error?.code !== 'tool_failed') return { ...output, content, meta };
  const refused = { name: tool.name, sandbox, cwd, home: world.home, isPermanent };
  return {
    ...output,
    content,
    meta,
    error: await explainFailure(output.error, refused, { stderr, stdout, hosts }, world),
  };
}

// EXE-75: what did not exist could be created. Found at the end of a call, whichever process of that time made it.
async function findLeft({ searched, workdir, rules }: SandboxPlan): Promise<readonly string[]> {
  const isWritable = [...rules].some(([path, access]) => access === 'write' && mayContain(path, workdir));
  if (!isWritable) return [];
  const all = findGuarded(workdir, await walk(searched), searched.places);
  const isKnown = ({ path, real }: GuardedPath): boolean =>
    searched.found.has(path) && searched.found.get(path) === real;
  // A link counts by itself, wherever it leads.
  const isOfCall = ({ path, real = path }: GuardedPath): boolean =>
    [path, real].some((one) => accessTo(rules, one) === 'write');
  const isNamed = (path: string): boolean => path !== workdir && rules.has(path);
  return all.filter((one) => !isKnown(one) && isOfCall(one) && !isNamed(one.path)).map(({ path }) => path);
}

function mayContain(path: string, workdir: string): boolean {
  return isWithin(path, workdir) || isWithin(workdir, path);
}

/** Returns the error of a failed process: what its sandbox refused, if that is why. */
export async function explainFailure(
  error: ToolError,
  refused: RefusedProcess,
  { stderr, stdout, hosts = [] }: Omit<SandboxedOutput, 'isPermanent'> & { readonly stdout: string },
  world: World,
): Promise<ToolError> {
  const fault = findLauncherFault(stderr, refused);
  if (fault !== undefined && !(await works(refused.sandbox, world))) return fault;
  // Known for certain, and not guessed from a text.
  const refusal =
    hosts.length > 0
      ? ({ what: 'network', hosts } as const)
      : (findRefusal(stderr, refused) ?? findRefusal(stdout, refused));
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
