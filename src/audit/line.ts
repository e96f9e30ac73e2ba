// The lines of the audit log, as types, which the page uses too.

import type { Consent, Decision } from '../core/approval.js';
import type { Caller, Verdict } from '../core/caller.js';
import type { ErrorCode } from '../core/error.js';
import type { Json } from '../core/json.js';

/** What every line of the log ends with (OBS-10). */
export interface Link {
  /** The number of the file and random letters: a chain is in no other file. */
  readonly chain: string;
  /** Counts the lines of the chain, from 1. */
  readonly seq: number;
  /** SHA-256 of the line before it in the chain; null for the first. */
  readonly prev: string | null;
  /** Size of the file just before: the line is there, or after lines of other processes that came in between. */
  readonly at: number;
  /** Set on a line before which the file did not end with a whole line. */
  readonly fresh?: true;
  /** Files up to this number are removed next, because enough are kept. */
  readonly pruned?: number;
}

/** One line of the audit log (OBS-1); `docs/reference/audit.md` explains each field. */
export interface AuditRecord extends Partial<Link> {
  readonly time: string;
  /** Missing in lines of versions before this field; another number if a field was removed or means something else. */
  readonly schema?: 1;
  readonly pid: number;
  /** When the process started, by the clock of the system: ids of processes are used again. */
  readonly since: number;
  readonly call: string;
  readonly parent: string | null;
  readonly depth: number;
  readonly caller: string;
  /** Who was logged in (IDN-5). */
  readonly user?: string;
  /** The MCP session or connection, else the toolbox that the call was made with (OBS-17). */
  readonly session?: string;
  /** The address of the client, over HTTP (IDN-14). */
  readonly address?: string;
  readonly kind: Caller['kind'];
  readonly door: string;
  readonly tool: string;
  readonly format: string | null;
  readonly origin: string | null;
  readonly digest: string | null;
  readonly binary: string | null;
  readonly workdir: string;
  readonly verdict: Verdict['verdict'] | null;
  readonly rule: string | null;
  readonly reason: string | null;
  readonly approval: Consent | null;
  readonly decision: Decision | null;
  readonly code: ErrorCode | null;
  readonly durationMs: number;
  readonly exitCode: number | null;
  /** What enforced the sandbox, `none` if nothing could; null for a tool without one. */
  readonly sandbox: string | null;
  /** Connections that the sandbox refused (EXE-85). */
  readonly refused?: readonly string[];
  readonly inputBytes: number | null;
  readonly inputHash: string | null;
  readonly outputBytes: number;
  readonly outputHash: string | null;
  readonly truncated: boolean;
  readonly handle: string | null;
  /** Contents, only if configured. */
  readonly input?: Json;
  readonly output?: string;
  readonly message?: string;
  /** Set if the contents would have made the line too long. */
  readonly contentsLeftOut?: true;
  /** Not written but found by a reader: the call started, and its process ended before it did. */
  readonly interrupted?: true;
}

/** The beginnings of lines; inside a string the quotes would be escaped. */
export const BEGINNINGS = ['{"time":"', '{"started":"'];

/** What is known only when a call has ended. */
type Ending =
  | 'time'
  | 'decision'
  | 'code'
  | 'durationMs'
  | 'exitCode'
  | 'outputBytes'
  | 'outputHash'
  | 'truncated'
  | 'handle';

/** The line that is written before a tool runs: if no record of its end follows, its process was killed (OBS-8). */
export interface StartedRecord extends Omit<AuditRecord, Ending> {
  readonly started: string;
}
