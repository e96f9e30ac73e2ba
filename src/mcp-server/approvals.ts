// `/approvals` of the server over HTTP: approvers list and answer the calls that wait, users see their own (IDN-10).

import { isToolError, ToolError } from '../core/error.js';
import { isRecord, parseJson } from '../core/json.js';
import { callerKey } from '../core/name.js';
import type { ApprovalSettings } from '../core/settings.js';
import { toApprovalJson } from '../policy/approval-json.js';
import { type Approval, type ApprovalAdmin, noApproval } from '../policy/approvals.js';
import { findConflict, isApprover } from '../policy/approvers.js';
import type { Exchange } from './exchange.js';
import { type Identity, toCaller } from './identity.js';

export interface ApprovalsOptions {
  readonly store: ApprovalAdmin;
  /** A function, because the configuration can change. */
  readonly settings: () => ApprovalSettings;
}

/** Path of the approvals; `/ID` follows for one of them. */
const APPROVALS_PATH = '/approvals';

const MAX_BODY_BYTES = 16 * 1024;
const ANSWERS = ['approve', 'always', 'deny'];
const STATUSES: Readonly<Record<string, number>> = { not_found: 404, denied: 403, usage: 400, conflict: 409 };

/** Whether a path is one of approvals; none is as long as no approvers are configured. */
export function isApprovalPath(path: string, options: ApprovalsOptions | undefined): options is ApprovalsOptions {
  if (options === undefined || !(path === APPROVALS_PATH || path.startsWith(`${APPROVALS_PATH}/`))) return false;
  return options.settings().approvers.length > 0;
}

/** Answers a request of someone who is logged in. */
export async function serveApprovals(exchange: Exchange, path: string, options: ApprovalsOptions): Promise<void> {
  try {
    respond(exchange, 200, { ok: true, schema: 1, ...(await answer(exchange, path, options)) });
  } catch (thrown) {
    if (!isToolError(thrown)) throw thrown;
    const { code, message, hint } = thrown;
    respond(exchange, STATUSES[code] ?? 503, { ok: false, schema: 1, error: { code, message, hint } });
  }
}

async function answer(exchange: Exchange, path: string, { store, settings }: ApprovalsOptions): Promise<object> {
  const { identity, method } = exchange;
  if (identity === undefined) throw denied('a shared token names no user', 'use the token of a user');
  const mayAnswer = isApprover(identity, settings());
  const isShown = ({ record }: Approval): boolean => mayAnswer || record.principal === principalOf(identity);
  const id = path.slice(APPROVALS_PATH.length + 1);
  if (method === 'GET' && id === '')
    return { approvals: (await store.list()).filter(isShown).map((approval) => toApprovalJson(approval)) };
  const find = async (): Promise<Approval> => {
    const found = await store.find(id);
    // That of another user does not exist (IDN-4).
    if (!isShown(found)) throw noApproval(id);
    return found;
  };
  if (method === 'GET') return { approval: toApprovalJson(await find()) };
  if (method !== 'POST' || id === '')
    throw usage('use GET for all or one of them, and POST with an id to answer', 'GET /approvals lists the ids');
  if (!mayAnswer) throw denied('you are not an approver', 'approvals.approvers of the server names them');
  // SRV-88
  if (!(await exchange.mayConsent()))
    throw denied('a process that a tool started cannot answer', 'a person must do it');
  const body = readAnswer(exchange.header('content-type'), await exchange.readBody(MAX_BODY_BYTES));
  const found = await find();
  if (body.answer === 'deny') return { approval: toApprovalJson(await store.deny(id, body.reason, identity.user)) };
  const conflict = findConflict(identity, found.record.principal, settings());
  if (conflict !== undefined) throw denied(`not approved: ${conflict}`, 'another approver must answer (four-eyes)');
  return { approval: toApprovalJson(await store.approve(id, body.answer === 'always', identity.user)) };
}

function principalOf(identity: Identity): string {
  return callerKey(toCaller(identity));
}

interface GivenAnswer {
  readonly answer: string;
  readonly reason?: string | undefined;
}

function readAnswer(type: string | undefined, text: string | undefined): GivenAnswer {
  const body = text === undefined || !/^application\/json\b/i.test(type ?? '') ? undefined : parse(text);
  const { answer, reason } = isRecord(body) ? body : {};
  const isValid = typeof answer === 'string' && ANSWERS.includes(answer);
  if (!isValid || !(reason === undefined || typeof reason === 'string'))
    throw usage('the body is not an answer', 'send JSON: {"answer": "approve"}, "always" or "deny" with a "reason"');
  return { answer, reason };
}

function parse(text: string): unknown {
  try {
    return parseJson(text, 'the body', { maxDepth: 4, maxBytes: MAX_BODY_BYTES });
  } catch {
    return undefined;
  }
}

function respond(exchange: Exchange, status: number, document: object): void {
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  exchange.respond(status, headers, [JSON.stringify(document)]);
}

function denied(message: string, hint: string): ToolError {
  return new ToolError('denied', message, { hint });
}

function usage(message: string, hint: string): ToolError {
  return new ToolError('usage', message, { hint });
}
