// Approvals: what a person is asked before a call runs, what they may answer, and what is kept of it.

import type { Json } from './json.js';
import type { Plan } from './plan.js';
import type { Owner, Tool } from './tool.js';
import type { Caller, Verdict } from './toolbox.js';

/** A call that waits for consent (POL-6). */
export interface ApprovalRequest {
  /** The same for the same call, and for no other. */
  readonly id: string;
  readonly tool: Tool;
  readonly plan: Plan;
  readonly caller: Caller;
  readonly verdict: Verdict;
  readonly planDigest: string;
  /** 0 for a call through a door, more for one that a tool makes. */
  readonly depth: number;
  /** What a person is shown, and what is kept. */
  readonly record: ApprovalRecord;
  /** What is other than the last time that this tool was consented to. */
  readonly changes?: ApprovalChanges;
  /** Ends where the caller no longer waits. */
  readonly signal: AbortSignal;
}

export interface ApprovalChanges {
  /** When consent was asked for then; null where the policy itself knows of a change. */
  readonly since: string | null;
  /** A line diff. */
  readonly lines: readonly string[];
}

/**
 * `once` and `always` consent, `deny` refuses. `unable`: nobody can be asked here, so the call is recorded for
 * someone who approves it elsewhere. `later`: the question is on its way, and the call will come again.
 */
export type ApprovalAnswer = 'once' | 'always' | 'deny' | 'unable' | 'later';

/** How consent was given. */
export type ConsentWay = 'terminal' | 'mcp' | 'yes' | 'code' | 'record' | 'standing';

/** Asks whoever may consent. */
export interface Approve {
  (request: ApprovalRequest): Promise<ApprovalAnswer>;
  /** How consent is given here; `code` where it is left out. */
  readonly by?: ConsentWay;
}

/** What let a call run that had to be asked for. */
export interface Consent {
  readonly id: string;
  readonly by: ConsentWay;
}

/** A call as it is kept: everything that an approval is bound to, and what a person has to see (POL-7). */
export interface ApprovalRecord {
  /** SHA-256 over what the approval is bound to: the fields up to `input`. */
  readonly binding: string;
  /** Kind and name of the caller: `model mcp:cursor`. */
  readonly principal: string;
  readonly tool: string;
  readonly uri: string | null;
  readonly toolDigest: string;
  readonly planDigest: string;
  readonly workdir: string;
  readonly input: Json;
  readonly description: string;
  readonly owner: Owner;
  /** The command line, with what it is started through; null for code. */
  readonly command: readonly string[] | null;
  readonly interpreter: string | null;
  /** Command lines that run besides it: those that resolve values, and the one that its output goes through. */
  readonly others: readonly (readonly string[])[];
  /** Names of variables. */
  readonly variables: readonly string[];
  /** What tools of its kind show of themselves: the schema, and the text of a script. */
  readonly definition: string;
  readonly rule: string | null;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly created: number;
}

/** Where approvals are kept. Everything that lets a call run is durable before it returns. */
export interface Approvals {
  /** Uses up the approval of exactly this call, or finds a standing one. */
  take(record: ApprovalRecord): Consent | undefined;
  /** Notes that someone must approve this call. Throws where a person refused it, or it cannot be noted. */
  ask(record: ApprovalRecord): void;
  /** Consents to every call of this tool as it is now, by the same caller in the same directory. */
  always(record: ApprovalRecord): void;
  /** Keeps what was consented to elsewhere, to tell next time what changed. */
  remember(record: ApprovalRecord): void;
  changes(record: ApprovalRecord): ApprovalChanges | undefined;
}
