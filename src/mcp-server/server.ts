// Answers the requests of clients, over any transport and in both protocol versions: one table of methods, one dispatcher.

import type { Infer, Shape } from '../core/shape.js';
import type { DoorOptions, Toolbox } from '../core/toolbox.js';
import type { AutoMode } from '../core/view.js';
import { ERROR, META, NEWER_VERSION, OLDER_VERSIONS, RpcError, SKILLS, TASKS } from '../net/mcp.js';
import { showsApps } from './apps.js';
import { createAutoModes } from './auto-mode.js';
import { createToolCalls } from './calls.js';
import type { Identity } from './identity.js';
import { createInteractiveCalls } from './interaction.js';
import { createListings } from './live-listing.js';
import { findParamsFault, metaOf, PARAM_SHAPES, type Params, type RequestId, type RequestMessage } from './message.js';
import { createOperations, endOperation } from './operation.js';
import { CACHE_HINT, type CacheHint, createPageReader } from './pages.js';
import { type Channel, callerOf, type RequestScope, toLogListener, toScope } from './request.js';
import { createListen, createResourceHandlers } from './resources.js';
import type { SharedSessions } from './shared-sessions.js';
import { createSkillHandlers } from './skills.js';
import { createTasks, wantsTask } from './tasks.js';
import { assertEnvelope } from './version.js';

/** Options of an MCP server. */
export interface McpServerOptions {
  /** The version that clients are told. */
  readonly version: string;
  /** Receives errors of the protocol layer; serving continues. */
  readonly onError?: (error: Error) => void;
  /** Delays calls while the client does not read its responses. */
  readonly ready?: DoorOptions['ready'];
  /** Returns what a client is told with a list of tools, such as servers that did not answer. */
  readonly notices?: ((identity?: Identity) => readonly string[]) | undefined;
  /** How requests come; for traces and metrics. */
  readonly transport?: 'pipe' | 'tcp' | undefined;
  /** What the servers of a fleet share. */
  readonly shared?: SharedSessions | undefined;
}

/** The response to a request: parts of its JSON, and the code if it is an error. */
export interface Answer {
  readonly parts: readonly (string | Buffer)[];
  readonly code?: number;
}

export type McpServer = ReturnType<typeof createMcpServer>;

/** What a handler returns: a result, or its JSON. */
type Result = object | Buffer;

interface Method {
  /** The protocol version that has it; undefined: both. */
  readonly version: 'older' | 'newer' | undefined;
  readonly params: Shape<unknown>;
  readonly handle: (params: Params, scope: RequestScope) => Promise<Result>;
  /** How long clients of the newer version may cache the result. */
  readonly cache?: CacheHint | undefined;
}

// Methods that answer parameters of a wrong form with -32602; others do with -32603, like servers of the SDK.
const WITH_INVALID_PARAMS: readonly string[] = [
  'tools/call',
  'subscriptions/listen',
  'skills/list',
  'skills/get',
  'resources/directory/read',
];
// Before these nobody can miss a change.
const FIRST_METHODS: readonly string[] = ['initialize', 'ping', 'server/discover'];

export function createMcpServer(toolbox: Toolbox, options: McpServerOptions) {
  const listings = createListings(toolbox, options.onError);
  const modes = createAutoModes(options.shared);
  const interactive = createInteractiveCalls(options);
  const { serve } = interactive;
  const callTool = createToolCalls({ toolbox, listings, modes, serve, isFleet: options.shared !== undefined });
  const tasks = options.shared === undefined ? createTasks(callTool) : undefined;
  const info = { name: 'wield', version: options.version };
  const readPage = createPageReader(info);
  const listeners = createListen(toolbox, listings, modes);
  const resources = createResourceHandlers(toolbox, serve);
  const skills = createSkillHandlers(toolbox);
  // SRV-99: they are the beginning of a prompt, and stay the same.
  const instructions = async (scope: RequestScope) => {
    const { client } = scope;
    client.instructions ??= await toolbox.workspace.instructions({ caller: callerOf(scope) });
    return client.instructions || undefined;
  };
  const listTools = async (cursor: string | undefined, { client, identity, isNewer, capabilities }: RequestScope) => {
    const read = (mode: AutoMode | undefined) =>
      readPage(listings.of(identity, mode), cursor, isNewer, showsApps(capabilities));
    const mode = await modes.find(client);
    const page = await read(mode);
    const decided = mode === undefined ? listings.of(identity).autoMode : undefined;
    if (decided === undefined) return page;
    await modes.keep(client, decided);
    return read(decided);
  };
  const extensions = { [SKILLS]: { directoryRead: true }, ...(tasks && { [TASKS]: {} }) };
  const capabilities = { ...CAPABILITIES, extensions };

  const methods: Readonly<Record<string, Method>> = {
    initialize: older(PARAM_SHAPES.initialize, async (params, scope) => {
      scope.client.initialized = params;
      const isKnown = OLDER_VERSIONS.includes(params.protocolVersion);
      return {
        protocolVersion: isKnown ? params.protocolVersion : OLDER_VERSIONS[0],
        capabilities: { ...capabilities, ...(tasks && { tasks: TASK_CAPABILITIES }) },
        serverInfo: info,
        instructions: await instructions(scope),
      };
    }),
    'server/discover': newer(
      PARAM_SHAPES.none,
      async (_, scope) => ({
        supportedVersions: [NEWER_VERSION],
        capabilities,
        instructions: await instructions(scope),
      }),
      { ttlMs: 0, cacheScope: 'private' },
    ),
    ping: older(PARAM_SHAPES.none, async () => ({})),
    'logging/setLevel': older(PARAM_SHAPES.setLevel, async ({ level }, { client }) => {
      client.logLevel = level;
      return {};
    }),
    'tools/list': both(PARAM_SHAPES.list, async ({ cursor }, scope) => {
      const page = await listTools(cursor, scope);
      const log = toLogListener(scope);
      for (const data of log === undefined ? [] : (options.notices?.(scope.identity) ?? []))
        log?.({ level: 'warning', data, logger: 'wield' });
      return page;
    }),
    'tools/call': both(PARAM_SHAPES.call, (params, scope) =>
      scope.client.runCall(() =>
        tasks !== undefined && wantsTask(params, scope) ? tasks.start(params, scope) : callTool(params, scope),
      ),
    ),
    'resources/list': both(PARAM_SHAPES.list, resources.list, CACHE_HINT),
    'resources/templates/list': both(PARAM_SHAPES.list, resources.listTemplates, CACHE_HINT),
    'resources/read': both(PARAM_SHAPES.resource, resources.read, { ...CACHE_HINT, ttlMs: 1000 }),
    'resources/subscribe': older(PARAM_SHAPES.resource, resources.subscribe),
    'resources/unsubscribe': older(PARAM_SHAPES.resource, resources.unsubscribe),
    'skills/list': both(PARAM_SHAPES.list, skills.list, CACHE_HINT),
    'skills/get': both(PARAM_SHAPES.resource, skills.get, CACHE_HINT),
    'resources/directory/read': both(PARAM_SHAPES.directory, skills.readDirectory, CACHE_HINT),
    'prompts/list': both(PARAM_SHAPES.list, resources.listPrompts, CACHE_HINT),
    'prompts/get': both(PARAM_SHAPES.prompt, resources.getPrompt),
    'completion/complete': both(PARAM_SHAPES.complete, resources.complete),
    'subscriptions/listen': newer(PARAM_SHAPES.listen, listeners.listen),
    ...(tasks && {
      'tasks/get': both(PARAM_SHAPES.none, tasks.get),
      'tasks/cancel': both(PARAM_SHAPES.none, tasks.cancel),
      'tasks/update': newer(PARAM_SHAPES.none, tasks.update),
      'tasks/result': older(PARAM_SHAPES.none, tasks.result),
      'tasks/list': older(PARAM_SHAPES.none, tasks.list),
    }),
  };

  const findMethod = ({ method: name, params = {} }: RequestMessage, isNewer: boolean): Method => {
    const method = Object.hasOwn(methods, name) ? methods[name]! : undefined;
    if (method === undefined || method.version === (isNewer ? 'older' : 'newer'))
      throw new RpcError(ERROR.methodNotFound, 'Method not found');
    if (isNewer) assertEnvelope(name, metaOf(params));
    const fault = findParamsFault(method.params, params);
    if (fault !== undefined) {
      const code = WITH_INVALID_PARAMS.includes(name) ? ERROR.invalidParams : ERROR.internal;
      throw new RpcError(code, `Invalid ${name} request: ${fault}`);
    }
    return method;
  };
  const beginOperation = createOperations({
    toolbox,
    transport: options.transport,
    isKnown: (name) => Object.hasOwn(methods, name),
  });
  const answer = async (message: RequestMessage, channel: Channel): Promise<Answer | undefined> => {
    const { id, method: name, params = {} } = message;
    const { client, isNewer } = channel;
    const request = client.begin(id);
    const operation = beginOperation(message, channel);
    let answer: Answer | undefined;
    try {
      const { handle, cache } = findMethod(message, isNewer);
      if (!FIRST_METHODS.includes(name)) listings.watch(channel.exchange?.identity);
      const result = await handle(params, toScope(message, channel, request, operation));
      answer = answered(id, isNewer && !(result instanceof Buffer) ? stamp(result, info, cache) : result);
    } catch (thrown) {
      answer = failed(id, thrown);
    }
    client.end(request);
    if (request.isCancelled) answer = undefined;
    if (operation !== undefined) endOperation(operation, message, answer);
    return answer;
  };
  return {
    listings,
    modes,
    /** Undefined in a fleet, whose servers keep nothing in memory (FLT-76). */
    tasks,
    /** Answers a request. Resolves to undefined if it was cancelled, which gets no response. Never rejects. */
    answer,
    /** Fails questions that no client can answer any more, and cancels calls that wait for approval. */
    abandonQuestions(): void {
      interactive.abandonQuestions();
      tasks?.abandonQuestions();
    },
    /** Ends subscriptions with their result, and suspended calls and tasks. */
    close(): void {
      listeners.close();
      listings.close();
      interactive.close();
      tasks?.close();
    },
  };
}

/** What every server announces. */
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};
// In the older protocol version.
const TASK_CAPABILITIES = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

type Handle<S> = (params: Infer<S>, scope: RequestScope) => Promise<Result>;

function both<S extends Shape<unknown>>(params: S, handle: Handle<S>, cache?: CacheHint): Method {
  return { version: undefined, params, handle: handle as Method['handle'], cache };
}

function older<S extends Shape<unknown>>(params: S, handle: Handle<S>): Method {
  return { ...both(params, handle), version: 'older' };
}

function newer<S extends Shape<unknown>>(params: S, handle: Handle<S>, cache?: CacheHint): Method {
  return { ...both(params, handle, cache), version: 'newer' };
}

// What every result of the newer protocol version has.
function stamp(result: object, info: object, cache: CacheHint | undefined): object {
  const { _meta, resultType = 'complete' } = result as { readonly _meta?: Params; readonly resultType?: string };
  return {
    resultType,
    ...result,
    ...(resultType === 'complete' ? cache : undefined),
    _meta: { [META.server]: info, ..._meta },
  };
}

function answered(id: RequestId, result: Result): Answer {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  if (result instanceof Buffer) return { parts: [head, result, '}'] };
  return { parts: [`${head}${JSON.stringify(result)}}`] };
}

/** Returns the answer to a request that could not be handled. */
export function failed(id: RequestId | null, thrown: unknown): Answer {
  const { message, data }: { message: string; data?: unknown } =
    thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = thrown instanceof RpcError ? thrown.code : ERROR.internal;
  return { parts: [JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })], code };
}
