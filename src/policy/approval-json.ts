// Approvals as JSON: what `wield approvals --json` prints, `/approvals` sends and messages about waiting calls contain.

import type { ApprovalRecord } from '../core/approval.js';
import type { Json } from '../core/json.js';
import type { Owner } from '../core/origin.js';
import { anything, type Infer, list, nullable, object, oneOf, optional, string, strings } from '../core/shape.js';
import { type Approval, SHOWN } from './approval-file.js';
import { expiryOf } from './approvals.js';

const APPROVAL = object(
  {
    ...SHOWN,
    id: string,
    state: oneOf('pending', 'approved', 'denied', 'standing'),
    caller: object({ kind: string, name: string }, { unknown: 'drop' }),
    input: optional(anything),
    command: optional(nullable(strings)),
    others: optional(list(strings)),
    since: string,
    until: nullable(string),
    approvedBy: optional(string),
    deniedBy: optional(string),
  },
  { unknown: 'drop' },
);

/** An approval as JSON. */
export type ApprovalJson = Infer<typeof APPROVAL>;

/** The answer to a list of approvals, and to one of them. */
export const APPROVALS = object({ approvals: list(APPROVAL) }, { unknown: 'drop' });
export const ONE_APPROVAL = object({ approval: APPROVAL }, { unknown: 'drop' });

export function toApprovalJson(approval: Approval): ApprovalJson {
  const { id, state, since, record, by } = approval;
  const { principal, input, command, others } = record;
  const space = principal.indexOf(' ');
  const until = expiryOf(approval);
  return {
    id,
    state: state as ApprovalJson['state'],
    tool: record.tool,
    description: record.description,
    uri: record.uri,
    owner: record.owner,
    caller: { kind: principal.slice(0, space), name: principal.slice(space + 1) },
    workdir: record.workdir,
    ...(state === 'standing' ? {} : { input, command, others }),
    interpreter: record.interpreter,
    variables: record.variables,
    programs: record.programs,
    toolDigest: record.toolDigest,
    planDigest: record.planDigest,
    rule: record.rule,
    reason: record.reason,
    since: new Date(since).toISOString(),
    until: until === null ? null : new Date(until).toISOString(),
    ...(by === undefined || state === 'pending' ? {} : { [state === 'denied' ? 'deniedBy' : 'approvedBy']: by }),
  };
}

/** Reads an approval of another machine: to show it, not to allow anything. */
export function fromApprovalJson(json: ApprovalJson): Approval {
  const { id, state, caller, since, approvedBy, deniedBy, until: _, owner, ...shown } = json;
  const created = Date.parse(since);
  const record: ApprovalRecord = {
    ...shown,
    binding: '',
    inputDigest: '',
    definition: '',
    principal: `${caller.kind} ${caller.name}`,
    owner: owner as Owner,
    input: (shown.input ?? null) as Json,
    command: shown.command ?? null,
    others: shown.others ?? [],
    created,
  };
  const by = approvedBy ?? deniedBy;
  return { id, state, record, since: created, path: '', ...(by === undefined ? {} : { by }) };
}
