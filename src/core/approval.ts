// Approvals: the request, the answer, the stored record, and how each door obtains consent.

import type { Caller, Verdict } from './caller.js';
import type { Json } from './json.js';
import type { Owner } from './origin.js';
import type { Plan } from './plan.js';
import type { Awaitable } from './store.js';
import type { Tool } from './tool.js';

/** A call that needs consent (POL-6). */
export interface ApprovalRequest {
  /** Identifies the call: equal for equal calls. */
  readonly id: string;
  /** The tool that is called. */
  readonly tool: Tool;
  /** What exactly runs if it is approved. */
  readonly plan: Plan;
  /** Who calls. */
  readonly caller: Caller;
  /** Why consent is needed. */
  readonly verdict: Verdict;
  /** Keyed hash of the plan. */
  readonly planDigest: string;
  /** 0 for a call through a door, more for a nested call. */
  readonly depth: number;
  /** What is shown and stored. */
  readonly record: ApprovalRecord;
  /** Differences from the last approved call of this tool. */
  readonly changes?: ApprovalChanges;
  /** Aborted when the caller stops waiting. */
  readonly signal: AbortSignal;
}

export interface ApprovalChanges {
  /** When the last consent was requested; null if the definition itself changed. */
  readonly since: string | null;
  /** A line diff. */
  readonly lines: readonly string[];
  /** Lines of `programs` that were removed or added, with `-` or `+`. */
  readonly programs: readonly string[];
}

/**
 * `once` and `always` consent, `deny` refuses, `cancel` decides nothing. `unable`: this door cannot ask, so the call is stored to be approved
 * elsewhere. `later`: the question was sent, and the client will repeat the call.
 */
export type ApprovalAnswer = 'once' | 'always' | 'deny' | 'cancel' | 'unable' | 'later';

/** How consent was given. */
export type ConsentWay = 'terminal' | 'page' | 'mcp' | 'yes' | 'code' | 'record' | 'standing';

/** Asks for consent. */
export type Approve = (request: ApprovalRequest) => Promise<ApprovalAnswer>;

/** The consent that a call ran with. */
export interface Consent {
  /** The id of the approval. */
  readonly id: string;
  /** How it was given. */
  readonly by: ConsentWay;
  /** The user who gave it, if they were logged in. */
  readonly approvedBy?: string;
}

/** Consent that was given before the call. */
export interface StoredConsent extends Consent {
  /** When it was given. */
  readonly at: string;
}

/** Who decided on a call, how and when. */
export interface Decision {
  /** `nobody`: the question was not answered. */
  readonly by: 'rule' | 'default' | 'person' | 'code' | 'nobody';
  /** How a person or program answered. */
  readonly how: ConsentWay | null;
  /** When they answered, in ISO format. */
  readonly at: string | null;
  /** The user who answered, if they were logged in. */
  readonly user?: string;
}

/** A stored call: everything an approval is bound to, and what must be shown (POL-7). */
export interface ApprovalRecord {
  /** SHA-256 over the fields up to `input`, which the approval is bound to. */
  readonly binding: string;
  /** Kind and name of the caller: `model mcp:cursor`. */
  readonly principal: string;
  /** The name of the tool. */
  readonly tool: string;
  /** The URI of the tool; null for one defined in code. */
  readonly uri: string | null;
  /** SHA-256 of the tool's definition and files. */
  readonly toolDigest: string;
  /** Keyed hash of what runs. */
  readonly planDigest: string;
  /** The directory that it runs in. */
  readonly workdir: string;
  /** Lines that identify what it starts or loads besides the tool: programs, interpreters, packages (POL-25). */
  readonly programs: readonly string[];
  /** Labels of the session that it asks because of: another approval does not count for them (FLW-4). */
  readonly after?: readonly string[];
  /** Hash of the input as canonical JSON, keyed like that of the plan: both may contain secrets. */
  readonly inputDigest: string;
  /** Without secrets and values of sensitive names. */
  readonly input: Json;
  /** The description of the tool. */
  readonly description: string;
  /** The owner of the tool's files. */
  readonly owner: Owner;
  /** The command line with its launcher; null for code. */
  readonly command: readonly string[] | null;
  /** The program that runs the script, if it is one. */
  readonly interpreter: string | null;
  /** Further command lines: resolvers, and the filter of the output. */
  readonly others: readonly (readonly string[])[];
  /** Set if its process goes on after the call. */
  readonly background?: true;
  /** Names of variables. */
  readonly variables: readonly string[];
  /** The definition: the schema, and the text of a script. */
  readonly definition: string;
  /** The rule that asks, as written; null if none matched. */
  readonly rule: string | null;
  /** Why consent is needed. */
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly created: number;
}

/** Returns the command that approves a call; `flag` as in `Approvals`. */
export function approveCommand(id: string, flag = ''): string {
  return `wield approvals approve ${id}${flag}`;
}

/** Stored approvals. Consent is durable before a method returns, or before its promise resolves. */
export interface Approvals {
  /** What commands about these approvals need besides an id. */
  readonly flag?: string;
  /** The key of the digests in records; created on first use. */
  key(): string;
  /** Consumes the approval of exactly this call, or finds a standing one. */
  take(record: ApprovalRecord): Awaitable<StoredConsent | undefined>;
  /** Returns what a person has decided about exactly this call, and uses nothing up. */
  decisionOn(record: ApprovalRecord): Awaitable<'approved' | 'denied' | undefined>;
  /**
   * Stores a pending call; returns whether it was not pending before. Throws if it was denied before or cannot be stored;
   * `flag` is what commands in the error need.
   */
  ask(record: ApprovalRecord, flag?: string): Awaitable<boolean>;
  /** Whether a call still waits for a decision. */
  isPending(id: string): Awaitable<boolean>;
  /** Approves all calls of this tool as it is now, by the same caller in the same directory. */
  always(record: ApprovalRecord): Awaitable<void>;
  /** Stores an approved call, to show later what changed. */
  remember(record: ApprovalRecord): Awaitable<void>;
  changes(record: ApprovalRecord): Awaitable<ApprovalChanges | undefined>;
}

// Not a property: a function that code passes is an answer of code, whatever it says about itself (OBS-1).
const ways = new WeakMap<Approve, ConsentWay>();

/** Records how a function of a door obtains consent. */
export function approveBy(way: ConsentWay, approve: Approve): Approve {
  ways.set(approve, way);
  return approve;
}

/** Returns how a function obtains consent; `code` if no door of wield made it. */
export function wayOf(approve: Approve): ConsentWay {
  return ways.get(approve) ?? 'code';
}
