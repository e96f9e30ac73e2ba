// Upstream servers: configuration entries, and tools as servers describe them.

import type { ToolError } from './error.js';
import type { Json } from './json.js';
import type { Problem } from './problem.js';
import type { SandboxRequest, SandboxTable } from './sandbox.js';
import type { Snapshot } from './snapshot.js';
import type { Tool } from './tool.js';

/** A configured server. Nothing is expanded: `${VAR}` and `file:…` are as written (UPS-5). */
export type ServerEntry = StdioServer | HttpServer;

interface ServerBase {
  /** Name in the configuration, used as prefix of its tools. */
  readonly name: string;
  /** Owner of the entry; see `mayStart`. */
  readonly owner: 'user' | 'workspace' | 'package';
  /** Of a server that was installed: what it consists of, and whether a person accepted that (INS-62). */
  readonly installed?: {
    readonly source: string;
    readonly digest: string;
    readonly accepted: boolean;
    /** Directories that it runs files of, with their hashes. */
    readonly files: readonly { readonly path: string; readonly hash: string }[];
  };
  readonly place: ServerPlace;
  /** Selectors of its tools, by their original or prefixed names; absent: all. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** Timeout of a call. */
  readonly timeoutMs?: number;
  /** Timeout of the start. */
  readonly startTimeoutMs?: number;
  /** The only protocol version to use; absent: negotiated (UPS-23). */
  readonly protocol?: ProtocolVersion;
  /** False: its tools, prompts and resources keep their names where nothing else has them (UPS-24). */
  readonly prefix?: false;
  /** The sandbox that its entry asks for; stdio only (EXE-10). */
  readonly sandbox?: SandboxRequest & { readonly table?: Omit<SandboxTable, 'byProject'> };
  /** Not used, but still shadows entries of its name in later files. */
  readonly disabled?: true;
}

/**
 * Whether a server may be started: entries of a workspace need its trust (POL-20), installed servers a person who
 * accepted them (INS-62).
 */
export function mayStart({ owner, installed }: ServerEntry, { trusted }: { readonly trusted: boolean }): boolean {
  return owner === 'user' || (owner === 'workspace' ? trusted : installed?.accepted === true);
}

export const PROTOCOL_VERSIONS = ['2025-11-25', '2026-07-28'] as const;
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number];

/** Where a server is configured. */
export interface ServerPlace {
  readonly file: string;
  /** JSON Pointer, or null if the file is TOML. */
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
  readonly oauth?: OAuthSettings;
}

export const GRANTS = ['client_credentials', 'jwt_bearer'] as const;

/** The fields of a client that are secrets. */
export const OAUTH_SECRETS: readonly string[] = ['clientSecret', 'privateKey', 'assertion'];

/** A manually registered OAuth client. */
export interface OAuthSettings {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly scope?: string;
  /** The only login server that receives the credentials; required with a grant. */
  readonly issuer?: string;
  /** Logs in without a person (UPS-98). */
  readonly grant?: (typeof GRANTS)[number];
  /** Signs what the client proves its identity with, instead of a secret: PEM or JWK. */
  readonly privateKey?: string;
  /** The signed identity for `jwt_bearer`. */
  readonly assertion?: string;
}

/** A server with all references expanded; kept only while connected, and never displayed. */
export type ResolvedServer =
  | (Omit<StdioServer, 'command' | 'args' | 'env' | 'cwd'> & {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string;
    })
  | HttpServer;

/** What a server lists besides tools. */
export type OfferKind = 'resource' | 'template' | 'prompt' | 'instructions';

/** A tool, resource, template, prompt or text of instructions as its server describes it; not validated. */
export interface RemoteTool {
  /** The name of a tool or prompt, the URI of a resource, or a URI template. */
  readonly name: string;
  /** Absent for a tool. */
  readonly offers?: OfferKind;
  /** The fields of a resource, template or prompt that clients see. */
  readonly fields?: Readonly<Record<string, Json>>;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
  readonly annotations?: Readonly<Record<string, Json>>;
  readonly icons?: Json;
  /** How the tool may be called: whether as a task. */
  readonly execution?: Readonly<Record<string, Json>>;
  readonly _meta?: Readonly<Record<string, Json>>;
}

/** Returns `mcp://server/tool`. */
export function toRemoteUri(server: string, tool: string): string {
  return `mcp://${encodeURIComponent(server)}/${encodeURIComponent(tool)}`;
}

/** Returns the server of a tool and its name there; undefined if it is not a tool of a server. */
export function readRemote({ origin }: Tool): { readonly server: string; readonly name: string } | undefined {
  const { uri, server } = origin;
  if (origin.owner !== 'upstream' || uri === null || typeof server !== 'string') return undefined;
  return { server, name: decodeURIComponent(uri.slice(uri.lastIndexOf('/') + 1)) };
}

/** Tools of servers for the catalog: what is known without starting a server. */
export interface Upstream {
  /** `isTaken` says which names other tools have; a tool that keeps its own name gives way to them. */
  list(
    snapshot: Snapshot,
    isTaken?: (name: string) => boolean,
  ): { readonly tools: readonly Tool[]; readonly problems: readonly Problem[] };
  /** Returns the tool that keeps its own name; undefined if no known server has it. */
  findOriginal(name: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the tool of a name; undefined if no known server has it. */
  find(name: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the tool of a URI. */
  at(uri: string, snapshot: Snapshot): Tool | undefined;
  /** Returns why the tools of the server of a reference are not known. */
  why(ref: string, snapshot: Snapshot): ToolError | undefined;
  /**
   * Lists the tools of servers that are not known yet: all, or those that a reference may belong to. Undefined if there
   * is nothing to wait for.
   */
  settle(snapshot: Snapshot, ref?: string): Promise<unknown> | undefined;
}
