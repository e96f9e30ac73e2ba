// The Settings that the configuration gives, with the defaults for everything it leaves out.

import type { MiddlewareSettings } from './middleware.js';
import { DEFAULT_PATHS, type PathEntry } from './search-path.js';
import type { ServerEntry } from './upstream.js';

export interface Settings {
  /** Whether input is repaired (RUN-4). */
  readonly repair: boolean;
  readonly limits: {
    readonly timeoutMs: number;
    /** Set where a file says it: then no script's own `@timeout` goes beyond. */
    readonly timeoutCeilingMs?: number;
    readonly outputBytes: number;
    readonly memoryBytes?: number;
    readonly cpuSeconds?: number;
    readonly openFiles?: number;
    readonly processes?: number;
    /** Calls that run at once, in all (RUN-8). */
    readonly concurrent: number;
    readonly concurrentPerTool: number;
    readonly concurrentPerGroup: number;
    /** Calls that may wait for their turn. */
    readonly queue: number;
  };
  /** Results too large to be shown (CTX-1). */
  readonly results: {
    /** Characters that are shown as they are. */
    readonly inline: number;
    /** How long one is kept after it was last read. */
    readonly keepMs: number;
    readonly totalBytes: number;
  };
  readonly skills: {
    /** Whether scripts of skills run: never, only those of a trusted workspace, or always (TJS-16). */
    readonly allowScripts: 'never' | 'trusted' | 'always';
    /** How a model learns of skills: their whole text, or a line each and a tool that reads one (SKL-2). */
    readonly contextMode: 'full' | 'readOnDemand';
  };
  readonly env: {
    /** Variables passed on from wield's own environment: exact names, or a prefix and `*`. */
    readonly pass: readonly string[];
  };
  /** Settings for single tools. */
  readonly tools: ReadonlyMap<string, ToolSettings>;
  readonly audit: {
    /** Whether inputs and outputs are recorded, secrets taken out (OBS-1). */
    readonly contents: boolean;
    /** Whether a call that cannot be recorded is refused, whatever its verdict. */
    readonly required: boolean;
    readonly rotateBytes: number;
    /** How many full files are kept. */
    readonly keep: number;
  };
  /** Built-in tools that are offered to models, by name or group (SRV-14). */
  readonly offer: readonly string[];
  /** Directories that the `workdir` tool may move to; empty: the workdir it started in. */
  readonly roots: readonly string[];
  /** Directories of agents that installed items are linked into; empty: `~/.claude`. */
  readonly homes: readonly string[];
  /** The search path (RES-6). */
  readonly paths: readonly PathEntry[];
  /** What runs are wrapped in, the first outermost (RUN-9). */
  readonly middleware: readonly MiddlewareSettings[];
  /** Upstream servers of the configuration, each name once (UPS-1). */
  readonly servers: readonly ServerEntry[];
  /** Names of servers that are not used, whichever file names them. */
  readonly disabledServers: readonly string[];
  /** The model that wield itself may ask; absent: none (SDK-7). */
  readonly model?: ModelSettings;
}

export interface ModelSettings {
  readonly provider: 'anthropic' | 'openai' | 'ollama';
  readonly name: string;
  /** Where it is reached; the provider's own address where left out. */
  readonly url?: string;
  /** The variable that holds the key: the key itself stands in no file. */
  readonly keyVariable?: string;
}

export interface ToolSettings {
  /** What the user says, over everything else. */
  readonly timeoutMs?: number;
  /** What the project says: it can only shorten. */
  readonly timeoutCeilingMs?: number;
  readonly pass?: readonly string[];
}

export const DEFAULT_SETTINGS: Settings = {
  repair: true,
  limits: {
    timeoutMs: 5 * 60_000,
    outputBytes: 16 * 1024 * 1024,
    concurrent: 64,
    concurrentPerTool: 64,
    concurrentPerGroup: 64,
    queue: 1000,
  },
  results: { inline: 10_000, keepMs: 72 * 3_600_000, totalBytes: 1024 ** 3 },
  skills: { allowScripts: 'never', contextMode: 'readOnDemand' },
  env: { pass: [] },
  tools: new Map(),
  audit: { contents: false, required: false, rotateBytes: 10 * 1024 * 1024, keep: 5 },
  offer: [],
  roots: [],
  homes: [],
  paths: DEFAULT_PATHS,
  middleware: [],
  servers: [],
  disabledServers: [],
};

/** What a tool may know of the settings: bounds that it can keep to, and nothing that is a secret. */
export interface ToolConfig {
  readonly limits: Settings['limits'];
  /** Directories that the workdir may move to. */
  readonly roots: readonly string[];
}

// Settings stay one object until a file changes, and every call asks.
const configs = new WeakMap<Settings, ToolConfig>();

export function toToolConfig(settings: Settings): ToolConfig {
  let config = configs.get(settings);
  if (config === undefined) {
    const { limits, roots } = settings;
    config = Object.freeze({ limits: Object.freeze({ ...limits }), roots: Object.freeze([...roots]) });
    configs.set(settings, config);
  }
  return config;
}
