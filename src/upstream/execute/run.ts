// Runs an upstream tool, if the server still has the definition that was planned.

import { nextTurn } from '../../core/async.js';
import { CLIENT_CAPABILITIES } from '../../core/client-request.js';
import type { Progress } from '../../core/context.js';
import { type ErrorCode, orNothing, ToolError, type ToolErrorOptions } from '../../core/error.js';
import type { CallScope } from '../../core/executor.js';
import { copyJson, isLonger, isRecord, type Json, toJson } from '../../core/json.js';
import type { RemotePlan } from '../../core/plan.js';
import type { Output, Part } from '../../core/result.js';
import type { Snapshot } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import { runWithinLimit } from '../../core/time-limit.js';
import { actionOf, type RemoteAction, type Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { ERROR, RpcError, UnreadError } from '../../net/mcp.js';
import { toPublicMeta, toServerUri } from '../catalog/name.js';
import type { RemoteCall } from '../connection/call.js';
import { isBadResponse, isLostSession } from '../connection/client.js';
import type { Connection } from '../connection/connection.js';
import { badResponse, CALL_AGAIN, callLost } from '../connection/failure.js';
import { reportStart } from '../connection/open.js';
import type { Acquire, Lease, Pool } from '../connection/pool.js';
import { digestDefinition, type RemoteTool } from '../remote-tool.js';
import { withOperation } from './operation.js';
import { type OwnLoginOptions, withOwnLogin } from './own-login.js';

export interface RemoteRunOptions extends Pick<Pool, 'close'>, OwnLoginOptions {
  readonly acquire: Acquire;
  /** Returns the current configuration of a server by name. */
  readonly find: (
    server: string,
    snapshot: Snapshot,
  ) => { readonly server: ServerEntry; readonly configuration: string } | undefined;
  /** Removes secrets from the output of a server, by its name. */
  readonly redact: (output: Output, server: string) => Output;
  readonly redactProgress: (progress: Progress, server: string) => Progress;
}

// Characters of a result that takes more than a moment.
const LARGE = 64 * 1024;

/** Runs a plan. A tool that failed is an Output with an error. */
export async function runRemote(plan: RemotePlan, scope: CallScope, options: RemoteRunOptions): Promise<Output> {
  const server = findServer(plan, scope, options);
  const output = await runWithinLimit(plan, scope, () =>
    withOwnLogin(server, scope, options, () => callServer(plan, server, scope, options)),
  );
  // It took a while to read.
  if (isLonger(output, LARGE)) await nextTurn();
  return options.redact(rewriteOutput(output, server, plan.method === 'prompts/get'), server.name);
}

async function callServer(
  plan: RemotePlan,
  server: ServerEntry,
  scope: CallScope,
  options: RemoteRunOptions,
  attempt = 1,
): Promise<Output> {
  const person = toPerson(scope);
  const report = (progress: Progress): void => scope.progress(options.redactProgress(progress, server.name));
  const onProgress = scope.options.onProgress && report;
  const lease = await reportStart(server, onProgress, () => acquireFor(plan, server, scope, person, options));
  let outcome: Parameters<Lease['release']>[0] = 'unknown';
  try {
    const remote = findRemote(plan, lease);
    const call = {
      name: plan.tool.name,
      signal: scope.controller.signal,
      onProgress,
      onLog: scope.log,
      logLevel: scope.options.logLevel,
      elicit: scope.elicit,
      client: scope.client,
      person,
    };
    const output = await withOperation({ plan, server, scope, lease }, (sent) =>
      send(plan, remote, lease.connection, { ...call, ...sent }),
    );
    outcome = 'answered';
    return output;
  } catch (error) {
    if (error instanceof RpcError) {
      outcome = 'answered';
      return refused(plan, error, scope);
    }
    if (scope.controller.isAborted || (error instanceof ToolError && !isCut(error))) throw error;
    if (server.kind === 'http' && !(error instanceof ToolError) && isBadResponse(error)) {
      outcome = 'answered';
      return { content: [], error: badResponse(plan.tool.name, error, { server: server.name }) };
    }
    outcome = 'lost';
    if (error instanceof ToolError) return { content: [], error: cutOff(plan, error) };
    // A request of an unknown session was not processed, so it is safe to retry.
    if (!isLostSession(error) || attempt > 1) {
      const { exit, lastLines } = lease.connection.transport;
      return { content: [], error: callLost(plan.tool.name, error, { server: server.name, exit, lastLines }) };
    }
  } finally {
    lease.release(outcome);
  }
  return callServer(plan, server, scope, options, attempt + 1);
}

// A server may list a tool in one protocol version only, or with another definition.
async function acquireFor(
  plan: RemotePlan,
  server: ServerEntry,
  { caller, elicit, client, log, snapshot, controller }: CallScope,
  name: string,
  { acquire }: RemoteRunOptions,
): Promise<Lease> {
  const canBeAsked = elicit !== undefined || client !== undefined;
  // Without a client that has one, the version in which more servers ask; over HTTP the newer one has its own headers.
  const protocol = caller.protocol ?? (canBeAsked && server.kind === 'stdio' ? '2025-11-25' : undefined);
  const person = canBeAsked || log !== undefined ? name : undefined;
  const lease = await acquire(server, snapshot, { protocol, person }, controller.signal);
  if (!lease.isSecondary || findListed(plan, lease).planned !== undefined) return lease;
  lease.release('unknown');
  return acquire(server, snapshot, { person }, controller.signal);
}

function toPerson({ caller: { kind, door, name, session, person } }: CallScope): string {
  return JSON.stringify([kind, door, name, session, person]);
}

async function send(plan: RemotePlan, remote: RemoteTool, connection: Connection, call: RemoteCall): Promise<Output> {
  const { method, remoteTool, input } = plan;
  if (method === undefined) return connection.call(remote, copyJson(input), call);
  if (method !== 'resources/subscribe') return connection.request({ method, params: toOfferParams(plan) }, call);
  await connection.resources.subscribe(remoteTool, call.signal);
  return { content: [] };
}

function findServer({ tool }: RemotePlan, { snapshot }: CallScope, { find }: RemoteRunOptions): ServerEntry {
  const { server, configuration } = actionOf(tool, 'remote');
  const found = find(server, snapshot);
  if (found?.configuration === configuration) return found.server;
  throw changed(tool, `the configuration of the server ${server} changed`);
}

// RUN-2: a server can change its tools at any time; only the planned definition is run. A name alone does not identify it: a
// prompt may have the name of a tool or the URI of a resource.
function findRemote(plan: RemotePlan, lease: Lease): RemoteTool {
  const { listed, planned } = findListed(plan, lease);
  const { tool, server } = plan;
  if (planned !== undefined) return planned;
  if (listed.length === 0) throw changed(tool, `the server ${server} no longer lists it`);
  throw changed(tool, `the server ${server} changed its definition`);
}

function findListed({ tool }: RemotePlan, { connection }: Lease) {
  const { tool: name, definition, method, uri } = actionOf(tool, 'remote');
  // A resource that the server does not list, such as the target of a link, has no definition.
  if (definition === '') return { listed: [], planned: { name, inputSchema: {} } };
  const kinds = kindsOf(method, uri !== undefined);
  const listed = connection.listing().tools.filter((one) => one.name === name && kinds.includes(one.offers));
  return { listed, planned: listed.find((one) => digestDefinition(one) === definition) };
}

function kindsOf(method: RemoteAction['method'], isTemplate: boolean): readonly RemoteTool['offers'][] {
  if (method === undefined) return [undefined];
  if (method === 'prompts/get') return ['prompt'];
  if (method === 'completion/complete') return ['prompt', 'template'];
  return [isTemplate ? 'template' : 'resource', 'skill'];
}

function changed({ name }: Tool, how: string): ToolError {
  return new ToolError('integrity', `${name} was not run: ${how}`, {
    hint: 'call it again to check the changed tool',
  });
}

function toOfferParams({ method, remoteTool, input }: RemotePlan): Readonly<Record<string, unknown>> {
  const fields = isRecord(input) ? input : {};
  if (method === 'completion/complete' && isRecord(fields.ref)) {
    const { type } = fields.ref;
    return { ...fields, ref: type === 'ref/prompt' ? { type, name: remoteTool } : { type, uri: remoteTool } };
  }
  if (method === 'prompts/get') return { name: remoteTool, arguments: fields };
  return method === 'resources/read' ? { uri: remoteTool } : fields;
}

// The older protocol version has a code of its own.
const NOT_FOUND: readonly number[] = [ERROR.resourceNotFound, ERROR.invalidParams];
const OF_RESOURCES: readonly unknown[] = ['resources/read', 'resources/subscribe'];

function refused(plan: RemotePlan, error: RpcError, { client }: CallScope): Output {
  const { tool, method, server } = plan;
  const { message, code, data } = error;
  const shown = quoteOutside(message, 500);
  const required =
    code === ERROR.missingCapability && isRecord(data) ? Object.keys(data.requiredCapabilities ?? {}) : [];
  const known = required.filter((name) => /^[\w./-]{1,60}$/.test(name)).slice(0, 8);
  // The client has it, but it was not announced (RSC-7).
  const off = CLIENT_CAPABILITIES.find((one) => known.includes(one) && client?.capabilities[one] !== undefined);
  if (off !== undefined)
    return failed('denied', `${tool.name} needs ${off}, which a rule denies its server`, {
      hint: `a person can change the rule that selects ${off}:${server}`,
      data: { rule: null },
    });
  if (known.length > 0)
    return failed('unavailable', `${tool.name} needs a client with the capability ${known.join(', ')}`, {
      hint: 'use another tool, or a client that supports it',
      data: { code, requiredCapabilities: Object.fromEntries(known.map((name) => [name, {}])) },
    });
  if (error instanceof UnreadError)
    return failed('tool_failed', `${tool.name}: ${shown}`, {
      hint: 'ask for less, or contact the operator of the server',
      data: { code },
    });
  const meta = { refusal: { code, message, ...toRefusalData(data) } };
  if (OF_RESOURCES.includes(method) && NOT_FOUND.includes(code)) {
    const hint = 'list the resources again, and check the URI';
    return failed('not_found', `${tool.name} was not found: ${shown}`, { hint, data: { code } }, meta);
  }
  const hint = 'change the input; if it is correct, contact the operator of the server';
  return failed('tool_failed', `the server refused ${tool.name}: ${shown}`, { hint, data: { code } }, meta);
}

function failed(code: ErrorCode, message: string, options: ToolErrorOptions, meta: Output['meta'] = {}): Output {
  return { content: [], error: new ToolError(code, message, options), meta };
}

const REFUSAL_BOUNDS = { maxDepth: 32, maxBytes: 1024 * 1024 };

function toRefusalData(data: unknown): { readonly data?: Json } {
  const json = data === undefined ? undefined : orNothing(() => toJson(data, REFUSAL_BOUNDS));
  return json === undefined ? {} : { data: json };
}

// A request that was cut off may have been processed, unlike one that could not be sent.
const CUT = new Set(['ECONNRESET', 'EPIPE']);

function isCut({ data }: ToolError): boolean {
  return isRecord(data) && CUT.has(String(data.errno));
}

function cutOff({ tool, server }: RemotePlan, { message, data }: ToolError): ToolError {
  return new ToolError('exec_failed', `lost the server ${server} while running ${tool.name}: ${message}`, {
    hint: CALL_AGAIN,
    data,
  });
}

// Rewrites the URIs of a server's resources in what it returns, so that the client can read them here: links, embedded
// resources and pages of MCP Apps. Contents stay as they are.
function rewriteOutput(output: Output, server: ServerEntry, isPrompt: boolean): Output {
  const { structured, meta } = output;
  const messages =
    isPrompt && isRecord(structured) && Array.isArray(structured.messages) ? structured.messages : undefined;
  return {
    ...output,
    content: output.content.map((part) => rewritePart(part, server)),
    ...(messages === undefined
      ? {}
      : { structured: { ...(structured as object), messages: messages.map((one) => rewriteMessage(one, server)) } }),
    ...(meta?.remote === undefined
      ? {}
      : { meta: { ...meta, remote: toPublicMeta(meta.remote, server) as typeof meta.remote } }),
  };
}

function rewriteMessage(message: Json, server: ServerEntry): Json {
  if (!isRecord(message) || !isRecord(message.content)) return message;
  return { ...message, content: rewritePart(message.content as unknown as Part, server) } as unknown as Json;
}

function rewritePart(part: Part, server: ServerEntry): Part {
  const meta = part._meta === undefined ? {} : { _meta: toPublicMeta(part._meta as Json, server) };
  if (part.type === 'resource_link') return { ...part, ...meta, uri: toServerUri(server, part.uri) } as Part;
  if (part.type !== 'resource') return part;
  const { resource } = part;
  const own = '_meta' in resource ? { _meta: toPublicMeta(resource._meta as Json, server) } : {};
  return { ...part, ...meta, resource: { ...resource, ...own, uri: toServerUri(server, resource.uri) } } as Part;
}
