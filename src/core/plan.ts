// The Plan: what exactly will run, frozen before anyone judges it.

import type { Json } from './json.js';
import type { Tool } from './tool.js';

export type Plan = ProcessPlan | FunctionPlan;

interface PlanBase {
  /** Its `origin.digest` names the bytes that were planned; other bytes are not run. */
  readonly tool: Tool;
  /** Input after repair and check. */
  readonly input: Json;
  readonly timeoutMs: number;
}

export interface ProcessPlan extends PlanBase {
  readonly kind: 'process';
  readonly binary: string;
  /** What the command line is started through, to set limits; empty where nothing is. */
  readonly launcher: readonly string[];
  /** The whole command line, the binary first. */
  readonly argv: readonly string[];
  /** The interpreter that the system will start for a script, absolute. */
  readonly interpreter: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly limits: ProcessLimits;
}

export interface FunctionPlan extends PlanBase {
  readonly kind: 'function';
}

/** Limits that the system enforces on a process; absent ones are not set (EXE-9). */
export interface ProcessLimits {
  readonly outputBytes: number;
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly openFiles?: number;
  readonly processes?: number;
}

/** A plan for people and logs: names of variables, never their values. */
export function describePlan(plan: Plan): Record<string, Json> {
  if (plan.kind === 'function') {
    return { kind: 'function', tool: plan.tool.name, input: plan.input, timeoutMs: plan.timeoutMs };
  }
  return {
    kind: 'process',
    tool: plan.tool.name,
    binary: plan.binary,
    argv: plan.argv,
    launcher: plan.launcher,
    interpreter: plan.interpreter,
    cwd: plan.cwd,
    env: Object.keys(plan.environment).sort(),
    stdinBytes: plan.stdin.length,
    resolvers: [],
    timeoutMs: plan.timeoutMs,
    digest: plan.tool.origin.digest,
  };
}
