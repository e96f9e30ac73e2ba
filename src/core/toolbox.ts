// The Toolbox: all that a consumer ever sees.

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

export interface Toolbox {
  /** The directory that scripts run in and are found in. */
  readonly workdir: string;
  /** Visible tools, deduplicated by name, in a fixed order (RES-8). */
  list(options?: ListOptions): Promise<readonly Tool[]>;
  /** Visible tools that fit some words, best first; an exact name before all. */
  search(query: string, limit: number, options?: SearchOptions): Promise<readonly Tool[]>;
  /** The tool of a name, a path or a URI (RES-1). Throws `not_found`, `ambiguous` or `invalid_ref`. */
  find(ref: string): Promise<Tool>;
  /** Runs a tool. Never throws: every outcome is a result. */
  call(ref: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** What a call would run and how the policy judges it; runs nothing. Throws what the call would answer. */
  plan(ref: string, input: unknown, options?: PlanOptions): Promise<{ plan: Plan; verdict: Verdict }>;
  /** How the policy judges a call. Needs no plan, so that it answers also where the call could not run. */
  explain(ref: string, input: unknown, options?: PlanOptions): Promise<Explanation>;
  /** What a model should be told before anything else: the skills there are, in the configured way (SKL-2). */
  instructions(options?: InstructionsOptions): Promise<string>;
  /** What holds for a tool besides what it says itself: its authority, permissions and settings (RES-17). */
  cascade(tool: Tool | string): Promise<Cascade>;
  /** The main skill that governs a tool; null where there is none (RES-16). */
  authority(tool: Tool | string): Promise<Skill | null>;
  /** What could not be loaded, and what is odd. */
  problems(): Promise<readonly Problem[]>;
  /** Tools that another of the same name keeps out. */
  shadowed(): Promise<readonly ShadowedTool[]>;
  /** Whether code of the workspace may run for a model (POL-20). */
  readonly trusted: boolean;
  /** Tells when the catalog may have changed; the returned function stops it. */
  watch(listener: () => void): () => void;
  /** Tools, shadowed tools and problems of one and the same moment, for the price of one of them. */
  survey(options?: SearchOptions): Promise<Survey>;
  /** Watches calls; the returned function stops it. */
  on(observer: Observer): () => void;
  /** Adds a tool: it shadows every other of its name at once (RES-9). Throws `conflict` where code gave one before. */
  register(tool: Tool): void;
  /** Takes such a tool away; whether there was one. */
  unregister(name: string): boolean;
  /** Forgets what was read of a tool, lists and indexes that hold it included (RES-14). */
  clearToolCache(name: string): void;
  /** Forgets everything that was read. */
  clearAllCaches(): void;
  /** Moves to another directory; the next listing and call see it (SCR-16). */
  setWorkdir(directory: string): void;
  /** Ends running calls and frees what was held. */
  close(): Promise<void>;
}
