// Formats the approval prompt: one value per line, with invisible characters escaped (A41).

import type { ApprovalChanges, ApprovalRecord } from '../core/approval.js';
import { count, spellOut } from '../core/text.js';

/** A label and its value, on one line. */
export type ApprovalRow = readonly [label: string, value: string];

const MAX_VALUE = 4096;

const MAX_CHANGES = 60;

/** Returns the lines that describe the call. */
export function approvalRows(record: ApprovalRecord, limit = MAX_VALUE): ApprovalRow[] {
  const { description, uri, owner, command, interpreter, others, workdir, input, principal, reason, background } =
    record;
  return [
    ['says', spellOut(description.split('\n', 1)[0]!)],
    ['from', `${spellOut(uri ?? 'code of this program')}${owner === 'workspace' ? ' (of the workspace)' : ''}`],
    ...(command === null ? [] : [['runs', showCommand(command)] as const]),
    ...(interpreter === null ? [] : [['through', showArgument(interpreter)] as const]),
    ...others.map((other) => ['and', showCommand(other)] as const),
    ...(background === true ? [['lasts', 'until it is stopped or the session ends'] as const] : []),
    ['in', showArgument(workdir)],
    ['input', spellOut(JSON.stringify(input))],
    ['for', spellOut(principal.replace(/^(\w+) (.*)$/, '$2 (a $1)').replace('(a code)', '(code)'))],
    ['because', spellOut(reason)],
  ].map(([label, value]) => [label!, cut(value!, limit)]);
}

/** Returns the diff to the last approved call. */
export function changeLines({ lines }: ApprovalChanges, limit = MAX_CHANGES): string[] {
  const shown = lines.slice(0, limit).map((line) => cut(spellOut(line), 400));
  const hidden = lines.length - shown.length;
  return hidden === 0 ? shown : [...shown, `… and ${count(hidden, 'more changed line')}`];
}

/** Returns a record as lines to compare. */
export function describeForDiff(record: ApprovalRecord): string {
  const { command, others, workdir, programs, input, toolDigest, definition } = record;
  return [
    `digest ${toolDigest.slice(0, 16)}`,
    ...(command === null ? [] : [`runs ${showCommand(command)}`]),
    ...others.map((other) => `and ${showCommand(other)}`),
    `in ${workdir}`,
    ...programs,
    `input ${JSON.stringify(input, null, 2)}`,
    definition,
  ].join('\n');
}

function showCommand(command: readonly string[]): string {
  return command.map(showArgument).join(' ');
}

// Plain words as typed, everything else as a JSON string.
function showArgument(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : spellOut(JSON.stringify(argument));
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)} … and ${text.length - limit} more characters`;
}
