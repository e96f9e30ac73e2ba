// Real MCP clients, each connected to its own `wield serve`, in this process or as one of its own.

import {
  Client,
  type ClientCapabilities,
  type ElicitRequest,
  type ElicitRequestParams,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { binary } from './built.js';
import { copyCompiledCode } from './compiled-code.js';
import { createServeTransport, serveUrl } from './serve.js';
import { onEnd } from './share.js';
import type { Workspace } from './workspace.js';

export type ProtocolVersion = 'older' | 'newer';

const INFO = { name: 'test', version: '1' };

/** How the client's user answers a form. */
export type Answer = (
  message: string,
  params: ElicitRequest['params'],
  signal: AbortSignal,
) => ElicitResult | Promise<ElicitResult>;

export const ACCEPT: ElicitResult = { action: 'accept', content: { decision: 'run it once' } };

function createClient(protocol: ProtocolVersion, onListChanged: () => void): Client {
  return new Client(INFO, {
    ...(protocol === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
  });
}

/** Connects a client that answers forms, over stdio or HTTP. */
export async function connectAsking(
  workspace: Workspace,
  protocol: ProtocolVersion,
  transport: 'stdio' | 'http',
  answer: Answer,
  elicitation: ClientCapabilities['elicitation'] = { form: {} },
): Promise<Client> {
  const client = new Client(INFO, {
    ...(protocol === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
    capabilities: { elicitation },
  });
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) =>
    answer(params.message, params, mcpReq.signal),
  );
  await client.connect(
    transport === 'stdio'
      ? createServeTransport(workspace, ['--trust'])
      : new StreamableHTTPClientTransport(new URL(await serveUrl(workspace, ['--trust']))),
  );
  onEnd(() => client.close());
  return client;
}

/** How the client's user answers a form or URL. */
export type Person = (params: ElicitRequestParams) => ElicitResult | Promise<ElicitResult>;

/** Connects a client that answers forms and URLs to a `wield serve` with these arguments, here or in a process. */
export async function connectPerson(
  workspace: Workspace,
  protocol: ProtocolVersion,
  transport: 'stdio' | 'http' | 'process',
  person: Person,
  { args = ['--trust'], onListChanged = () => {} }: PersonOptions = {},
): Promise<Client> {
  const client = new Client(INFO, {
    ...(protocol === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
    capabilities: { elicitation: { form: {}, url: {} } },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
  });
  client.setRequestHandler('elicitation/create', async ({ params }) => person(params));
  await client.connect(
    transport === 'process'
      ? new StdioClientTransport(stdioParameters(workspace, args))
      : transport === 'stdio'
        ? createServeTransport(workspace, args)
        : new StreamableHTTPClientTransport(new URL(await serveUrl(workspace, args))),
  );
  onEnd(() => client.close());
  return client;
}

export interface PersonOptions {
  readonly args?: readonly string[];
  readonly onListChanged?: () => void;
}

function stdioParameters(workspace: Workspace, args: readonly string[]) {
  copyCompiledCode(workspace.env.WIELD_HOME);
  return {
    command: process.execPath,
    args: [binary(), 'serve', ...args],
    cwd: workspace.dir,
    env: workspace.env,
    stderr: 'ignore' as const,
  };
}

/** Connects the SDK's client over the standard streams of a `wield serve` in this process. */
export async function connectStdio(
  workspace: Workspace,
  protocol: ProtocolVersion,
  args: readonly string[] = ['--trust'],
  onListChanged: () => void = () => {},
): Promise<Client> {
  const client = createClient(protocol, onListChanged);
  await client.connect(createServeTransport(workspace, args));
  onEnd(() => client.close());
  return client;
}

/** Connects the SDK's client over stdio to a process of its own. */
export async function connectProcess(
  workspace: Workspace,
  protocol: ProtocolVersion,
  args: readonly string[] = ['--trust'],
  onListChanged: () => void = () => {},
): Promise<Client> {
  const client = createClient(protocol, onListChanged);
  await client.connect(new StdioClientTransport(stdioParameters(workspace, args)));
  onEnd(() => client.close());
  return client;
}

/** Connects the SDK's client over HTTP. */
export async function connectHttp(
  workspace: Workspace,
  protocol: ProtocolVersion,
  args: readonly string[] = ['--trust'],
  onListChanged: () => void = () => {},
): Promise<Client> {
  return connectUrl(await serveUrl(workspace, args), protocol, onListChanged);
}

export async function connectUrl(
  url: string,
  protocol: ProtocolVersion,
  onListChanged: () => void = () => {},
  headers: Record<string, string> = {},
): Promise<Client> {
  const client = createClient(protocol, onListChanged);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onEnd(() => client.close());
  return client;
}

/** Connects the client of the SDK's first generation; with `answer` it supports elicitation. */
export async function connectOlderSdk(
  workspace: Workspace,
  args: readonly string[] = ['--trust'],
  answer?: Answer,
): Promise<OlderClient> {
  const client = new OlderClient(INFO, answer === undefined ? {} : { capabilities: { elicitation: {} } });
  if (answer !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) =>
      answer(params.message, params, signal),
    );
  await client.connect(new OlderStdioTransport(stdioParameters(workspace, args)));
  onEnd(() => client.close());
  return client;
}

interface ToolClient {
  callTool(params: { name: string; arguments: Record<string, unknown> }, options?: object): Promise<unknown>;
}

/** A result of a tool, as far as tests look at it. */
export interface CalledResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly _meta?: { readonly 'wield/error'?: { readonly code: string; readonly hint?: string } };
}

/** Calls a tool; the protocol error for an unknown one is returned as a failed result. */
export async function callTool(
  client: ToolClient,
  name: string,
  input: Record<string, unknown> = {},
  options: object = {},
): Promise<CalledResult> {
  try {
    return (await client.callTool({ name, arguments: input }, options)) as CalledResult;
  } catch (error) {
    const { code, message, data } = error as { code?: number; message: string; data?: CalledResult['_meta'] };
    if (code !== -32602) throw error;
    return { isError: true, content: [{ type: 'text', text: message }], _meta: data };
  }
}
