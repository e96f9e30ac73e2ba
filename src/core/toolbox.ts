// The Toolbox interface, and the options and results of its methods.

import type { Approve, Consent } from './approval.js';
import type { CallController } from './call-controller.js';
import type { Caller, TraceParent, Verdict } from './caller.js';
import type { RequestClient } from './client-request.js';
import type { LogListener, OutputStream, ProgressListener } from './context.js';
import type { Ask, Elicit, Question } from './elicit.js';
import type { ToolError } from './error.js';
import type { Observer } from './event.js';
import type { Json } from './json.js';
import type { EnteredLabel } from './label.js';
import type { Origin } from './origin.js';
import type { Plan, Variables } from './plan.js';
import type { Problem } from './problem.js';
import type { Prompt, Resource, SkillOffer } from './resource.js';
import type { ToolResult } from './result.js';
import type { SandboxPlan } from './sandbox.js';
import type { CodeLimits } from './settings.js';
import type { Cascade, Skill } from './skill.js';
import type { Operation, Telemetry } from './telemetry.js';
import type { ShadowedTool, Tool } from './tool.js';
import type { KnownRef, Meant, NamedDefinition, OtherNames, ToolInput, ToolResultOf } from './typed.js';
import type { AutoMode } from './view.js';

/** Options of a call. */
export interface CallOptions {
  /** Who calls; code by default. */
  readonly caller?: Caller;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** Time limit of this call, in milliseconds, instead of the tool's. */
  readonly timeoutMs?: number;
  /** Returns the whole result, however large, instead of a handle. */
  readonly full?: boolean;
  /** Trusts the workspace for this call alone (POL-22). */
  readonly trust?: boolean;
  /** Asks for consent if the policy requires it; without it the call is stored as pending (POL-6). */
  readonly approve?: Approve;
  /** Asks the user questions of tools, if the door can (MOD-18). */
  readonly elicit?: Elicit<Question>;
  /** Like `elicit`, for doors that can only ask for a line of text. */
  readonly ask?: Ask;
  /** Receives progress of the tool. */
  readonly onProgress?: ProgressListener;
  /** Receives all output while it is written; the result is still capped. */
  readonly onOutput?: OutputStream;
  /** The caller's span; the span of this call becomes its child (OBS-5). */
  readonly trace?: TraceParent;
}

/** Options of a plan or an explanation. */
export interface PlanOptions extends CallOptions {
  /** False: plans without validating the input, to show what a tool would run. */
  readonly checkInput?: boolean;
}

/** What only our own doors set. */
export interface DoorOptions extends PlanOptions {
  /** Of the door's request: aborted with the call, as well as by the door. Replaces `signal`. */
  readonly controller?: CallController;
  /** Receives log messages of the tool. */
  readonly onLog?: LogListener | undefined;
  /** The lowest level of the log messages that the caller wants; what a server sends by default if absent. */
  readonly logLevel?: string | undefined;
  /** Awaited before the tool runs, so that a door with a slow reader can delay calls. */
  readonly ready?: (call: { readonly signal: AbortSignal }) => Promise<void> | undefined;
  /**
   * How long a process in the background lives: until the signal, which is that of the caller's session. `call`: as long as
   * the call, which waits for it. `none`: the caller has no session, so it is not started. As long as the toolbox by default.
   */
  readonly background?: AbortSignal | 'call' | 'none';
  /** Runs the call without a sandbox, if the caller is a person (EXE-10). */
  readonly sandbox?: 'none';
  /**
   * Waits for consent that is given elsewhere instead of failing; called with the command that gives it, and without one
   * once it was decided.
   */
  readonly onPending?: ((command?: string) => void) | undefined;
  /** Called with the plan before it is run; what it throws ends the call. */
  readonly checkPlan?: (plan: Plan) => void;
  /** An error that the door found in the input; the call fails with it. */
  readonly fault?: ToolError;
  /** The client of the door, if servers behind tools can send it requests (RSC-7). */
  readonly client?: RequestClient | undefined;
  /** The tool that `find` returned for the reference, so that it is not looked up again; ignored for a model. */
  readonly found?: Tool;
  /** Further built-in tools that may be called, by name or group. */
  readonly offer?: readonly string[];
  /** Limits of a program, instead of those of the toolbox (COD-3). */
  readonly codeLimits?: Partial<CodeLimits> | undefined;
  /** The caller's name for this call: a repeated call in a fleet returns the first result (FLT-12). */
  readonly key?: string | undefined;
  /** Set by an agent loop: further sessions that it is part of. What it reads also enters that of callers without one. */
  readonly joined?: readonly string[] | undefined;
  /** Labels of a session, besides those that entered that of the caller; for explanations. */
  readonly entered?: readonly EnteredLabel[];
  /** Set by a worker: another front found the tool, decided on the call and applied middleware (FLT-4). */
  readonly dispatched?: DispatchedCall;
  /** The MCP request that makes the call, which it ends before; its span is that of the call. */
  readonly operation?: Operation | undefined;
  /** What the reference names, if not a tool. Set by `resources` and `prompts`. */
  readonly as?: 'resource' | 'subscription' | 'prompt' | 'completion';
}

/** What a front decided about a call that runs here. */
export interface DispatchedCall {
  /** A tool with another digest is not run. */
  readonly digest: string;
  /** The consent that was given at the front. */
  readonly approval?: Consent | undefined;
  /** What the front granted the tool; used where this machine grants it too and has no value of its own (FLT-70). */
  readonly variables?: Variables | undefined;
  /** What the session had read; counts for the calls that the tool makes (FLW-5). */
  readonly entered?: readonly EnteredLabel[] | undefined;
}

/** Options of a listing. */
export interface ListOptions extends SearchOptions {
  /** Includes hidden tools. */
  readonly hidden?: boolean;
  /** Further built-in tools to list, by name or group. */
  readonly offer?: readonly string[];
  /** True: starts no server and loads no module to learn about tools. */
  readonly knownOnly?: boolean;
}

/** What only our own doors set. */
export interface DoorListOptions extends ListOptions {
  /** Returns what mode `auto` is for this list, given what it would be now. Not called in other modes. */
  readonly decideMode?: (now: AutoMode) => AutoMode;
}

/** Options of a search. */
export interface SearchOptions {
  /** Tools denied to this caller whatever the input are omitted (POL-8). Code by default. */
  readonly caller?: Caller;
}

/** Options of a survey. */
export interface SurveyOptions extends SearchOptions {
  /** Does not wait for servers: returns what is known now. */
  readonly now?: boolean;
}

/** Options of the text for a model. */
export interface InstructionsOptions {
  /** Includes the inventory of capabilities, if it may be shown (SDK-11). */
  readonly capabilities?: boolean;
  /** Tools and skills that are denied to this caller are not named. */
  readonly caller?: Caller;
}

/** A tool that is denied whatever the input, and why. */
export interface DeniedTool {
  /** The tool. */
  readonly tool: Tool;
  /** Why it is denied. */
  readonly verdict: Verdict;
}

/** Why the policy decides on a call as it does (POL-10). */
export interface Explanation {
  /** The tool that would be called. */
  readonly tool: Tool;
  /** What the policy decides, and why. */
  readonly verdict: Verdict;
  /** The labels of the tool (FLW-1). */
  readonly labels: readonly string[];
  /** What the session has read, if rules depend on it. */
  readonly entered: readonly EnteredLabel[];
  /** The sandbox that it would run in, if any. */
  readonly sandbox?: SandboxPlan | undefined;
  /** Rules of the configuration that do not match the call. */
  readonly unmatched: readonly RuleText[];
}

/** A rule with its position. */
export interface RuleText {
  /** The rule, as written. */
  readonly text: string;
  /** The file that it is in. */
  readonly file: string | null;
  /** Its line in the file. */
  readonly line: number | null;
}

/** The whole catalog at one moment. */
export interface Survey {
  /** All tools that are not denied, including hidden ones. */
  readonly tools: readonly Tool[];
  /** Tools denied by a rule. */
  readonly denied: readonly DeniedTool[];
  /** Tools that are hidden by others of the same name. */
  readonly shadowed: readonly ShadowedTool[];
  /**
   * Files whose tools are not known, but may be later: modules that were not loaded, links out of a workspace that is not
   * trusted, and skills whose delegate is missing; also modules that have resources and prompts only.
   */
  readonly otherFiles: readonly Origin[];
  /** What is wrong with files. */
  readonly problems: readonly Problem[];
  /** All skills. */
  readonly skills: readonly Skill[];
  /** Built-in tools that are not listed, but callable by a person or code. */
  readonly unlisted: readonly Tool[];
}

/** The tools of a workspace, and the one way to call them. */
export interface Toolbox {
  /** Lists the visible tools, each name once, in a fixed order (RES-8). */
  list(options?: ListOptions): Promise<readonly Tool[]>;
  /** Searches the visible tools; best match first, an exact name before all others. */
  search(query: string, limit: number, options?: SearchOptions): Promise<readonly Tool[]>;
  /** Finds a tool by name, path or URI (RES-1). Throws `not_found`, `ambiguous` or `invalid_ref`. */
  find(ref: string): Promise<Tool>;
  /** Calls a tool by name, path or URI. Never throws: every outcome is a result. */
  call(ref: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** Calls the tool of a definition, by its name, with the types of its schemas. */
  call<D extends NamedDefinition>(definition: D, input: ToolInput<D>, options?: CallOptions): Promise<ToolResultOf<D>>;
  /** Returns what a call would run and the verdict on it; runs nothing. Throws the error that the call would return. */
  plan(ref: string, input: unknown, options?: PlanOptions): Promise<{ plan: Plan; verdict: Verdict }>;
  /** Explains the verdict on a call. Needs no plan, so it also works if the call could not run; `input` may be undefined. */
  explain(ref: string, input: unknown, options?: PlanOptions): Promise<Explanation>;
  /** Observes calls; the returned function stops it. */
  on(observer: Observer): () => void;
  /** Receives the requests of doors, for traces and metrics. */
  readonly telemetry?: Telemetry | undefined;
  /** Ends running calls and releases resources. */
  close(): Promise<void>;
  /** Resources, prompts, problems and registration. */
  readonly catalog: ToolboxCatalog;
  /** The directory that it works in. */
  readonly workspace: ToolboxWorkspace;
}

/** A toolbox whose tools were given as definitions: names are checked, input and results are typed by the schemas. */
export interface KnownToolbox<Known extends NamedDefinition, Other extends string = OtherNames<Known>> extends Toolbox {
  /** Calls a tool by its name or definition. Never throws: every outcome is a result. */
  call<const Ref extends string | NamedDefinition>(
    ref: KnownRef<Known, Other, Ref>,
    input: ToolInput<Meant<Known, Ref>>,
    options?: CallOptions,
  ): Promise<ToolResultOf<Meant<Known, Ref>>>;
}

/** Options of a listing of resources or prompts. */
export interface OfferListOptions extends SearchOptions {
  /** Includes those denied to the caller. */
  readonly denied?: boolean;
  /** True: starts no server to learn about them. */
  readonly knownOnly?: boolean;
}

/** The resources of a toolbox. */
export interface ToolboxResources {
  /** Lists resources and templates, each URI once; those denied to the caller are omitted (POL-8). */
  list(options?: OfferListOptions): Promise<readonly Resource[]>;
  /** Reads a resource: a call of the tool `resource:<uri>`, whose contents are parts of the result. Never throws. */
  read(uri: string, options?: CallOptions): Promise<ToolResult>;
  /** Calls the listener when a resource changes, if the caller may read it: judged as a call of `resource:<uri>`. */
  subscribe(uri: string, onUpdate: () => void, options?: CallOptions): Promise<ResourceSubscription>;
}

/** A subscription; if its result is an error, there is none. */
export interface ResourceSubscription {
  /** Whether it is subscribed, or the error. */
  readonly result: ToolResult;
  /** Ends the subscription. */
  end(): void;
}

export interface ToolboxSkills {
  /** Lists skills with their files, as Skills over MCP does; those denied to the caller are omitted (SKL-11). */
  list(options?: OfferListOptions): Promise<readonly SkillOffer[]>;
}

/** The prompts of a toolbox. */
export interface ToolboxPrompts {
  /** Lists prompts, each name once; those denied to the caller are omitted (POL-8). */
  list(options?: OfferListOptions): Promise<readonly Prompt[]>;
  /** Makes messages: a call of the tool `prompt:<name>`; they are in the structured result. Never throws. */
  get(name: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** Completes an argument of a prompt, or a variable of a resource template: values in the structured result. */
  complete(ref: CompletionRef, input: Json, options?: CallOptions): Promise<ToolResult>;
}

/** What a completion is for. */
export type CompletionRef = { readonly prompt: string } | { readonly template: string };

/** The catalog of a toolbox: what it offers besides tools, what shadows what, and what is wrong with its files. */
export interface ToolboxCatalog {
  /** Resources: data that clients read by URI. */
  readonly resources: ToolboxResources;
  /** Prompts: messages for a conversation. */
  readonly prompts: ToolboxPrompts;
  /** Skills as they are listed over MCP. */
  readonly skills: ToolboxSkills;
  /** Returns tools, shadowed tools and problems as of the same moment. */
  survey(options?: SurveyOptions): Promise<Survey>;
  /** Returns errors and warnings about files that could not be loaded or look wrong. */
  problems(): Promise<readonly Problem[]>;
  /** Calls the listener when the catalog may have changed; the returned function stops it. */
  watch(listener: () => void): () => void;
  /** Adds a tool, which shadows all others of its name (RES-9). Throws `conflict` if code registered one before. */
  register(tool: Tool): void;
  /** Removes a registered tool; returns whether there was one. */
  unregister(name: string): boolean;
  /** Clears what is cached about a tool, including the lists and indexes that contain it (RES-14). */
  clearToolCache(name: string): void;
  /** Clears everything that is cached about tools. */
  clearAllCaches(): void;
  /** Returns what a tool inherits: its authority, permissions and settings (RES-17). */
  cascade(tool: Tool | string): Promise<Cascade>;
  /** Returns the main skill that governs a tool, or null (RES-16). */
  authority(tool: Tool | string): Promise<Skill | null>;
}

/** The directory that a toolbox works in. */
export interface ToolboxWorkspace {
  /** The directory that scripts run in and are found in. */
  readonly workdir: string;
  /** Whether code of the workspace may run for a model (POL-20). */
  readonly trusted: boolean;
  /** Returns the text to send to a model first: the available skills, in the configured form (SKL-2). */
  instructions(options?: InstructionsOptions): Promise<string>;
  /** Changes the workdir for the next listing and call (SCR-16). */
  setWorkdir(directory: string): void;
}
