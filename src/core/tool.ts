// The Tool: one model for every format, executor and door.

import type { Caller, Verdict } from './caller.js';
import type { Allowlist, Execution } from './command.js';
import type { OutputStream, ToolContext } from './context.js';
import type { HttpAction } from './http.js';
import type { Json, JsonObject } from './json.js';
import type { FileIdentity, Origin } from './origin.js';
import type { Requirements } from './requirements.js';
import type { Repair, ToolResult } from './result.js';
import type { SandboxRequest } from './sandbox.js';
import type { Schema } from './schema.js';
import type { CodeLimits } from './settings.js';
import type { Snapshot } from './snapshot.js';
import type { ContextStore } from './store.js';

/** A tool of any format. */
export interface Tool {
  /** Grammar in `name.ts`. */
  readonly name: string;
  /** What it does, for models and people. */
  readonly description: string;
  /** The schema of its input. */
  readonly input: Schema;
  /** The schema of its structured result, if it has one. */
  readonly output?: Schema;
  /** What running it means, as data. */
  readonly action: Action;
  /** Where it comes from. */
  readonly origin: Origin;
  /** What its author says about it. */
  readonly traits: Traits;
}

/** What running a tool means. */
export type Action =
  | ProcessAction
  | FunctionAction
  | ModuleAction
  | TextAction
  | DelegateAction
  | RemoteAction
  | HttpAction;

/** Returns the action of a tool for the executor of its kind. */
export function actionOf<Kind extends Action['kind']>(
  { name, action }: Tool,
  kind: Kind,
): Extract<Action, { readonly kind: Kind }> {
  if (action.kind !== kind) throw new TypeError(`the action of ${name} is ${action.kind}, not ${kind}`);
  return action as Extract<Action, { readonly kind: Kind }>;
}

/** Runs a program in its own process. */
export type ProcessAction = ScriptAction | CommandAction;

/** A file with a shebang; receives its input as variables and on stdin. */
export interface ScriptAction {
  readonly kind: 'process';
  readonly runs: 'script';
  /** Absolute path of the script. */
  readonly file: string;
  /** Identity of the file that the definition was read from. */
  readonly identity: FileIdentity;
  /** Interpreter line without `#!`; empty for a binary. */
  readonly shebang: string;
  /** Variables that the script needs and the user's configuration must grant (SCR-24). */
  readonly needs: readonly string[];
  /** How it is called, if its header is that of another program (SCR-29). */
  readonly call?: ScriptCall;
}

/** `argc`: variables that a function `argc` sets. `positions`: arguments in this order. `arguments`: any, for a script of a skill. */
export type ScriptCall =
  | {
      readonly kind: 'argc';
      readonly parameters: readonly ArgcParameter[];
      /** Variables with their defaults. */
      readonly defaults: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'positions'; readonly positions: readonly { readonly name: string; readonly encoded: boolean }[] }
  | {
      readonly kind: 'arguments';
      /** The directory of the skill, which it runs in. */
      readonly directory: string;
    };

export interface ArgcParameter {
  readonly name: string;
  readonly kind: 'option' | 'flag' | 'arg';
  /** The variable of the script, without `argc_`. */
  readonly variable: string;
}

/** A program of the PATH; a declaration maps its input to arguments. */
export interface CommandAction {
  readonly kind: 'process';
  readonly runs: 'command';
  /** The directory of the skill that declares it. */
  readonly directory: string;
  readonly allowlist: Allowlist;
  readonly executions: readonly Execution[];
  /** The file that defines it, if what runs depends on more of it than is declared here; part of the digest. */
  readonly file?: { readonly path: string; readonly identity: FileIdentity } | undefined;
  /** Alternative groups of required programs; the first complete one determines `binGroup`. */
  readonly binGroups: readonly (readonly string[])[];
}

/** What a built-in tool knows about the call besides its context. */
export interface CallInternals {
  readonly caller: Caller;
  readonly snapshot: Snapshot;
  /** Receives output while the tool runs, if the caller wants it. */
  readonly stream?: OutputStream;
  /** The stores as the call uses them; null if there are none. */
  readonly store: ContextStore | null;
  /** Enters labels into the session of the call (FLW-3). */
  readonly enter: (labels: readonly string[]) => Promise<void>;
  /** Reads a resource in a nested call. */
  readonly read: (uri: string) => Promise<ToolResult>;
  /** Returns what a call with the options of this one would run, and runs nothing. Throws the errors of that call. */
  readonly foresee: (ref: string, input: unknown) => Promise<ForeseenCall>;
  readonly options: {
    /** Limits of a program, instead of those of the settings. */
    readonly codeLimits?: Partial<CodeLimits> | undefined;
  };
}

/** What a call would run, and whether it may. */
export interface ForeseenCall {
  /** The plan as people see it; none if the tool is denied whatever the input. */
  readonly plan?: JsonObject;
  readonly verdict: Verdict;
  /** What was changed in its input. */
  readonly repairs: readonly Repair[];
}

/** Runs a function in this process; the only action that is not data. */
export interface FunctionAction {
  readonly kind: 'function';
  readonly run: (input: Json, context: ToolContext, internals?: CallInternals) => unknown;
  /** Whether `run` gets the internals of the call: for built-in tools. */
  readonly builtin?: boolean;
  /** Returns the call that a call of this tool goes on as; then `run` is not used. For built-in tools. */
  readonly forward?: (input: JsonObject, snapshot: Snapshot) => { readonly ref: string; readonly input: Json };
  /** The author's function if `run` wraps it; its text is part of the digest. */
  readonly body?: (input: never, context: ToolContext) => unknown;
}

/** Runs a module, or a piece of code, in the tool host. */
export interface ModuleAction {
  readonly kind: 'module';
  readonly source: ModuleFiles | InlineModule;
  /** The export that is the tool; null if unknown because the file may not be loaded yet (POL-20). */
  readonly export: string | null;
  readonly offer?: OfferRequest;
}

/** What is requested of an export that is a resource or prompt; `ref` is a URI, a URI template or a name (MOD-33). */
export interface OfferRequest {
  readonly as: 'resource' | 'prompt' | 'completion';
  readonly ref: string;
}

/** A file and all its relative imports. */
export interface ModuleFiles {
  readonly file: string;
  /** Starts with the file itself; other bytes are not run. */
  readonly files: readonly ModuleFile[];
}

export interface ModuleFile {
  /** Absolute. */
  readonly path: string;
  readonly sha256: string;
}

/** Code embedded in another file. */
export interface InlineModule {
  readonly inline: string;
  /** The file that contains the code: base of relative imports, and named in errors. */
  readonly file: string;
  /** Relative imports of the code. */
  readonly files: readonly ModuleFile[];
}

/** Returns the text of a file, rendered with the input; runs nothing. */
export interface TextAction {
  readonly kind: 'text';
  /** Absolute path of the file. */
  readonly file: string;
  /** Identity of the file that the definition was read from. */
  readonly identity: FileIdentity;
  /** Offset of the text, in characters. */
  readonly start: number;
}

/** Calls another tool: a nested call with its own decision. */
export interface DelegateAction {
  readonly kind: 'delegate';
  /** Reference of the tool that runs. */
  readonly ref: string;
  /** Whether the tool declares its own input; otherwise it has that of the other tool. */
  readonly ownInput: boolean;
}

/** Calls a tool of an upstream MCP server. */
export interface RemoteAction {
  readonly kind: 'remote';
  readonly server: string;
  /** Name of the tool on the server. */
  readonly tool: string;
  /** Command line or URL of the server, with variables unexpanded. */
  readonly target: string;
  /** Identifies the configuration of the server. */
  readonly configuration: string;
  /** SHA-256 of the tool's definition on the server. */
  readonly definition: string;
  /** The server's description, if it contains invisible characters. */
  readonly described?: string;
  /** The request, if it does not call a tool. */
  readonly method?: 'resources/read' | 'resources/subscribe' | 'prompts/get' | 'completion/complete';
  /** The URI to read, if `tool` is a template that it belongs to. */
  readonly uri?: string;
}

/** What the author of a tool says about it. */
export interface Traits {
  /** Name for people. */
  readonly title?: string;
  /** The group that it is listed and named with. */
  readonly group?: string;
  /** Normalized (RES-30). */
  readonly tags: readonly string[];
  /** Not listed; models cannot call it. */
  readonly hidden: boolean;
  /** Only for MCP Apps: hidden, except from clients that show them (RSC-20). */
  readonly app?: true;
  /** Ends the agent loop that calls it. */
  readonly terminal: boolean;
  /** Hints of the author: displayed, but never a reason to allow more (TOOL-5). */
  readonly readOnly?: boolean;
  /** May delete or overwrite; a model's call needs approval. */
  readonly destructive?: boolean;
  /** A repeated call has no further effect. */
  readonly idempotent?: boolean;
  /** Reaches beyond this machine, such as the web. */
  readonly openWorld?: boolean;
  /** What its results contain, or that it sends something out: `untrusted`, `private`, `egress` or others (FLW-1). */
  readonly labels?: readonly string[];
  /** Time limit of a call, or of a process in the background, in milliseconds. */
  readonly timeoutMs?: number;
  /** Its process goes on after the call, until it is stopped or the session ends (BGR-1). */
  readonly background?: true;
  /** MCP clients can call it only as a task (SRV-83). */
  readonly taskOnly?: true;
  /** The tag of the workers that it runs on (FLT-7). */
  readonly runOn?: string;
  /** The sandbox that its author asks for (EXE-10). */
  readonly sandbox?: SandboxRequest;
  /** What must be there before it is called (TOOL-27). */
  readonly requires?: Requirements;
  /** Only returns a text: runs no code of its owner, so it needs no trust. */
  readonly text?: boolean;
  /** A script of a skill: a model learns of it from the skill, and no list for models has it (SKL-13). */
  readonly ofSkill?: true;
  /** Selectors of the tools it may call; absent: no limit (SKL-4). */
  readonly allowedTools?: readonly string[];
  /** Role of the tool, chosen by its author (MOD-14). */
  readonly role?: string;
  /** Inputs that are shown as examples. */
  readonly examples: readonly Json[];
  /** Positional parameters on a command line, in order (MOD-21). */
  readonly positional?: readonly string[];
  /** Other names of parameters, from another system. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Fields of an upstream definition that are passed on as they are: icons, annotations, _meta, … */
  readonly listed?: Readonly<Record<string, Json>>;
  /** Other data of the author; has no effect. */
  readonly metadata?: Readonly<Record<string, Json>>;
}

/** Default traits. */
export const NO_TRAITS: Traits = Object.freeze({
  tags: Object.freeze([]),
  hidden: false,
  terminal: false,
  examples: Object.freeze([]),
});

/** Whether a model can call the tool only if its workspace is trusted, because it runs code of the workspace (POL-20). */
export function needsTrust({ origin, traits }: Tool): boolean {
  // A text of a server is read through the server, which is started for it.
  return origin.configuredBy === 'workspace' || (origin.owner === 'workspace' && traits.text !== true);
}

/** Whether two tools of one name are the same command of a file, found in two ways: `mise.toml` and its directory of tasks. */
export function isSameCommand(one: Tool, other: Tool): boolean {
  const textOf = ({ name, origin, action }: Tool): string | undefined =>
    action.kind === 'process' && action.runs === 'command' && action.file !== undefined
      ? JSON.stringify([name, origin.format, action.directory, action.executions])
      : undefined;
  const text = textOf(one);
  return text !== undefined && text === textOf(other);
}

/** A tool that is hidden by another one of the same name (RES-12). */
export interface ShadowedTool {
  /** The hidden tool. */
  readonly tool: Tool;
  /** The tool that is found by the name. */
  readonly by: Tool;
}

const UNTRUSTED = '[Not callable yet: a person must review this workspace and run `wield trust`.] ';

/** Returns the description for a model, marked if the tool cannot be called until the workspace is trusted. */
export function describeForModel(tool: Tool, trusted: boolean): string {
  return needsTrust(tool) && !trusted ? UNTRUSTED + tool.description : tool.description;
}
