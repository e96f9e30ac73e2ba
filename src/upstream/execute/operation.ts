// Traces and measures a request to an upstream server, as the conventions of OpenTelemetry for MCP say (OBS-14).

import { toToolError } from '../../core/error.js';
import type { CallScope } from '../../core/executor.js';
import type { RemotePlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import { type Attributes, Operation } from '../../core/telemetry.js';
import type { ServerEntry } from '../../core/upstream.js';
import { RpcError } from '../../net/mcp.js';
import type { RemoteCall } from '../connection/call.js';
import type { Lease } from '../connection/pool.js';

export interface Hop {
  readonly plan: RemotePlan;
  readonly server: ServerEntry;
  readonly scope: Pick<CallScope, 'telemetry' | 'trace' | 'signal'>;
  readonly lease: Lease;
}

/** Sends a request, with the position in the trace that the server should continue. */
export async function withOperation(
  hop: Hop,
  send: (sent: Pick<RemoteCall, 'trace' | 'onSent'>) => Promise<Output>,
): Promise<Output> {
  const { plan, scope } = hop;
  const { telemetry, trace: parent } = scope;
  if (!telemetry?.isOn) return send({ trace: parent });
  const method = plan.method ?? 'tools/call';
  const operation = new Operation(telemetry, 'client', { method, attributes: toAttributes(hop), parent });
  if (method === 'tools/call') operation.setTarget('gen_ai.tool.name', plan.remoteTool);
  else if (method === 'prompts/get') operation.setTarget('gen_ai.prompt.name', plan.remoteTool);
  try {
    const onSent = (id: string): void => {
      operation.attributes['jsonrpc.request.id'] = id;
    };
    const output = await send({ trace: operation.trace, onSent });
    if (output.error !== undefined) operation.fail(output.error.code);
    return output;
  } catch (error) {
    if (error instanceof RpcError) {
      operation.fail(String(error.code));
      operation.attributes['rpc.response.status_code'] = String(error.code);
    } else operation.fail(scope.signal.aborted ? 'cancelled' : toToolError(error).code);
    throw error;
  } finally {
    operation.end();
  }
}

function toAttributes({ plan, server, lease }: Hop): Attributes {
  const { method, remoteTool } = plan;
  const url = server.kind === 'http' && URL.canParse(server.url) ? new URL(server.url) : undefined;
  const port = url && Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  return {
    'gen_ai.operation.name': method === undefined ? 'execute_tool' : undefined,
    'mcp.protocol.version': lease.connection.protocol,
    'mcp.resource.uri': method?.startsWith('resources/') ? remoteTool : undefined,
    'network.transport': server.kind === 'stdio' ? 'pipe' : 'tcp',
    'network.protocol.name': server.kind === 'stdio' ? undefined : 'http',
    'server.address': url?.hostname,
    'server.port': port,
    'wield.server': server.name,
  };
}
