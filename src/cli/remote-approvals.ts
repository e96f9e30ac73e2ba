// The approvals of another server, which a person with a token lists and answers over HTTP (IDN-10).

import { ERROR_CODES, type ErrorCode, ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { readShape, type Shape } from '../core/shape.js';
import { quoteOutside, sanitize } from '../core/text.js';
import type { ApprovalAdmin } from '../node.js';
import { APPROVALS, type ApprovalJson, fromApprovalJson, ONE_APPROVAL } from '../policy/approval-json.js';
import { expiryOf } from '../policy/approvals.js';
import { usesFleet } from './fleet.js';
import { openTokens } from './tokens.js';
import { usageError, type VerbCall } from './verb.js';

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** Returns the approvals of the server that a flag names. */
export function openRemoteApprovals(call: VerbCall): ApprovalAdmin {
  if (call.flags.has('fleet') && usesFleet(call))
    throw usageError('--server and --fleet exclude each other', 'keep one');
  const url = toApprovalsUrl(String(call.flags.get('server')));
  const [token] = openTokens(call)?.() ?? [];
  if (token === undefined) throw usageError('--server needs your token', 'pass --token-file FILE, or set WIELD_TOKEN');
  const fetch = call.toolbox().state.network.createFetch({
    url,
    headers: { authorization: `Bearer ${token}` },
    confidential: true,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  });
  const read = async <T>(shape: Shape<T>, path: string, init?: RequestInit): Promise<T> => {
    const response = await fetch(`${url}${path}`, { ...init, signal: call.signal });
    const document: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw toError(response.status, document, url);
    const { value, faults } = readShape(shape, document);
    if (value === undefined || faults.length > 0) throw notOurs(url);
    return value;
  };
  const readOne = async (id: string, init?: RequestInit) =>
    fromApprovalJson((await read(ONE_APPROVAL, `/${encodeURIComponent(id)}`, init)).approval as ApprovalJson);
  const send = (id: string, body: object) =>
    readOne(id, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  return {
    list: async () => (await read(APPROVALS, '')).approvals.map((one) => fromApprovalJson(one as ApprovalJson)),
    find: (id) => readOne(id),
    approve: (id, always) => send(id, { answer: always ? 'always' : 'approve' }),
    deny: (id, reason) => send(id, { answer: 'deny', ...(reason === undefined ? {} : { reason }) }),
    expiry: expiryOf,
    stale: () => [],
  };
}

// They are beside the MCP endpoint.
function toApprovalsUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw usageError(
      `--server "${sanitize(given)}" is not the address of a server`,
      'write the address that clients use, for example https://wield.example.com/mcp',
    );
  }
  return `${url.origin}${url.pathname.replace(/(?:\/mcp)?\/*$/, '')}/approvals`;
}

function toError(status: number, document: unknown, url: string): ToolError {
  const error = isRecord(document) && isRecord(document.error) ? document.error : {};
  const { code, message, hint } = error;
  if (typeof code === 'string' && Object.hasOwn(ERROR_CODES, code) && typeof message === 'string')
    return new ToolError(code as ErrorCode, quoteOutside(message, 1000), {
      ...(typeof hint === 'string' ? { hint: quoteOutside(hint, 1000) } : {}),
    });
  if (status === 401 || status === 403)
    return new ToolError('denied', `${url} refused the token (status ${status})`, {
      hint: 'pass a token that is valid there: --token-file FILE, or WIELD_TOKEN',
    });
  if (status !== 404)
    return new ToolError('unavailable', `${url} answered with status ${status}`, { hint: 'try again' });
  return new ToolError('unavailable', `${url} has no approvals`, {
    hint: 'the server needs [approvals] approvers in its configuration, and its proxy must pass /approvals on',
  });
}

function notOurs(url: string): ToolError {
  return new ToolError('unavailable', `${url} is not a list of approvals`, {
    hint: 'check the address, and that both run the same version of wield',
  });
}
