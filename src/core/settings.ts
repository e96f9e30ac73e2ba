// Settings from the configuration, with defaults.

import type { Allowance, AllowedServer } from './allowance.js';
import type { HttpSettings } from './http.js';
import { memoize } from './memoize.js';
import type { MiddlewareSettings } from './middleware-settings.js';
import type { ToolFilter } from './origin.js';

import { NO_SANDBOXES, type SandboxSettings } from './sandbox.js';
import { DEFAULT_PATHS, type PathEntry } from './search-path.js';
import type { ServerEntry } from './upstream.js';
import { type View, WHOLE_VIEW } from './view.js';

export interface Settings {
  /** Whether input is repaired (RUN-4). */
  readonly repair: boolean;
  readonly limits: {
    readonly timeoutMs: number;
    /** Set if a file sets the timeout: then a script's own `@timeout` cannot exceed it. */
    readonly timeoutCeilingMs?: number;
    readonly outputBytes: number;
    readonly memoryBytes?: number;
    readonly cpuSeconds?: number;
    readonly openFiles?: number;
    readonly processes?: number;
    /** Maximum number of concurrent calls (RUN-8). */
    readonly concurrent: number;
    readonly concurrentPerTool: number;
    readonly concurrentPerGroup: number;
    /** Maximum number of queued calls. */
    readonly queue: number;
    /** How many calls one caller may begin in a minute (FLT-74). */
    readonly callsPerMinute?: number;
    /** Processes of one session in the background at the same time (BGR-6). */
    readonly background: number;
    /** How long a listing waits for servers that were never listed (UPS-108). */
    readonly listingMs: number;
  };
  /** Results too large to return inline (CTX-1). */
  readonly results: {
    /** Maximum length of an inline result in characters. */
    readonly inline: number;
    /** How long a result is stored after it was last read. */
    readonly keepMs: number;
    readonly totalBytes: number;
    /** Whether models see output schemas; clients then need the whole structured content of a large result (CTX-9). */
    readonly schemas: boolean;
    /** Whether models get uniform JSON as tables where nothing is lost by it (CTX-52). */
    readonly encode: ResultEncoding;
    /** Clients whose programs read texts, by name or beginning and `*`: they get JSON. */
    readonly plainClients: readonly string[];
  };
  /** Limits of programs (COD-3). */
  readonly code: CodeLimits;
  readonly skills: {
    /** Whether scripts of skills run: never, only in a trusted workspace, or always (TJS-16). */
    readonly allowScripts: 'never' | 'trusted' | 'always';
    /** How skills are presented to a model: their full text, or a line each and a tool that reads one (SKL-2). */
    readonly contextMode: 'full' | 'readOnDemand';
  };
  readonly env: {
    /** Variables passed from wield's environment: exact names, or a prefix and `*`. */
    readonly pass: readonly string[];
    /** Variables by name, and references to their values (SEC-5). */
    readonly from: Readonly<Record<string, string>>;
  };
  /** Which tools a model is shown, and how. */
  readonly view: View;
  /** Settings per tool. */
  readonly tools: ReadonlyMap<string, ToolSettings>;
  readonly audit: {
    /** Whether redacted inputs and outputs are recorded (OBS-1). */
    readonly contents: boolean;
    /** Whether a call that cannot be recorded is refused, whatever its verdict. */
    readonly required: boolean;
    readonly rotateBytes: number;
    /** Number of full log files to keep. */
    readonly keep: number;
    /** Where its lines are sent (OBS-11). */
    readonly sinks: readonly SinkSettings[];
  };
  readonly metrics: {
    /** Whether calls are counted by user too. */
    readonly users: boolean;
  };
  /** Built-in tools offered to models, by name or group (SRV-14). */
  readonly offer: readonly string[];
  /** Directories that the `workdir` tool may move to; empty: the workdir it started in. */
  readonly roots: readonly string[];
  /** Agent directories that installed items are linked into; empty: `~/.claude`. */
  readonly homes: readonly string[];
  /** The search path (RES-6). */
  readonly paths: readonly PathEntry[];
  /** Middleware, outermost first (RUN-9). */
  readonly middleware: readonly MiddlewareSettings[];
  /** Sandbox profiles, and the tools that run in them (EXE-10). */
  readonly sandbox: SandboxSettings;
  /** Documents of HTTP operations, by name (OAS-6). */
  readonly openapi: ReadonlyMap<string, HttpSettings>;
  /** Files of tasks to offer, and which of their tasks (TSK-1). */
  readonly tasks: TaskSettings;
  /** Upstream servers of the configuration, each name once (UPS-1). */
  readonly servers: readonly ServerEntry[];
  /** Names of disabled servers. */
  readonly disabledServers: readonly string[];
  /** Servers that may be used; all without a list (POL-41). */
  readonly allowedServers: readonly Allowance<AllowedServer>[];
  /** Whether sessions share processes of servers; undefined: not in containers and CI (UPS-117). */
  readonly broker?: boolean | undefined;
  /** A file or directory of advisories about packages of servers (UPS-124). */
  readonly advisories?: string;
  /** Sources that may be installed from; all without a list (POL-42). */
  readonly allowedSources: readonly Allowance<string>[];
  /** Who must have signed sources: OpenPGP fingerprints, SSH public keys, and files of them (INS-93). */
  readonly sourceSigners: readonly Allowance<string>[];
  /** The model that wield may use itself (SDK-7). */
  readonly model?: ModelSettings;
  /** How requests leave this machine (NET-1). */
  readonly net: NetSettings;
  /** Who may use a server over HTTP (IDN-1). */
  readonly serve: ServeSettings;
  /** Who approves calls, and who is told of them (IDN-9). */
  readonly approvals: ApprovalSettings;
}

/** The proxy of the network, and whom its certificates are from. */
export interface NetSettings {
  /** The address of the proxy, without a user. */
  readonly proxy?: string;
  /** A reference to `user:password`. */
  readonly proxyAuth?: string;
  /** Hosts that are reached without it: names, `*.corp`, addresses and ranges. */
  readonly noProxy: readonly string[];
  /** A file of certificate authorities, besides those of Node. */
  readonly ca?: string;
}

/** A receiver of the audit log: one of `file`, `url`, `syslog` and `otlp`. */
export interface SinkSettings {
  readonly file?: string | undefined;
  readonly url?: string | undefined;
  /** `unix:/dev/log`, `tcp://host:port` or `udp://host:port`. */
  readonly syslog?: string | undefined;
  /** OpenTelemetry logs, to the address in `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly otlp?: true | undefined;
  /** A reference to the bearer token of `url`. */
  readonly secret?: string | undefined;
  /** What happens if it is not reached for so long that the log would lose lines: `drop`, the default, or `block` calls. */
  readonly full?: 'drop' | 'block' | undefined;
}

/** Who approves calls of models. */
export interface ApprovalSettings {
  /** `user:NAME` and `group:NAME`; empty: everyone approves the calls of their own client. */
  readonly approvers: readonly string[];
  /** Whether nobody approves their own calls. */
  readonly fourEyes: boolean;
  /** What is told of calls that wait. */
  readonly notify?: NotifySettings;
}

/** The receiver of messages about waiting calls: a command, or an address. */
export interface NotifySettings {
  readonly command?: readonly string[] | undefined;
  readonly url?: string | undefined;
  /** A reference to the key of signatures: `${VARIABLE}` or `file:~/path`. */
  readonly secret?: string | undefined;
}

/** Who may use a server over HTTP. */
export interface ServeSettings {
  /** Identity providers whose tokens are accepted. */
  readonly auth: readonly IssuerSettings[];
  /** Tokens that have a name, in files. */
  readonly tokens: readonly NamedToken[];
  /** Addresses and ranges of proxies whose headers say who the client is (IDN-14). */
  readonly trustedProxies: readonly string[];
}

/** An identity provider. */
export interface IssuerSettings {
  readonly issuer: string;
  /** What tokens must be made for; by default the public address of the server. */
  readonly audience: string | undefined;
  /** The claim that names the user. */
  readonly userClaim: string;
  /** The client of this server there, with which people log in on its pages (IDN-26). */
  readonly clientId?: string | undefined;
  readonly groupsClaim: string;
  /** All of them are required. */
  readonly scopes: readonly string[];
  /** How opaque tokens are checked (RFC 7662); without it they are refused. */
  readonly introspection?: IntrospectionSettings | undefined;
}

/** The client that asks an identity provider about tokens. */
export interface IntrospectionSettings {
  readonly clientId: string;
  /** A reference: `${VARIABLE}` or `file:~/path`. */
  readonly clientSecret: string;
  /** By default that of the provider's metadata. */
  readonly url?: string | undefined;
}

/** A bearer token of a user without an identity provider. */
export interface NamedToken {
  readonly user: string;
  /** Absolute, or from the home. */
  readonly file: string;
  readonly groups: readonly string[];
  /** The profile that limits what the user sees and calls (IDN-12). */
  readonly profile?: string | undefined;
}

/** Files of tasks whose tasks are tools. */
export interface TaskSettings extends ToolFilter {
  /** Paths of the files, relative to the workdir. */
  readonly from: readonly string[];
}

/** Limits of one program. */
export interface CodeLimits {
  /** Calls of tools, and reads of large results. */
  readonly calls: number;
  /** Calls at the same time. */
  readonly parallel: number;
  /** Its own processor time, without its calls. */
  readonly cpuMs: number;
  readonly memoryBytes: number;
  /** From start to end, without waiting for approvals. */
  readonly timeoutMs: number;
}

export interface ModelSettings {
  readonly provider: 'anthropic' | 'openai' | 'ollama';
  readonly name: string;
  /** Base URL; the provider's by default. */
  readonly url?: string;
  /** The environment variable with the key. */
  readonly keyVariable?: string;
}

export interface ToolSettings {
  /** Instead of `results.encode`. */
  readonly encode?: ResultEncoding;
  /** Set by the user; overrides everything else. */
  readonly timeoutMs?: number;
  /** Set by the project; can only lower the limit. */
  readonly timeoutCeilingMs?: number;
  readonly pass?: readonly string[];
  /** As in `env`. */
  readonly from?: Readonly<Record<string, string>>;
  /** The tag of the workers that it runs on (FLT-7). */
  readonly runOn?: string;
}

/** Returns the variables of a tool whose values the configuration refers to (SEC-5), with the references as values. */
export function referencesOf(
  { name }: { readonly name: string },
  { env, tools }: Settings,
): Readonly<Record<string, string>> {
  return { ...env.from, ...tools.get(name)?.from };
}

/** `auto`: as tables, if nothing is lost and it is at least 15 % shorter. */
export type ResultEncoding = 'auto' | 'off';

// Libraries, inspectors and programs, by the names that they send. Agents send others: claude-code, claude-ai, cursor-vscode,
// Visual Studio Code, codex-mcp-client, gemini-cli-mcp-client, windsurf-client, Zed, Cline, goose.
const PLAIN_CLIENTS = [
  'mcp',
  'mcporter',
  'mcp-inspector',
  'inspector-client',
  'inspector-cli',
  'fastmcp*',
  'mcp-cli*',
  'Postman-Client',
  'make-app-mcp-client',
  '@n8n/n8n-nodes-langchain.mcpClient',
];

export const DEFAULT_SETTINGS: Settings = {
  repair: true,
  limits: {
    timeoutMs: 5 * 60_000,
    outputBytes: 16 * 1024 * 1024,
    concurrent: 64,
    concurrentPerTool: 64,
    concurrentPerGroup: 64,
    queue: 1000,
    background: 8,
    // The default start timeout of a server.
    listingMs: 30_000,
  },
  results: {
    inline: 10_000,
    keepMs: 72 * 3_600_000,
    totalBytes: 1024 ** 3,
    schemas: true,
    encode: 'off',
    plainClients: PLAIN_CLIENTS,
  },
  code: { calls: 50, parallel: 8, cpuMs: 5000, memoryBytes: 64 * 1024 * 1024, timeoutMs: 10 * 60_000 },
  skills: { allowScripts: 'never', contextMode: 'readOnDemand' },
  env: { pass: [], from: {} },
  view: WHOLE_VIEW,
  tools: new Map(),
  audit: { contents: false, required: false, rotateBytes: 10 * 1024 * 1024, keep: 5, sinks: [] },
  metrics: { users: false },
  offer: [],
  roots: [],
  homes: [],
  paths: DEFAULT_PATHS,
  middleware: [],
  sandbox: NO_SANDBOXES,
  openapi: new Map(),
  tasks: { from: [] },
  servers: [],
  disabledServers: [],
  allowedServers: [],
  allowedSources: [],
  sourceSigners: [],
  net: { noProxy: [] },
  serve: { auth: [], tokens: [], trustedProxies: [] },
  approvals: { approvers: [], fourEyes: false },
};

/** The part of the settings that a tool may see: limits, no secrets. */
export interface ToolConfig {
  /** The effective limits of calls. */
  readonly limits: Settings['limits'];
  /** Directories that the workdir may be changed to. */
  readonly roots: readonly string[];
}

// Settings are the same object until a file changes, and every call needs this.
export const toToolConfig = memoize(
  ({ limits, roots }: Settings): ToolConfig =>
    Object.freeze({ limits: Object.freeze({ ...limits }), roots: Object.freeze([...roots]) }),
);
