// Decides on the protocol version of messages, and checks what the newer one requires of every request.

import { isRecord, type Json } from '../core/json.js';
import { ERROR, META, NEWER_VERSION, RpcError } from '../net/mcp.js';
import { decodeHeader } from '../net/param-headers.js';
import type { ReadHeader } from './access.js';
import {
  claimsNewer,
  findEnvelopeFaults,
  isRequest,
  type Message,
  metaOf,
  namesVersion,
  type Params,
  toMessage,
} from './message.js';

/**
 * The protocol version of a connection: `probing` after `server/discover`, which clients of either version may send
 * first.
 */
export type Phase = 'opening' | 'probing' | 'older' | 'newer';

/** Returns the phase after a message, or why the message is refused, which changes nothing. */
export function toPhase(phase: Phase, message: Message): Phase | RpcError {
  const { method, params } = message;
  if (phase === 'older') return 'older';
  const isInitialize = method === 'initialize' && isRequest(message) && !claimsNewer(params);
  if (phase === 'newer') return isInitialize ? unsupportedVersion(params?.protocolVersion) : 'newer';
  if (isInitialize || !namesVersion(params)) return 'older';
  const meta = metaOf(params)!;
  const [fault] = findEnvelopeFaults(meta);
  if (fault !== undefined) return invalidEnvelope(fault);
  if (meta[META.version] !== NEWER_VERSION) return unsupportedVersion(meta[META.version]);
  if (method === 'server/discover' && isRequest(message)) return 'probing';
  return phase === 'probing' && !isRequest(message) ? 'probing' : 'newer';
}

// Parameters that requests of the newer version repeat in the header `Mcp-Name`.
const NAMES: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/**
 * Returns the message of a body of the newer version, undefined for one of the older. Throws a `RpcError` for a body that
 * is neither, and for headers that contradict it. The body decides; headers are compared with it.
 */
export function readNewer(body: Json, header: ReadHeader): Message | undefined {
  if (Array.isArray(body)) return assertOlderBatch(body);
  const message = toMessage(body);
  if (message === undefined) throw invalid('the request body is not a valid JSON-RPC message');
  const { method, params } = message;
  const version = header('mcp-protocol-version')?.trim();
  const isNewerHeader = version !== undefined && version >= NEWER_VERSION;
  if (method === undefined) return undefined;
  if (method === 'initialize' && isRequest(message) && !claimsNewer(params)) {
    if (isNewerHeader) throw mismatch(version, 'initialize belongs to older protocol versions');
    return undefined;
  }
  if (!namesVersion(params)) {
    if (!isNewerHeader) return undefined;
    if (isRequest(message)) throw missingEnvelope(version, metaOf(params));
  } else assertVersion(message, version);
  const sent = header('mcp-method')?.trim();
  if (sent !== undefined && sent !== method) throw mismatch(sent, `the body names the method ${method}`);
  const named = metaOf(params)?.[META.version] ?? version;
  if (named !== NEWER_VERSION) throw unsupportedVersion(named);
  if (isRequest(message)) assertHeaders(message, version, header);
  return message;
}

// The newer version has no batches.
function assertOlderBatch(body: readonly Json[]): undefined {
  if (body.length === 0) throw invalid('empty JSON-RPC batch');
  for (const element of body) {
    if (isRecord(element) && isRecord(element.params) && namesVersion(element.params))
      throw invalid(`JSON-RPC batches may not contain requests for protocol revision ${NEWER_VERSION} or later`);
    if (toMessage(element) === undefined) throw invalid('JSON-RPC batch contains an invalid message');
  }
}

function assertVersion(message: Message, version: string | undefined): void {
  const meta = metaOf(message.params)!;
  const faults = findEnvelopeFaults(meta);
  // Notifications need to name the version only.
  const fault = isRequest(message) ? faults[0] : faults.find(({ key }) => key === META.version);
  if (fault !== undefined) throw invalidEnvelope(fault);
  const named = meta[META.version] as string;
  if (version !== undefined && version !== named) throw mismatch(version, `the body names protocol version ${named}`);
}

function assertHeaders({ method = '', params }: Message, version: string | undefined, header: ReadHeader): void {
  if (version === undefined) throw missing('MCP-Protocol-Version');
  if (header('mcp-method') === undefined) throw missing('Mcp-Method');
  const field = NAMES.get(method);
  const value = field === undefined ? undefined : params?.[field];
  const sent = header('mcp-name')?.trim();
  if (field === undefined || (sent === undefined && typeof value !== 'string')) return;
  if (sent === undefined) throw missing('Mcp-Name');
  const decoded = decodeHeader(sent);
  if (decoded === undefined) throw mismatch(sent, 'the Mcp-Name header is not valid Base64');
  if (typeof value === 'string' && decoded !== value)
    throw mismatch(sent, `the body has params.${field} "${value}", the Mcp-Name header "${decoded}"`);
}

function missing(name: string): RpcError {
  return mismatch('(missing)', `the required ${name} header is absent`);
}

/** The error of headers that differ from the body. */
export function mismatch(header: string, body: string): RpcError {
  const message = `Bad Request: the request headers and body disagree: ${body}`;
  return new RpcError(ERROR.headerMismatch, message, { mismatch: { header, body } });
}

function missingEnvelope(version: string, meta: Params | undefined): RpcError {
  const missingKeys = findEnvelopeFaults(meta ?? {}).flatMap(({ key, problem }) =>
    problem === 'missing' ? [key] : [],
  );
  const keys = meta === undefined ? ['_meta'] : missingKeys;
  const message = `Invalid params: the MCP-Protocol-Version header names protocol revision ${version}, but the request lacks ${keys.join(', ')}`;
  return new RpcError(ERROR.invalidParams, message, { envelope: { missing: keys } });
}

function invalid(problem: string): RpcError {
  return new RpcError(ERROR.invalidRequest, `Bad Request: ${problem}`);
}

/**
 * Throws a `RpcError` if `_meta` is not that of a request of the newer protocol version. A connection has one version;
 * subscriptions name theirs again, as in the SDK.
 */
export function assertEnvelope(method: string, meta: Params = {}): void {
  const [fault] = findEnvelopeFaults(meta);
  if (fault !== undefined) throw invalidEnvelope(fault);
  if (method === 'subscriptions/listen' && meta[META.version] !== NEWER_VERSION)
    throw unsupportedVersion(meta[META.version]);
}

function invalidEnvelope(fault: ReturnType<typeof findEnvelopeFaults>[number]): RpcError {
  const message = `Invalid _meta envelope for protocol revision ${NEWER_VERSION}: ${fault.key}: ${fault.problem}`;
  return new RpcError(ERROR.invalidParams, message, { envelope: fault });
}

function unsupportedVersion(requested: unknown): RpcError {
  const data = { supported: [NEWER_VERSION], requested };
  const shown = requested ?? 'the request did not name a protocol version';
  return new RpcError(ERROR.unsupportedVersion, `Unsupported protocol version: ${shown}`, data);
}
