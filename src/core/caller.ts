// The caller of a tool and the verdict on its call; what only a person may do.

import { type ErrorCode, ToolError } from './error.js';
import type { UserOf } from './selector-terms.js';
import type { ProtocolVersion } from './upstream.js';

/** Code that says nothing else about itself. */
export const CODE: Caller = { kind: 'code', door: 'library' };

/** Throws where this process was started by a tool: consent is a person's. */
export function assertPerson(insideCall: boolean, what: string): void {
  if (!insideCall) return;
  throw new ToolError('denied', `${what} from inside a tool call does not count`, {
    hint: 'a person must do it, in a shell that no tool started',
  });
}

export const CALLER_KINDS = ['person', 'model', 'code'] as const;

/** `person`: at a shell; the call itself is consent. `model`: untrusted. */
export type CallerKind = (typeof CALLER_KINDS)[number];

/** Who calls, through which door. */
export interface Caller extends UserOf {
  /** Whether a person, a model or code calls. */
  readonly kind: CallerKind;
  /** The way that the call came: `cli`, `mcp`, `library`, …. */
  readonly door: string;
  /** The name of the client, if it gave one. */
  readonly name?: string;
  /** The session whose large results it can read; by default that of the toolbox (CTX-3). */
  readonly session?: string;
  /** Tells apart clients that have no session, for servers that ask the client of a call (UPS-106). */
  readonly person?: string;
  /** The address of the client, over HTTP; for the audit log (IDN-14). */
  readonly address?: string;
  /** Whether the client shows MCP Apps, whose tools it may list and call (RSC-20). */
  readonly apps?: boolean;
  /** The protocol version of an MCP client: servers that have both are called in the same one (UPS-105). */
  readonly protocol?: ProtocolVersion;
}

/**
 * Returns the id of an MCP session or connection, for the audit log and spans; undefined for clients without one. It is
 * not the header of the protocol, which is a credential where there is no other.
 */
export function toSessionId(session: string): string | undefined {
  return /^http(?: |$)/.test(session) ? undefined : session.replace(/^(?:stdio|session) /, '');
}

/** Callers as people name them: at a shell, a model, or code. */
export const CALLERS = {
  user: { kind: 'person', door: 'cli' },
  mcp: { kind: 'model', door: 'mcp' },
  code: { kind: 'code', door: 'library' },
} as const satisfies Record<string, Caller>;

export type CallerName = keyof typeof CALLERS;

/** What the policy decided about a call, and why. */
export interface Verdict {
  /** Whether the call runs, needs consent or is refused. */
  readonly verdict: 'allow' | 'ask' | 'deny';
  /** The rule that decided, as written; null if none matched. */
  readonly rule: string | null;
  /** The reason, as a sentence for people. */
  readonly reason: string;
  /** Position of the rule, or of the list that does not select the call. */
  readonly source?: { readonly file: string; readonly line: number };
  /** Labels of the session that it depends on (FLW-4). */
  readonly after?: readonly string[];
  /** Diff of the definition since it was approved (POL-21). */
  readonly changes?: readonly string[];
  /** Error code of a refusal, if not `denied` or `needs_approval`. */
  readonly code?: ErrorCode;
  /** What the caller can do about a refusal. */
  readonly hint?: string;
}

/** The caller's position in a trace (W3C Trace Context). */
export interface TraceParent {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
  readonly baggage?: string | undefined;
}
