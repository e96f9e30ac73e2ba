// Upstream servers: how one is configured, with references in place of secrets, and what it says of its tools.

import type { ToolError } from './error.js';
import type { Json } from './json.js';
import type { Problem } from './problem.js';
import type { Snapshot } from './snapshot.js';
import type { Tool } from './tool.js';

/** A server as a file names it. Nothing in it is expanded: `${VAR}` and `file:…` stand as they were written (UPS-5). */
export type ServerEntry = StdioServer | HttpServer;

interface ServerBase {
  /** As configured; tools get it in front of their names. */
  readonly name: string;
  /** Whose words these are: those of a workspace start nothing unless it is trusted (POL-20). */
  readonly owner: 'user' | 'workspace';
  readonly place: ServerPlace;
  /** Selectors of its tools, by their own names or the names they get here; absent: all. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** The time limit of a call. */
  readonly timeoutMs?: number;
  /** How long it may take until it answers at all. */
  readonly startTimeoutMs?: number;
  /** Named and not used; it still holds its name against the files that come after. */
  readonly disabled?: true;
}

/** Where a server is configured. */
export interface ServerPlace {
  readonly file: string;
  /** JSON Pointer, or null where the file is TOML. */
  readonly pointer: string | null;
  readonly line: number | null;
}

export interface StdioServer extends ServerBase {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface HttpServer extends ServerBase {
  readonly kind: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What an OAuth client of this server is registered as, where that was done by hand. */
  readonly oauth?: { readonly clientId: string; readonly clientSecret?: string; readonly scope?: string };
}

/** A server with every reference replaced: held only as long as it is connected, and shown nowhere. */
export type ResolvedServer =
  | (Omit<StdioServer, 'command' | 'args' | 'env' | 'cwd'> & {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string;
    })
  | HttpServer;

/** A tool as its server describes it; nothing of it is believed yet. */
export interface RemoteTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
  readonly annotations?: Readonly<Record<string, Json>>;
  readonly icons?: Json;
  readonly _meta?: Readonly<Record<string, Json>>;
}

/** `mcp://server/tool`. */
export function toRemoteUri(server: string, tool: string): string {
  return `mcp://${encodeURIComponent(server)}/${encodeURIComponent(tool)}`;
}

/** The server of a tool and its name there; undefined where it is no server's. */
export function readRemote({ origin }: Tool): { readonly server: string; readonly name: string } | undefined {
  const { uri, server } = origin;
  if (origin.owner !== 'upstream' || uri === null || typeof server !== 'string') return undefined;
  return { server, name: decodeURIComponent(uri.slice(uri.lastIndexOf('/') + 1)) };
}

/** The tools of servers, as the catalog sees them: what is known without starting one. */
export interface Upstream {
  list(snapshot: Snapshot): { readonly tools: readonly Tool[]; readonly problems: readonly Problem[] };
  /** The tool of a name; undefined where no server that is known has one. */
  find(name: string, snapshot: Snapshot): Tool | undefined;
  /** The tool of a URI. */
  at(uri: string, snapshot: Snapshot): Tool | undefined;
  /** Why nothing is known of the tools of a server that a reference is about. */
  why(ref: string, snapshot: Snapshot): ToolError | undefined;
  /**
   * Asks the servers that are not known yet for their tools: all, or those that a reference could be about. Undefined
   * where there is nothing to wait for.
   */
  settle(snapshot: Snapshot, ref?: string): Promise<unknown> | undefined;
}
