// Traces and measures a request to an upstream server, as the conventions of OpenTelemetry for MCP say (OBS-14).

import { toToolError } from '../../core/error.js';
import type { CallScope } from '../../core/executor.js';
import type { RemotePlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import { type Attributes, createOperationKind, Operation } from '../../core/telemetry.js';
import type { ServerEntry } from '../../core/upstream.js';
import { RpcError } from '../../net/mcp.js';
import type { RemoteCall } from '../connection/call.js';
import type { Lease } from '../connection/pool.js';

export interface Hop {
  readonly plan: RemotePlan;
  readonly server: ServerEntry;
  readonly scope: Pick<CallScope, 'telemetry' | 'traced' | 'controller'>;
  readonly lease: Lease;
}

/** Sends a request, with the position in the trace that the server should continue. */
export async function withOperation(
  hop: Hop,
  send: (sent: Pick<RemoteCall, 'trace' | 'onSent'>) => Promise<Output>,
): Promise<Output> {
  const { plan, scope, server, lease } = hop;
  const { telemetry, traced } = scope;
  if (!telemetry?.isOn) return send({ trace: traced?.trace });
  const { method = 'tools/call', remoteTool } = plan;
  let id: string | undefined;
  const operation = new Operation(telemetry, {
    of: createOperationKind('client', method, toAttributes(server, lease)),
    describe: () => ({
      'jsonrpc.request.id': id,
      'mcp.resource.uri': method.startsWith('resources/') ? remoteTool : undefined,
      'wield.server': server.name,
    }),
    parent: traced?.trace,
  });
  if (method === 'tools/call' || method === 'prompts/get') operation.target = remoteTool;
  try {
    const onSent = (sent: string): void => {
      id = sent;
    };
    const output = await send({ trace: operation.trace, onSent });
    if (output.error !== undefined) operation.fail(output.error.code);
    return output;
  } catch (error) {
    if (error instanceof RpcError) operation.fail(error.code);
    else operation.fail(scope.controller.isAborted ? 'cancelled' : toToolError(error).code);
    throw error;
  } finally {
    operation.end();
  }
}

function toAttributes(server: ServerEntry, { connection }: Lease): Attributes {
  const url = server.kind === 'http' && URL.canParse(server.url) ? new URL(server.url) : undefined;
  return {
    'mcp.protocol.version': connection.protocol,
    'network.transport': server.kind === 'stdio' ? 'pipe' : 'tcp',
    'network.protocol.name': server.kind === 'stdio' ? undefined : 'http',
    'server.address': url?.hostname,
    'server.port': url && Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
  };
}
