// The form of an approval: its name has the id and the state, its text is the record of the call.

import { basename } from 'node:path';
import type { ApprovalRecord } from '../core/approval.js';
import { anything, integer, list, matches, nullable, object, oneOf, optional, string, strings } from '../core/shape.js';
import { parseStateJson } from '../files/state.js';
import { idOf, isIntact, standingIdOf } from './binding.js';

/** `approved` may run once, `standing` always; `last` is what a tool was last approved for. */
export type ApprovalState = 'pending' | 'approved' | 'denied' | 'standing' | 'last';

/** What is stored of an answer besides its state. */
export interface Answer {
  /** Why a person denied it. */
  readonly note?: string | undefined;
  /** The user who answered, if they were logged in. */
  readonly by?: string | undefined;
}

/** A stored approval: pending, given or denied. */
export interface Approval extends Answer {
  /** The id that people approve it by. */
  readonly id: string;
  /** Whether it is pending, given or denied. */
  readonly state: ApprovalState;
  /** The call that it is about. */
  readonly record: ApprovalRecord;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** The file that it is stored in. */
  readonly path: string;
}

export interface ApprovalEntry {
  readonly id: string;
  readonly state: ApprovalState;
  readonly path: string;
  /** Part of the name, so that one rename changes state and time; undefined: the record has it. */
  readonly time: number | undefined;
}

// Bounds what a model can write to the disk and a person has to read.
export const MAX_RECORD_BYTES = 256 * 1024;
const NAME = /^([0-9a-f]{16})\.(pending|approved|denied|standing|last)(?:-(\d{1,15}))?\.json$/;

export function approvalName(id: string, state: ApprovalState, now: number): string {
  const time = state === 'pending' || state === 'last' ? '' : `-${now}`;
  return `${id}.${state}${time}.json`;
}

/** Returns what the path of an approval says, or nothing if it is not one. */
export function parsePath(path: string): ApprovalEntry[] {
  const match = NAME.exec(basename(path));
  if (match === null) return [];
  const [, id, state, time] = match;
  return [{ id: id!, state: state as ApprovalState, path, time: time === undefined ? undefined : Number(time) }];
}

/** Parses the text of an approval; undefined if it is damaged or does not match its name. */
export function parseApproval({ id, state, path, time }: ApprovalEntry, text: string): Approval | undefined {
  const parsed = parseRecord(text);
  if (parsed === undefined) return undefined;
  const { record, note, by } = parsed;
  if (state === 'standing') {
    if (standingIdOf(record) !== id) return undefined;
  } else if (state !== 'last' && (!record.inputDigest || idOf(record) !== id || !isIntact(record))) return undefined;
  return { id, state, record, since: time ?? record.created, path, ...toAnswer(note, by) };
}

/** Returns the text of a record; undefined if it is too long. */
export function formatApproval(record: ApprovalRecord, { note, by }: Answer = {}): string | undefined {
  const text = `${JSON.stringify({ version: 1, call: record, note, by }, null, 2)}\n`;
  return Buffer.byteLength(text) > MAX_RECORD_BYTES ? undefined : text;
}

/** What people see of a record, here and on other machines. */
export const SHOWN = {
  tool: string,
  description: string,
  uri: nullable(string),
  owner: string,
  workdir: string,
  interpreter: nullable(string),
  variables: strings,
  programs: strings,
  toolDigest: string,
  planDigest: string,
  rule: nullable(string),
  reason: string,
};
const RECORD = object(
  {
    ...SHOWN,
    binding: string,
    principal: string,
    after: optional(strings),
    input: anything,
    definition: string,
    command: optional(nullable(strings)),
    others: list(strings),
    created: integer(0),
  },
  { unknown: 'keep' },
);
const FILE = object(
  { version: oneOf(1), call: RECORD, note: optional(anything), by: optional(anything) },
  { unknown: 'drop' },
);

function parseRecord(text: string): ({ readonly record: ApprovalRecord } & Answer) | undefined {
  try {
    const file: unknown = parseStateJson(text, 'an approval');
    if (!matches(FILE, file)) return undefined;
    const record = file.call as unknown as ApprovalRecord;
    return { record, ...toAnswer(file.note, file.by) };
  } catch {
    return undefined;
  }
}

function toAnswer(note: unknown, by: unknown): Answer {
  return { ...(typeof note === 'string' ? { note } : {}), ...(typeof by === 'string' ? { by } : {}) };
}
