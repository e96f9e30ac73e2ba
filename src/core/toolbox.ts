// The Toolbox: all that a consumer ever sees.

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
  /** Whose large results it can read; the toolbox's own where it is left out (CTX-3). */
  readonly session?: string;
}

export interface Verdict {
  readonly verdict: 'allow' | 'ask' | 'deny';
  /** The rule that decided, as written, or null where none names the call. */
  readonly rule: string | null;
  readonly reason: string;
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
  /** The whole result however large, and no handle. */
  readonly full?: boolean;
  /** Trusts the workspace for this call alone (POL-22). */
  readonly trust?: boolean;
}

export interface PlanOptions extends CallOptions {
  /** False: plans with input that need not fit the schema, to show what a tool would run. */
  readonly checkInput?: boolean;
}

export interface ListOptions {
  /** Hidden tools too. */
  readonly hidden?: boolean;
}

/** Everything that one look at the files gives. */
export interface Survey {
  /** All tools, hidden ones too. */
  readonly tools: readonly Tool[];
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
  search(query: string, limit: number): Promise<readonly Tool[]>;
  /** The tool of a name. Throws `not_found` or `invalid_ref`. */
  find(ref: string): Promise<Tool>;
  /** Runs a tool. Never throws: every outcome is a result. */
  call(ref: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** What a call would run and how the policy judges it; runs nothing. Throws what the call would answer. */
  plan(ref: string, input: unknown, options?: PlanOptions): Promise<{ plan: Plan; verdict: Verdict }>;
  /** What a model should be told before anything else: the skills there are, in the configured way (SKL-2). */
  instructions(): Promise<string>;
  /** What could not be loaded, and what is odd. */
  problems(): Promise<readonly Problem[]>;
  /** Tools that another of the same name keeps out. */
  shadowed(): Promise<readonly ShadowedTool[]>;
  /** Whether code of the workspace may run for a model (POL-20). */
  readonly trusted: boolean;
  /** Tells when the catalog may have changed; the returned function stops it. */
  watch(listener: () => void): () => void;
  /** Tools, shadowed tools and problems of one and the same moment, for the price of one of them. */
  survey(): Promise<Survey>;
  /** Watches calls; the returned function stops it. */
  on(observer: Observer): () => void;
  /** Moves to another directory; the next listing and call see it (SCR-16). */
  setWorkdir(directory: string): void;
  /** Ends running calls and frees what was held. */
  close(): Promise<void>;
}
