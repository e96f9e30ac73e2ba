// The Plan: what exactly will run, frozen before anyone judges it.

import type { Allowlist, Execution, Mapping } from './command.js';
import type { Json } from './json.js';
import type { InlineModule, ModuleFiles, Tool } from './tool.js';

export type Plan = ProcessPlan | FunctionPlan | ModulePlan | TextPlan | DelegatePlan | RemotePlan;

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
  readonly interpreter?: string;
  /** For a declared command: what decides its arguments once resolvers have answered. */
  readonly command?: CommandPlan;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly limits: ProcessLimits;
}

/** The parts of a declared command that are not settled before its resolvers have run. */
export interface CommandPlan {
  readonly allowlist: Allowlist;
  readonly execution: Execution;
  readonly subcommand: string;
  readonly slots: readonly Slot[];
  readonly resolvers: readonly ResolverStep[];
  /** The command that its output goes through, if any. */
  readonly postProcess: ResolverStep | null;
  /** Directories that paths among the parameters must stay in. */
  readonly roots: readonly string[];
}

/** A value on its way to the command line. */
export interface Slot {
  readonly mapping: Mapping;
  /** After absent default and normalisation; undefined where the parameter is missing. */
  readonly value: Json | undefined;
}

/** A command whose output becomes a value. */
export interface ResolverStep {
  readonly param: string;
  /** Which slot it fills; -1 for output. */
  readonly slot: number;
  /** Absolute program first; empty where it will not run, for the reason given. */
  readonly argv: readonly string[];
  readonly skipped: string | null;
  /** The pair that must be allowlisted; null for a script of the skill. */
  readonly pair: { readonly binary: string; readonly subcommand: string } | null;
  readonly onFailure: 'keep' | 'reject';
  readonly emptyIsResult: boolean;
}

export interface FunctionPlan extends PlanBase {
  readonly kind: 'function';
}

export interface TextPlan extends PlanBase {
  readonly kind: 'text';
  /** The file whose text is the answer. */
  readonly file: string;
}

export interface DelegatePlan extends PlanBase {
  readonly kind: 'delegate';
  /** The reference of the tool that is called; that call has a plan and a verdict of its own. */
  readonly ref: string;
}

export interface RemotePlan extends PlanBase {
  readonly kind: 'remote';
  readonly server: string;
  /** What the server calls the tool. */
  readonly remoteTool: string;
  /** The command line or the address of the server, with references as they were written. */
  readonly target: string;
}

export interface ModulePlan extends PlanBase {
  readonly kind: 'module';
  readonly source: ModuleFiles | InlineModule;
  readonly export: string;
  /** Of the tool host that it runs in. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: ProcessLimits;
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
  if (plan.kind !== 'process' && plan.kind !== 'module') {
    return {
      kind: plan.kind,
      tool: plan.tool.name,
      ...(plan.kind === 'text' ? { file: plan.file } : {}),
      ...(plan.kind === 'delegate' ? { ref: plan.ref } : {}),
      ...(plan.kind === 'remote'
        ? { server: plan.server, remoteTool: plan.remoteTool, target: plan.target }
        : {}),
      input: plan.input,
      timeoutMs: plan.timeoutMs,
      ...(plan.kind === 'function' ? {} : { digest: plan.tool.origin.digest }),
    };
  }
  if (plan.kind === 'module') {
    return {
      kind: 'module',
      tool: plan.tool.name,
      file: plan.source.file,
      export: plan.export,
      inline: 'inline' in plan.source,
      cwd: plan.cwd,
      env: Object.keys(plan.environment).sort(),
      input: plan.input,
      timeoutMs: plan.timeoutMs,
      digest: plan.tool.origin.digest,
    };
  }
  return {
    kind: 'process',
    tool: plan.tool.name,
    binary: plan.binary,
    argv: plan.argv,
    launcher: plan.launcher,
    ...(plan.interpreter === undefined ? {} : { interpreter: plan.interpreter }),
    cwd: plan.cwd,
    env: Object.keys(plan.environment).sort(),
    stdinBytes: plan.stdin.length,
    resolvers: (plan.command?.resolvers ?? []).map(({ param, argv, skipped, onFailure }) => ({
      param,
      argv,
      onFailure,
      ...(skipped === null ? {} : { skipped }),
    })),
    ...(plan.command === undefined
      ? {}
      : { allowlisted: { binary: plan.command.execution.binary, subcommand: plan.command.subcommand } }),
    timeoutMs: plan.timeoutMs,
    digest: plan.tool.origin.digest,
  };
}
