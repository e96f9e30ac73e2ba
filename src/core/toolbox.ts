// The Toolbox interface, and the options and results of its methods.

import type { Approve } from './approval.js';
import type { Cascade } from './cascade.js';
import type { ProgressListener } from './context.js';
import type { Ask, Elicit, Question } from './elicit.js';
import type { ErrorCode, ToolError } from './error.js';
import type { Observer } from './event.js';
import type { OutputStream } from './executor.js';
import type { Plan } from './plan.js';
import type { Problem } from './problem.js';
import type { ToolResult } from './result.js';
import type { Skill } from './skill.js';
import type { CallerKind, ShadowedTool, Tool } from './tool.js';

/** Who calls, through which door. */
export interface Caller {
  readonly kind: CallerKind;
  readonly door: string;
  /** The client's own name, where it gave one. */
  readonly name?: string;
  /** Whose large results it can read; the toolbox's own where it is left out (CTX-3). */
  readonly session?: string;
}

export interface Verdict {
  readonly verdict: 'allow' | 'ask' | 'deny';
  /** The rule that decided, as written, or null where none names the call. */
  readonly rule: string | null;
  readonly reason: string;
  /** Where the rule stands, or the list that does not select the call. */
  readonly source?: { readonly file: string; readonly line: number };
  /** What changed in a definition since it was approved, as lines of a diff (POL-21). */
  readonly changes?: readonly string[];
  /** The code of a refusal, where it is another than `denied` or `needs_approval`. */
  readonly code?: ErrorCode;
  /** What the caller can do about a refusal. */
  readonly hint?: string;
}

/** Where a call stands in a trace of its caller's (W3C Trace Context). */
export interface TraceParent {
  readonly traceparent: string;
  readonly tracestate?: string;
}

export interface CallOptions {
  readonly caller?: Caller;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly onProgress?: ProgressListener;
  /** Gets output while it is written, all of it; the result then keeps only what fits the cap. */
  readonly onOutput?: OutputStream;
  /** Waited for when it is the call's turn, before anything runs: a door whose reader is slow holds calls back. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  /** The whole result however large, and no handle. */
  readonly full?: boolean;
  /** Trusts the workspace for this call alone (POL-22). */
  readonly trust?: boolean;
  /** Asks for consent where the policy says so; without it nobody is asked, and the call is recorded (POL-6). */
  readonly approve?: Approve;
  /** The caller's span; the span of this call becomes its child (OBS-5). */
  readonly trace?: TraceParent;
  /** What a door found wrong with the input before it could hand it over: the call fails with it, like any other. */
  readonly fault?: ToolError;
  /** Asks the person a question that a tool has; left out where nobody can be asked (MOD-18). */
  readonly elicit?: Elicit<Question>;
  /** The same for a person who can only answer with a line of text. */
  readonly ask?: Ask;
  /** The tool that `find` returned for the reference, so that it is not looked up again; ignored for a model. */
  readonly found?: Tool;
  /** Built-in tools that this call may be of beside those that are offered anyway, by name or group. */
  readonly offer?: readonly string[];
}

export interface PlanOptions extends CallOptions {
  /** False: plans with input that need not fit the schema, to show what a tool would run. */
  readonly checkInput?: boolean;
}

export interface ListOptions extends SearchOptions {
  /** Hidden tools too. */
  readonly hidden?: boolean;
  /** Built-in tools to list beside those that are offered anyway, by name or group. */
  readonly offer?: readonly string[];
  /** True: only what is known already; no server is asked, and no module is loaded, for what it has. */
  readonly knownOnly?: boolean;
}

export interface SearchOptions {
  /** For whom: a tool that is denied to him whatever the input is left out (POL-8). Code by default. */
  readonly caller?: Caller;
}

export interface InstructionsOptions {
  /** The inventory of capabilities too, where there is one that may be shown (SDK-11). */
  readonly capabilities?: boolean;
}

/** A tool that is denied whatever the input, and why. */
export interface DeniedTool {
  readonly tool: Tool;
  readonly verdict: Verdict;
}

/** How the policy judges a call, for whoever asks why (POL-10). */
export interface Explanation {
  readonly tool: Tool;
  readonly verdict: Verdict;
  /** The rules of the configuration that are not about the call. */
  readonly unmatched: readonly RuleText[];
}

export interface RuleText {
  readonly text: string;
  readonly file: string | null;
  readonly line: number | null;
}

/** Everything that one look at the files gives. */
export interface Survey {
  /** All tools that are not denied, hidden ones too. */
  readonly tools: readonly Tool[];
  /** Tools that are left out because of a rule. */
  readonly denied: readonly DeniedTool[];
  readonly shadowed: readonly ShadowedTool[];
  readonly problems: readonly Problem[];
  readonly skills: readonly Skill[];
  /** Built-in tools that are not offered: none of a listing, and there for a person or code. */
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
  /** Calls a tool. Never throws: every outcome is a result. */
  call(ref: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** Returns what a call would run and the verdict on it; runs nothing. Throws the error that the call would return. */
  plan(ref: string, input: unknown, options?: PlanOptions): Promise<{ plan: Plan; verdict: Verdict }>;
  /** Explains the verdict on a call. Needs no plan, so it also works if the call could not run. */
  explain(ref: string, input: unknown, options?: PlanOptions): Promise<Explanation>;
  /** Observes calls; the returned function stops it. */
  on(observer: Observer): () => void;
  /** Ends running calls and releases resources. */
  close(): Promise<void>;
  readonly catalog: ToolboxCatalog;
  readonly workspace: ToolboxWorkspace;
}

/** The catalog of a toolbox: what was found on disk, what was registered, and what is wrong with it. */
export interface ToolboxCatalog {
  /** Returns tools, shadowed tools and problems as of the same moment. */
  survey(options?: SearchOptions): Promise<Survey>;
  /** Returns errors and warnings about files that could not be loaded or look wrong. */
  problems(): Promise<readonly Problem[]>;
  /** Returns tools hidden by another tool of the same name. */
  shadowed(): Promise<readonly ShadowedTool[]>;
  /** Calls the listener when the catalog may have changed; the returned function stops it. */
  watch(listener: () => void): () => void;
  /** Adds a tool, which shadows all others of its name (RES-9). Throws `conflict` if code registered one before. */
  register(tool: Tool): void;
  /** Removes a registered tool; returns whether there was one. */
  unregister(name: string): boolean;
  /** Clears what is cached about a tool, including the lists and indexes that contain it (RES-14). */
  clearToolCache(name: string): void;
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
