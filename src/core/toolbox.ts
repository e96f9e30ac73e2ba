// The Toolbox: all that a consumer ever sees.

import type { Approve } from './approval.js';
import type { ProgressListener } from './context.js';
import type { ErrorCode } from './error.js';
import type { Observer } from './event.js';
import type { OutputStream } from './executor.js';
import type { Plan } from './plan.js';
import type { ToolResult } from './result.js';
import type { Skill } from './skill.js';
import type { Problem, ShadowedTool, Tool } from './tool.js';

/** Who calls, through which door. */
export interface Caller {
  /** `person`: at a shell, whose call is consent. `model`: chooses names and input, trusted with nothing. */
  readonly kind: 'person' | 'model' | 'code';
  readonly door: string;
  /** The client's own name, where it gave one. */
  readonly name?: string;
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

export interface CallOptions {
  readonly caller?: Caller;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly onProgress?: ProgressListener;
  /** Gets output while it is written, all of it; the result then keeps only what fits the cap. */
  readonly onOutput?: OutputStream;
  /** Waited for when it is the call's turn, before anything runs: a door whose reader is slow holds calls back. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  /** Trusts the workspace for this call alone (POL-22). */
  readonly trust?: boolean;
  /** Asks for consent where the policy says so; without it nobody is asked, and the call is recorded (POL-6). */
  readonly approve?: Approve;
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
}

export interface Toolbox {
  /** The directory that scripts run in and are found in. */
  readonly workdir: string;
  /** Visible tools, deduplicated by name, in a fixed order (RES-8). */
  list(options?: ListOptions): Promise<readonly Tool[]>;
  /** Visible tools that fit some words, best first; an exact name before all. */
  search(query: string, limit: number, options?: SearchOptions): Promise<readonly Tool[]>;
  /** The tool of a name. Throws `not_found` or `invalid_ref`. */
  find(ref: string): Promise<Tool>;
  /** Runs a tool. Never throws: every outcome is a result. */
  call(ref: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** What a call would run and how the policy judges it; runs nothing. Throws what the call would answer. */
  plan(ref: string, input: unknown, options?: PlanOptions): Promise<{ plan: Plan; verdict: Verdict }>;
  /** How the policy judges a call. Needs no plan, so that it answers also where the call could not run. */
  explain(ref: string, input: unknown, options?: PlanOptions): Promise<Explanation>;
  /** What a model should be told before anything else: the skills there are, in the configured way (SKL-2). */
  instructions(options?: InstructionsOptions): Promise<string>;
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
  /** Moves to another directory; the next listing and call see it (SCR-16). */
  setWorkdir(directory: string): void;
  /** Ends running calls and frees what was held. */
  close(): Promise<void>;
}
