// A server with users: workspaces with named tokens, and raw requests of these users.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliRun, wield } from './cli.js';
import { trustNow } from './trusted.js';
import { createWorkspace, type Workspace } from './workspace.js';

/** The groups of each user. */
export type Groups = Readonly<Record<string, readonly string[]>>;

/** The token of a user. */
export const tokenOf = (user: string): string => `${user}-${'t'.repeat(30)}`;

export const asUser = (user: string): Record<string, string> => ({ authorization: `Bearer ${tokenOf(user)}` });

/** The text of the scripts of a team. */
export const scriptOf = (name: string): string =>
  `#!/bin/sh\n# @description Runs ${name}\n# @param text string A text\n# @param password string A password\necho ran ${name} "$WIELD_PARAM_TEXT"\n`;

/** Creates a trusted workspace with the scripts `deploy`, which asks, and `hello`, and a token for each user. */
export function createTeam(users: Groups, config = ''): Workspace {
  const workspace = createWorkspace();
  const tables = Object.entries(users).map(([user, groups]) => {
    writeFileSync(join(workspace.home, `${user}.token`), `${tokenOf(user)}\n`);
    return `[serve.tokens.${user}]\nfile = "~/${user}.token"\ngroups = ${JSON.stringify(groups)}\n`;
  });
  workspace.config([...tables, '[trust]\nrules = ["deploy($policy=ask)"]\n', config].join('\n'));
  for (const name of ['deploy', 'hello']) workspace.script(name, scriptOf(name));
  trustNow(workspace);
  return workspace;
}

export interface RawCall {
  readonly text: string;
  readonly isError: boolean;
  readonly status: number;
  /** The approval that the call waits for. */
  readonly approval: string;
  readonly result: Readonly<Record<string, unknown>>;
}

export interface RawOptions {
  readonly client?: string;
  readonly capabilities?: object;
  readonly more?: object;
}

/** Sends one request of the newer protocol version. */
export async function sendRaw(
  url: string,
  headers: Record<string, string>,
  method: string,
  params: Readonly<Record<string, unknown>>,
  { client = 'raw', capabilities = {}, more = {} }: RawOptions = {},
): Promise<{ readonly status: number; readonly result: Readonly<Record<string, unknown>>; readonly error: unknown }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-method': method,
      'mcp-name': String(params.name ?? params.taskId),
      'mcp-protocol-version': '2026-07-28',
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: client, version: '1' },
          'io.modelcontextprotocol/clientCapabilities': capabilities,
        },
        ...more,
      },
    }),
  });
  const whole = await response.text();
  // The last event is the answer.
  const data = [...whole.matchAll(/^data: (.+)$/gm)].at(-1)?.[1] ?? whole;
  const { result = {}, error } = JSON.parse(data || '{}') as { result?: Record<string, unknown>; error?: unknown };
  return { status: response.status, result, error };
}

/** Calls a tool with one request. */
export async function callRaw(
  url: string,
  headers: Record<string, string>,
  name: string,
  input: object = {},
  options: RawOptions = {},
): Promise<RawCall> {
  const { status, result } = await sendRaw(url, headers, 'tools/call', { name, arguments: input }, options);
  const content = (result.content ?? []) as readonly { readonly text?: string }[];
  const text = content.map((part) => part.text ?? '').join('\n');
  return {
    text,
    isError: result.isError === true,
    status,
    approval: /approvals approve (\w+)/.exec(text)?.[1] ?? '',
    result,
  };
}

/** Sends a request to `/approvals` of a server. */
export async function askApprovals(
  url: string,
  headers: Record<string, string>,
  path = '',
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents
): Promise<{ readonly status: number; readonly body: any; readonly headers: Headers }> {
  const address = url.replace(/\/mcp$/, `/approvals${path}`);
  const init =
    body === undefined
      ? { headers }
      : { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
  const response = await fetch(address, { redirect: 'manual', ...init });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers };
}

/** Runs `wield approvals --server URL` as a user, from an empty home. */
export function approvalsAs(url: string, user: string, args: readonly string[]): Promise<CliRun> {
  const env = { WIELD_TOKEN: tokenOf(user) };
  return wield(createWorkspace(), ['approvals', ...args, '--server', url], { env });
}
