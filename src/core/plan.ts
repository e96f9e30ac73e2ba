// The Plan: what exactly will run, frozen before the policy decides.

import type { Allowlist, Execution, Mapping } from './command.js';
import type { HttpScheme } from './http.js';
import type { Json } from './json.js';
import type { FileIdentity } from './origin.js';
import type { SandboxPlan } from './sandbox.js';
import type { InlineModule, ModuleFiles, OfferRequest, RemoteAction, Tool } from './tool.js';

/** What exactly a call runs, frozen before it is decided on. */
export type Plan = ProcessPlan | FunctionPlan | ModulePlan | TextPlan | DelegatePlan | RemotePlan | HttpPlan;

/** Names and values of variables. */
export type Variables = Readonly<Record<string, string>>;

interface PlanBase {
  /** `origin.digest` identifies the bytes that were planned; other bytes are not run. */
  readonly tool: Tool;
  /** Input after repair and validation. */
  readonly input: Json;
  readonly timeoutMs: number;
}

export interface ProcessPlan extends PlanBase {
  readonly kind: 'process';
  readonly binary: string;
  /** Command that starts the command line with limits; may be empty. */
  readonly launcher: readonly string[];
  /** The whole command line, starting with the binary. */
  readonly argv: readonly string[];
  /** State of the interpreter of a script, or of the program of a command, when it was planned. */
  readonly identity?: FileIdentity | undefined;
  /** Absolute path of the interpreter of a script. */
  readonly interpreter?: string;
  /** For a declared command: the parts of its arguments that depend on resolvers. */
  readonly command?: CommandPlan;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly limits: ProcessLimits;
  readonly sandbox?: SandboxPlan | undefined;
}

/** The parts of a declared command that are known only after its resolvers ran. */
export interface CommandPlan {
  readonly allowlist: Allowlist;
  readonly execution: Execution;
  readonly subcommand: string;
  /** The subcommand as arguments. */
  readonly words: readonly string[];
  readonly slots: readonly Slot[];
  readonly resolvers: readonly ResolverStep[];
  /** Commands that return the value that a deny pattern is checked against. */
  readonly denials: readonly ResolverStep[];
  /** The command that post-processes its output, if any. */
  readonly postProcess: ResolverStep | null;
  /** Directories that paths among the parameters must stay in. */
  readonly roots: readonly string[];
  /** Canonical form of the directory that the command runs in. */
  readonly base: string;
}

/** A value of the command line. */
export interface Slot {
  readonly mapping: Mapping;
  /** After default and normalization, paths in canonical form; undefined if the parameter is missing. */
  readonly value: Json | undefined;
  /** For a path: the value before it was resolved. */
  readonly given?: Json | undefined;
}

/** A command whose output becomes a value. */
export interface ResolverStep {
  readonly param: string;
  /** Index of the slot it fills; -1 for output. */
  readonly slot: number;
  /** Starts with an absolute path; empty if it will not run, for the reason given. */
  readonly argv: readonly string[];
  readonly skipped: string | null;
  /** The binary and subcommand that must be allowlisted; null for a script of the skill. */
  readonly pair: { readonly binary: string; readonly subcommand: string } | null;
  readonly onFailure: 'keep' | 'reject';
  readonly emptyIsResult: boolean;
  /** Indexes in `argv` that are replaced by the directory that the command runs in. */
  readonly directoryAt?: readonly number[];
}

export interface FunctionPlan extends PlanBase {
  readonly kind: 'function';
}

export interface TextPlan extends PlanBase {
  readonly kind: 'text';
  /** The file whose text is returned. */
  readonly file: string;
}

export interface DelegatePlan extends PlanBase {
  readonly kind: 'delegate';
  /** Reference of the called tool; that call has its own plan and verdict. */
  readonly ref: string;
}

export interface RemotePlan extends PlanBase {
  readonly kind: 'remote';
  readonly server: string;
  /** Name of the tool on the server. */
  readonly remoteTool: string;
  /** The request, if it does not call a tool. */
  readonly method?: RemoteAction['method'];
  /** Command line or URL of the server, with variables unexpanded. */
  readonly target: string;
  /** Of the server's process. */
  readonly sandbox?: SandboxPlan | undefined;
}

export interface HttpPlan extends PlanBase {
  readonly kind: 'http';
  readonly method: string;
  /** The whole address, without credentials. */
  readonly url: string;
  /** Without credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text, or as base64 if it may be anything. */
  readonly body?: { readonly text: string } | { readonly base64: string };
  /** Base URL; credentials are sent to it only. */
  readonly server: string;
  /** Credentials that are added when it is sent, as references to secrets. */
  readonly credentials: readonly { readonly scheme: HttpScheme; readonly value: string }[];
  readonly outputBytes: number;
}

export interface ModulePlan extends PlanBase {
  readonly kind: 'module';
  readonly source: ModuleFiles | InlineModule;
  readonly export: string;
  readonly offer?: OfferRequest | undefined;
  /** Limits of the tool host. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: ProcessLimits;
  readonly sandbox?: SandboxPlan | undefined;
}

/** Limits that the operating system enforces on a process (EXE-9). */
export interface ProcessLimits {
  readonly outputBytes: number;
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly openFiles?: number;
  readonly processes?: number;
}

/** Formats a plan for people and logs, with names of variables but without values. */
export function describePlan(plan: Plan): Record<string, Json> {
  const { kind, tool, input, timeoutMs } = plan;
  const described = { kind, tool: tool.name, ...describeKind(plan) };
  const background: Record<string, Json> = tool.traits.background === true ? { background: true } : {};
  if (kind === 'process') return { ...described, timeoutMs, ...background, digest: tool.origin.digest };
  return { ...described, input, timeoutMs, ...(kind === 'function' ? {} : { digest: tool.origin.digest }) };
}

function describeKind(plan: Plan): Record<string, Json> {
  switch (plan.kind) {
    case 'function':
      return {};
    case 'text':
      return { file: plan.file };
    case 'delegate':
      return { ref: plan.ref };
    case 'remote':
      return {
        server: plan.server,
        remoteTool: plan.remoteTool,
        target: plan.target,
        ...describeSandboxOf(plan),
      };
    case 'http':
      return describeRequest(plan);
    case 'module':
      return {
        file: plan.source.file,
        export: plan.export,
        inline: 'inline' in plan.source,
        ...describeSandboxOf(plan),
        cwd: plan.cwd,
        env: Object.keys(plan.environment).sort(),
      };
    case 'process':
      return describeProcess(plan);
  }
}

function describeProcess({ binary, argv, launcher, interpreter, command, ...plan }: ProcessPlan): Record<string, Json> {
  return {
    binary,
    argv,
    launcher,
    ...(interpreter === undefined ? {} : { interpreter }),
    ...describeSandboxOf(plan),
    cwd: plan.cwd,
    env: Object.keys(plan.environment).sort(),
    stdinBytes: plan.stdin.length,
    resolvers: (command?.resolvers ?? []).map(describeStep),
    ...(command === undefined || command.denials.length === 0 ? {} : { denials: command.denials.map(describeStep) }),
    ...(command === undefined
      ? {}
      : { allowlisted: { binary: command.execution.binary, subcommand: command.subcommand } }),
  };
}

/** The request with the names of its credentials in place of their values. */
function describeRequest({ method, url, headers, body, credentials }: HttpPlan): Record<string, Json> {
  const masked = credentials.map(({ scheme }) => [scheme.parameter, scheme.in, '***'].join(' '));
  const request = { method, url, headers, credentials: masked };
  if (body === undefined) return request;
  return 'text' in body ? { ...request, body: body.text } : { ...request, bodyBase64: body.base64 };
}

function describeSandboxOf({ sandbox }: Pick<ProcessPlan, 'sandbox'>): Record<string, Json> {
  if (sandbox === undefined) return {};
  const { profile, backend, version, reason, read, write, hidden, network } = sandbox;
  return { sandbox: { profile, backend, version, reason: reason ?? null, read, write, hidden, network } };
}

function describeStep({ param, argv, skipped, onFailure }: ResolverStep): Record<string, Json> {
  return { param, argv, onFailure, ...(skipped === null ? {} : { skipped }) };
}
