// The audit record of a call, as one line of JSON without secrets. Pure.

import type { Decision } from '../core/approval.js';
import { type Caller, toSessionId } from '../core/caller.js';
import { bytesOf, toContents } from '../core/contents.js';
import type { EndEvent } from '../core/event.js';
import { canonicalJson } from '../core/json.js';
import { formatCaller } from '../core/name.js';
import { cutText, redactKnown } from '../core/redact.js';
import type { AuditRecord, StartedRecord } from './line.js';

export interface RecordContext {
  readonly now: number;
  readonly pid: number;
  /** When the process started. */
  readonly since: number;
  /** Of calls that belong to no other. */
  readonly session: string;
  readonly workdir: string;
  readonly contents: boolean;
  readonly secrets: readonly string[];
  /** SHA-256 of the concatenated texts. */
  readonly hash: (texts: readonly string[]) => string;
}

const MAX_NAME = 200;
const MAX_TEXT = 1000;

/** What is known of a call before its tool runs. */
type StartEvent = Omit<EndEvent, 'type' | 'result'>;

export function toRecord(event: EndEvent, context: RecordContext): AuditRecord {
  const { result, input } = event;
  const { handle, sandboxRefused: refused } = result.meta;
  const clean = (text: string): string => cutText(redactKnown(text, context.secrets), MAX_TEXT);
  const output = result.content.map(bytesOf).filter((text) => text !== '');
  return {
    time: toTime(context),
    schema: 1,
    ...toDecided(event, context),
    decision: toDecision(event),
    code: result.error?.code ?? null,
    durationMs: Math.round(result.meta.durationMs * 1000) / 1000,
    exitCode: result.meta.exitCode ?? null,
    ...toPlanned(event, context),
    refused: refused?.map(clean),
    outputBytes: handle?.size ?? output.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    outputHash: event.outputHash ?? (output.length === 0 ? null : context.hash(output)),
    truncated: result.meta.truncated === true,
    handle: handle?.id ?? null,
    ...(context.contents ? (toContents(input, result, context.secrets) ?? { contentsLeftOut: true }) : {}),
  };
}

export function toStarted(event: StartEvent, context: RecordContext): StartedRecord {
  return { started: toTime(context), schema: 1, ...toDecided(event, context), ...toPlanned(event, context) };
}

function toTime({ now }: RecordContext): string {
  return new Date(now).toISOString();
}

type Planned = 'sandbox' | 'inputBytes' | 'inputHash';

function toPlanned({ plan, input }: StartEvent, { hash }: RecordContext): Pick<AuditRecord, Planned> {
  const json = input === undefined ? undefined : canonicalJson(input);
  return {
    sandbox: plan !== undefined && 'sandbox' in plan ? (plan.sandbox?.backend ?? null) : null,
    inputBytes: json === undefined ? null : Buffer.byteLength(json),
    inputHash: json === undefined ? null : hash([json]),
  };
}

function toDecided(event: StartEvent, context: RecordContext): Omit<StartedRecord, 'started' | 'schema' | Planned> {
  const { caller, plan, verdict } = event;
  const tool = plan?.tool ?? event.tool;
  const isPlain = context.secrets.length === 0;
  const clean = (text: string, limit = MAX_TEXT): string =>
    isPlain && text.length <= limit ? text : cutText(redactKnown(text, context.secrets), limit);
  const cleanName = (text: string | undefined): string | undefined => text && clean(text, MAX_NAME);
  return {
    pid: context.pid,
    since: context.since,
    call: event.call,
    parent: event.parent ?? null,
    depth: event.depth,
    caller: clean(formatCaller(caller)),
    user: cleanName(caller.user),
    session: cleanName(sessionOf(caller, context)),
    address: cleanName(caller.address),
    kind: caller.kind,
    door: clean(caller.door, MAX_NAME),
    tool: clean(tool?.name ?? event.ref, MAX_NAME),
    format: tool?.origin.format ?? null,
    origin: tool?.origin.uri == null ? null : clean(tool.origin.uri),
    digest: tool?.origin.digest ?? null,
    binary: plan?.kind === 'process' ? clean(plan.binary) : null,
    workdir: clean(context.workdir),
    verdict: verdict?.verdict ?? null,
    rule: verdict?.rule == null ? null : clean(verdict.rule),
    reason: verdict === undefined ? null : clean(verdict.reason),
    approval: event.approval ?? null,
  };
}

// A person at a shell has the same session for all commands, so that they can read stored results.
function sessionOf({ session, door }: Caller, context: RecordContext): string | undefined {
  const isOwn = session === undefined || (door === 'cli' && session === 'cli');
  return isOwn ? context.session : toSessionId(session);
}

/** Returns the record of a call whose process ended before it did. */
export function toInterrupted({ started, ...known }: StartedRecord): AuditRecord {
  return {
    time: started,
    ...known,
    decision: null,
    code: 'cancelled',
    durationMs: 0,
    exitCode: null,
    outputBytes: 0,
    outputHash: null,
    truncated: false,
    handle: null,
    interrupted: true,
  };
}

function toDecision({ verdict, decision }: EndEvent): Decision | null {
  if (verdict === undefined) return null;
  if (verdict.verdict === 'ask') return decision ?? { by: 'nobody', how: null, at: null };
  return { by: verdict.rule === null ? 'default' : 'rule', how: null, at: null };
}

// Characters that JSON does not escape and a terminal or editor does not show.
const INVISIBLE = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]/g;

/** Maximum length of a line in bytes; it is written at once, and space for one can be reserved. */
export const MAX_LINE = 64 * 1024;

/** Formats a record as a line without control characters, so that its texts cannot forge another record. */
export function toLine(record: AuditRecord): string {
  const line = `${escapeInvisible(JSON.stringify(record))}\n`;
  if (Buffer.byteLength(line) <= MAX_LINE) return line;
  // Escaping can make contents much longer.
  return `${leaveOutContents(record)}\n`;
}

/** Formats a record without its contents, as a line without its end. */
export function leaveOutContents({ input, output, message, ...rest }: AuditRecord): string {
  return escapeInvisible(JSON.stringify({ ...rest, contentsLeftOut: true }));
}

function escapeInvisible(json: string): string {
  return json.replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
