// Traces and measures the requests of clients, as the conventions of OpenTelemetry for MCP say (OBS-13).

import { Operation } from '../core/telemetry.js';
import { quoteOutside } from '../core/text.js';
import type { Toolbox } from '../core/toolbox.js';
import { metaOf, NEWER_VERSION, OLDER_VERSIONS, type RequestMessage } from './message.js';
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

/** Answers a request; undefined if it was cancelled. */
type Answering<A> = (message: RequestMessage, channel: Channel) => Promise<A | undefined>;

/** Returns a function that answers requests, and reports them while anything is traced or counted. */
export function withOperations<A extends { readonly code?: number }>(
  answer: Answering<A>,
  options: OperationsOptions,
): Answering<A> {
  const { telemetry } = options.toolbox;
  if (telemetry === undefined) return answer;
  return async (message, channel) => {
    if (!telemetry.isOn) return answer(message, channel);
    const operation = new Operation(telemetry, 'server', {
      method: options.isKnown(message.method) ? message.method : OTHER,
      attributes: toAttributes(message, channel, options),
      parent: readTraceParent({ meta: metaOf(message.params) }),
    });
    try {
      const answered = await answer(message, { ...channel, operation });
      if (answered === undefined) operation.fail('cancelled');
      else if (answered.code !== undefined) {
        operation.fail(String(answered.code));
        operation.attributes['rpc.response.status_code'] = String(answered.code);
      } else if (message.method === 'prompts/get') {
        operation.setTarget('gen_ai.prompt.name', quoteOutside(String(message.params?.name), MAX_URI));
      }
      return answered;
    } finally {
      operation.end();
    }
  };
}

function toAttributes({ id, method, params }: RequestMessage, channel: Channel, { transport }: OperationsOptions) {
  const { client, address, isNewer } = channel;
  const asked = String((method === 'initialize' ? params : client.initialized)?.protocolVersion);
  const older = OLDER_VERSIONS.includes(asked) ? asked : OLDER_VERSIONS[0];
  const uri = method.startsWith('resources/') && typeof params?.uri === 'string' ? params.uri : undefined;
  return {
    'jsonrpc.request.id': typeof id === 'number' ? String(id) : quoteOutside(id, MAX_ID),
    'mcp.protocol.version': isNewer ? NEWER_VERSION : older,
    'mcp.session.id': client.sessionId,
    'network.transport': transport,
    'network.protocol.name': transport === 'tcp' ? 'http' : undefined,
    'client.address': address,
    'mcp.resource.uri': uri && quoteOutside(uri, MAX_URI),
    'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
  };
}
