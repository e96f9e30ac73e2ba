// MCP Apps: which clients show them, and what an app means by the names of its own server.

import { isRecord } from '../core/json.js';
import { readRemote } from '../core/name.js';
import { isPage, parsePublicUri, toPublicUri } from '../core/resource.js';
import type { Tool } from '../core/tool.js';
import type { Params } from './message.js';

const EXTENSION = 'io.modelcontextprotocol/ui';
// A host names the page that a request comes from, by the URI that it read here.
const ORIGIN = 'wield/app';

/** What a client says with a request. */
interface AppRequest {
  readonly capabilities: unknown;
  readonly meta: Params | undefined;
}

/** The tools of servers with apps, by their names there. */
export type AppTools = ReadonlyMap<string, readonly { readonly server: string; readonly name: string }[]>;

/** Whether the client has an extension of the protocol. */
export function hasExtension(capabilities: unknown, name: string): boolean {
  const { extensions } = isRecord(capabilities) ? capabilities : {};
  return isRecord(extensions) && isRecord(extensions[name]);
}

/** Whether the client shows MCP Apps. */
export function showsApps(capabilities: unknown): boolean {
  return hasExtension(capabilities, EXTENSION);
}

/** Collects the tools that apps may call; `nameOf` returns the protocol name of a tool. */
export function collectAppTools(tools: readonly Tool[], nameOf: (tool: Tool) => string | undefined): AppTools {
  const servers = new Set(tools.filter((tool) => uiOf(tool) !== undefined).map(({ origin }) => origin.server));
  const found = new Map<string, { server: string; name: string }[]>();
  for (const tool of servers.size === 0 ? [] : tools) {
    const remote = servers.has(tool.origin.server) && isForApps(tool) ? readRemote(tool) : undefined;
    const name = nameOf(tool);
    if (remote === undefined || name === undefined) continue;
    found.set(remote.name, [...(found.get(remote.name) ?? []), { server: remote.server, name }]);
  }
  return found;
}

function uiOf({ traits }: Tool): Params | undefined {
  const meta = traits.listed?._meta;
  return isRecord(meta) && isRecord(meta.ui) ? meta.ui : undefined;
}

function isForApps(tool: Tool): boolean {
  const visibility = uiOf(tool)?.visibility;
  return !Array.isArray(visibility) || visibility.includes('app');
}

/**
 * Returns the protocol name of the tool that an app calls by the name at its server: the server of the page that the
 * request names, or else the only server with such a tool.
 */
export function resolveAppTool(tools: AppTools, name: string, scope: AppRequest): string | undefined {
  if (tools.size === 0 || !showsApps(scope.capabilities)) return undefined;
  const origin = originOf(scope.meta);
  const named = (tools.get(name) ?? []).filter(({ server }) => origin === undefined || server === origin);
  return named.length === 1 ? named[0]!.name : undefined;
}

/** Returns the URI that is read. An app reads pages of its own server only; URIs of that server need no prefix. */
export function resolveAppUri(uri: string, meta: Params | undefined): string {
  const origin = originOf(meta);
  if (origin === undefined) return uri;
  const server = parsePublicUri(uri)?.server;
  // What looks like a page of another server is one of its own.
  return server === origin || (server !== undefined && !isPage(uri)) ? uri : toPublicUri(origin, uri);
}

function originOf(meta: Params | undefined): string | undefined {
  const page = meta?.[ORIGIN];
  return typeof page === 'string' && isPage(page) ? parsePublicUri(page)?.server : undefined;
}
