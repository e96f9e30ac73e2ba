// Upstream servers: configuration entries, and tools as servers describe them.

import type { SandboxRequest, SandboxTable } from './sandbox.js';

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
  readonly position: ServerPosition;
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
export function mayStart({ owner, installed }: ServerEntry, snapshot: { readonly trusted: boolean }): boolean {
  return owner === 'user' || (owner === 'workspace' ? snapshot.trusted : installed?.accepted === true);
}

export const PROTOCOL_VERSIONS = ['2025-11-25', '2026-07-28'] as const;

export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number];

/** Where a server is configured. */
export interface ServerPosition {
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
  /** Whether sessions share its process; absent: unless it is known to hold state of its client (UPS-117). */
  readonly shared?: boolean;
  /** What the package that it runs must be (UPS-123). */
  readonly integrity?: string;
}

export interface HttpServer extends ServerBase {
  readonly kind: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly oauth?: OAuthSettings;
  /** The deprecated HTTP+SSE transport; absent: streamable HTTP (UPS-116). */
  readonly transport?: 'sse';
}

export const GRANTS = ['client_credentials', 'jwt_bearer', 'token_exchange', 'id_jag'] as const;

/** The fields of a client that are secrets. */
export const OAUTH_SECRETS: readonly string[] = ['clientSecret', 'privateKey', 'assertion', 'idp.clientSecret'];

/** How wield logs in to a server, if not by the defaults. */
export interface OAuthSettings {
  /** A manually registered client; required with a grant. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: string;
  /** The only login server that receives the credentials; required with a grant. */
  readonly issuer?: string;
  /** Logs in without a person (UPS-98). */
  readonly grant?: (typeof GRANTS)[number];
  /** `user`: every user of a server over HTTP has a login of their own (IDN-21). */
  readonly per?: 'user';
  /** Signs what the client proves its identity with, instead of a secret: PEM or JWK. */
  readonly privateKey?: string;
  /** The signed identity for `jwt_bearer`. */
  readonly assertion?: string;
  /** The identity provider that exchanges the token of the caller, for `token_exchange` and `id_jag` (IDN-27). */
  readonly idp?: ExchangeSettings;
}

/** A client at an identity provider that may exchange tokens of its users. */
export interface ExchangeSettings {
  /** The only one that gets the tokens, and only its own. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** What the tokens of callers are; access tokens by default. */
  readonly subject?: 'access_token' | 'id_token';
}
