// Traces and measures the requests of clients, as the conventions of OpenTelemetry for MCP say (OBS-13).

import { createOperationKind, Operation, type OperationKind } from '../core/telemetry.js';
import { quoteOutside } from '../core/text.js';
import type { Toolbox } from '../core/toolbox.js';
import { NEWER_VERSION, OLDER_VERSIONS } from '../net/mcp.js';
import { metaOf, type RequestMessage } from './message.js';
import { type Channel, readTraceParent } from './request.js';

export interface OperationsOptions {
  readonly toolbox: Pick<Toolbox, 'telemetry'>;
  readonly transport: 'pipe' | 'tcp' | undefined;
  /** Whether there is a method of this name. */
  readonly isKnown: (method: string) => boolean;
}

const MAX_ID = 64;
const MAX_URI = 500;
// What the conventions have for values that are not known: a name of a client can be anything.
const OTHER = '_OTHER';

/** Returns a function that starts to trace and measure a request; it returns undefined while nothing is traced or counted. */
export function createOperations({ toolbox: { telemetry }, transport, isKnown }: OperationsOptions) {
  // By protocol version and method, of which there are few.
  const kinds = new Map<string, Map<string, OperationKind>>();
  const kindOf = (version: string, method: string): OperationKind => {
    const known = kinds.get(version)?.get(method);
    if (known !== undefined) return known;
    const added = createOperationKind('server', method, {
      'mcp.protocol.version': version,
      'network.transport': transport,
      'network.protocol.name': transport === 'tcp' ? 'http' : undefined,
    });
    kinds.set(version, (kinds.get(version) ?? new Map<string, OperationKind>()).set(method, added));
    return added;
  };
  return (message: RequestMessage, channel: Channel): Operation | undefined => {
    if (!telemetry?.isOn) return undefined;
    const method = isKnown(message.method) ? message.method : OTHER;
    return new Operation(telemetry, {
      of: kindOf(versionOf(message, channel), method),
      describe: () => toAttributes(message, channel),
      parent: readTraceParent({ meta: metaOf(message.params) }),
    });
  };
}

/** Ends the operation of a request; without an answer it was cancelled. */
export function endOperation(
  operation: Operation,
  { method, params }: RequestMessage,
  answer: { readonly code?: number } | undefined,
): void {
  if (answer === undefined) operation.fail('cancelled');
  else if (answer.code !== undefined) operation.fail(answer.code);
  else if (method === 'prompts/get') operation.target = quoteOutside(String(params?.name), MAX_URI);
  operation.end();
}

function versionOf({ method, params }: RequestMessage, { client, isNewer }: Channel): string {
  if (isNewer) return NEWER_VERSION;
  const asked = (method === 'initialize' ? params : client.initialized)?.protocolVersion;
  return typeof asked === 'string' && OLDER_VERSIONS.includes(asked) ? asked : OLDER_VERSIONS[0]!;
}

function toAttributes({ id, method, params }: RequestMessage, { client, exchange }: Channel) {
  const uri = method.startsWith('resources/') && typeof params?.uri === 'string' ? params.uri : undefined;
  return {
    'jsonrpc.request.id': typeof id === 'number' ? String(id) : quoteOutside(id, MAX_ID),
    'mcp.session.id': client.sessionId,
    'client.address': exchange?.address,
    'mcp.resource.uri': uri && quoteOutside(uri, MAX_URI),
  };
}
