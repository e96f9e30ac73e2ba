// A connection to one server: opened in the era that it speaks, listed, asked, and told why it went.

import type { Client, Transport } from '@modelcontextprotocol/client';
import type { Progress } from '../../core/context.js';
import type { Elicit } from '../../core/elicit.js';
import { ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import { quoteOutside } from '../../core/text.js';
import type { RemoteTool } from '../../core/upstream.js';
import { fetchTools, type ToolListing } from '../catalog/tool-list.js';
import { answerInputs, limitQuestions, toElicitation, visitPages } from '../execute/elicitation.js';
import { toOutput } from '../execute/result.js';
import { createLane, RemoteError } from './lane.js';
import type { Ending } from './process-transport.js';

/** The era of a server, kept between connections so that nobody has to ask again. */
export type Verdict = { readonly kind: 'legacy' } | { readonly kind: 'modern'; readonly discover: Json };

/** A transport that can say what became of its server. */
export interface Wire extends Transport {
  write?(message: string): void;
  readonly ending?: Ending | undefined;
  readonly lastLines?: readonly string[];
}

export interface ConnectOptions {
  readonly name: string;
  readonly version: string;
  /** What is known of its era. */
  readonly verdict: Verdict | undefined;
  readonly signal: AbortSignal;
  readonly debug: (message: string) => void;
  /** Takes out of what a server says of itself what nobody may be shown. */
  readonly redact: <T>(said: T) => T;
}

export interface RemoteCall {
  /** What the tool is called here: messages name it so. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly elicit?: Elicit | undefined;
}

export interface Connection {
  readonly verdict: Verdict;
  readonly instructions: string | undefined;
  /** What it lists now. */
  listing(): ToolListing;
  /** Told when it lists something else. */
  onListing(listener: (listing: ToolListing) => void): void;
  /** Calls a tool by its own name. Throws what went wrong; a tool that failed is an Output with an error. */
  call(tool: RemoteTool, input: Json, call: RemoteCall): Promise<Output>;
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
  isOpen(): boolean;
  close(): Promise<void>;
}

// An older server may answer nothing to what it does not know.
const PROBE_MS = 10_000;
const MAX_ROUNDS = 8;
// One that tells of changes without end is listened to now and then.
const BETWEEN_LISTS_MS = 500;
const CAPABILITIES = { elicitation: { form: {}, url: {} } } as const;

/** Opens a connection and lists the tools. Throws what the transport or the server said. */
export async function connect(wire: Wire, options: ConnectOptions): Promise<Connection> {
  const { name, signal, debug, redact } = options;
  const sdk = await import('@modelcontextprotocol/client');
  const lane = createLane(wire);
  const clientInfo = { name: 'wield', version: options.version };
  const client = new sdk.Client(clientInfo, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_MS } },
    // Results are checked where all results are (TOOL-22), and the client's own validator takes 60 ms to make.
    jsonSchemaValidator: {
      getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
    },
  });
  client.onerror = (error) => debug(`${name}: ${quoteOutside(error.message, 300)}`);
  const calls = new Set<RemoteCall>();
  client.setRequestHandler('elicitation/create', async ({ params }, context) => {
    // An older server does not say which call it asks for: with several that could be meant nobody is asked.
    const elicit = calls.size === 1 ? [...calls][0]!.elicit : undefined;
    if (elicit === undefined) return { action: 'cancel' };
    const { action, content } = await elicit(toElicitation(params as JsonObject), context.mcpReq.signal);
    return { action, ...(content === undefined ? {} : { content: content as never }) };
  });

  let open = true;
  const gone = new Promise<void>((resolve) => {
    client.onclose = () => {
      open = false;
      resolve();
    };
  });
  await client.connect(lane.transport, {
    signal,
    ...(options.verdict === undefined ? {} : { prior: options.verdict as never }),
  });
  const verdict = verdictOf(client);
  const isNewer = verdict.kind === 'modern';
  if (isNewer) {
    lane.setEnvelope({
      [sdk.PROTOCOL_VERSION_META_KEY]: client.getNegotiatedProtocolVersion(),
      [sdk.CLIENT_INFO_META_KEY]: clientInfo,
      [sdk.CLIENT_CAPABILITIES_META_KEY]: CAPABILITIES,
    });
  }

  const capabilities = client.getServerCapabilities();
  const list = (until: AbortSignal): Promise<ToolListing> =>
    capabilities?.tools === undefined
      ? Promise.resolve({ tools: [], faults: [] })
      : fetchTools(async (params) => {
          const answer = await lane.request('tools/list', params, { signal: until });
          if (isNewer && options.verdict !== undefined) assertNewer(answer);
          return answer;
        });
  let listing = redact(await list(signal));

  const listeners = new Set<(listing: ToolListing) => void>();
  // However often it tells of changes, it is asked once at a time, and once more for those that came meanwhile.
  let isAsking = false;
  let again = false;
  const refresh = async (): Promise<void> => {
    again = true;
    if (isAsking) return;
    isAsking = true;
    while (again && open) {
      again = false;
      try {
        listing = redact(await list(AbortSignal.timeout(PROBE_MS)));
        for (const listener of listeners) listener(listing);
      } catch (error) {
        debug(`${name}: its new list of tools did not come: ${quoteOutside((error as Error).message, 200)}`);
      }
      await pause(BETWEEN_LISTS_MS);
    }
    isAsking = false;
  };
  client.setNotificationHandler('notifications/tools/list_changed', refresh);
  if (isNewer && capabilities?.tools?.listChanged === true) {
    client.listen({ toolsListChanged: true }).catch((error: Error) => {
      debug(`${name}: it does not tell of changes: ${quoteOutside(error.message, 200)}`);
    });
  }

  const request = (tool: RemoteTool, params: Readonly<Record<string, unknown>>, call: RemoteCall) => {
    if (isNewer && wire.write === undefined && mirrorsParameters(tool))
      return client
        .callTool(
          params as never,
          {
            signal: call.signal,
            timeout: MAX_TIMER_MS,
            toolDefinition: tool as never,
            allowInputRequired: true,
            ...(call.onProgress === undefined ? {} : { onprogress: toListener(call.onProgress) }),
          } as never,
        )
        .catch((error: unknown) => {
          if (!(error instanceof sdk.ProtocolError)) throw error;
          throw new RemoteError(error.code, error.message, error.data);
        });
    return lane.request('tools/call', params, call);
  };

  return {
    verdict: redact(verdict),
    instructions: redact(client.getInstructions()),
    listing: () => listing,
    onListing: (listener) => {
      listeners.add(listener);
    },
    async call(tool, input, asked) {
      const { elicit } = asked;
      const ask: Elicit | undefined = elicit && ((question, until) => elicit(redact(question), until));
      const call = ask === undefined ? asked : { ...asked, elicit: limitQuestions(ask) };
      calls.add(call);
      try {
        let params: Readonly<Record<string, unknown>> = { name: tool.name, arguments: input };
        for (let round = 0; round < MAX_ROUNDS; round++) {
          let result: unknown;
          try {
            result = await request(tool, params, call);
          } catch (error) {
            if (isNewer || !(await visitPages(error, call))) throw error;
            continue;
          }
          if (!isRecord(result) || result.resultType !== 'input_required') return toOutput(call.name, result);
          params = {
            name: tool.name,
            arguments: input,
            inputResponses: await answerInputs(result.inputRequests, call),
            ...(result.requestState === undefined ? {} : { requestState: result.requestState }),
          };
        }
        throw new ToolError('tool_failed', `${call.name} asked more than ${MAX_ROUNDS} times`, {
          hint: 'this is for the author of the server',
        });
      } finally {
        calls.delete(call);
      }
    },
    gone,
    isOpen: () => open,
    close: async () => {
      await client.close();
      await gone;
    },
  };
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });

const MAX_TIMER_MS = 2 ** 31 - 1;

function verdictOf(client: Client): Verdict {
  const discover = client.getDiscoverResult();
  return client.getProtocolEra() === 'modern' && discover !== undefined
    ? { kind: 'modern', discover: discover as unknown as Json }
    : { kind: 'legacy' };
}

// Many an older server answers without a greeting too, and would then never hear what it asks: what was known of it is
// believed only where its answers say what every answer of the newer era says.
function assertNewer(answer: unknown): void {
  if (!isRecord(answer) || typeof answer.resultType !== 'string')
    throw new Error('it speaks an older protocol than it did');
}

// Over HTTP such a tool wants some of its parameters in headers too, which the protocol's client knows how to write.
function mirrorsParameters({ inputSchema }: RemoteTool): boolean {
  return JSON.stringify(inputSchema).includes('"x-mcp-header"');
}

function toListener(onProgress: (progress: Progress) => void) {
  return ({ progress, total, message }: { progress: number; total?: number; message?: string }) =>
    onProgress({
      done: progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    });
}
