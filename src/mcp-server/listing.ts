// The tools of a toolbox as `tools/list` shows them: rebuilt only when one of them changed.

import { createTurns } from '../core/async.js';
import type { Caller } from '../core/caller.js';
import { orNothing } from '../core/error.js';
import { encodeNames } from '../core/name.js';
import { describeForModel, needsTrust, type Tool } from '../core/tool.js';
import type { DoorListOptions, Toolbox } from '../core/toolbox.js';
import { type AutoMode, CALL_TOOL } from '../core/view.js';
import { type ParamHeader, readParamHeaders } from '../net/param-headers.js';
import { type AppTools, collectAppTools } from './apps.js';
import { MODEL } from './identity.js';

export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string | undefined;
  readonly inputSchema: { readonly type: 'object'; readonly [keyword: string]: unknown };
  readonly outputSchema?: { readonly [keyword: string]: unknown };
  readonly annotations?: Readonly<Record<string, boolean | undefined>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface Listing {
  /** In the toolbox's order, which is the same on every machine. */
  readonly tools: readonly ListedTool[];
  /** With the tools for MCP Apps, for clients that show them. */
  readonly withApps: readonly ListedTool[];
  readonly appTools: AppTools;
  /** Maps protocol names to tool names. */
  readonly names: ReadonlyMap<string, string>;
  readonly outputs: ReadonlyMap<string, ListedTool['outputSchema']>;
  /** Protocol names of tools whose structured content may not be in their text. */
  readonly structured: ReadonlySet<string>;
  /** Parameters that requests repeat in headers, by protocol name. */
  readonly headers: ReadonlyMap<string, readonly ParamHeader[]>;
}

// The protocol's limit.
export const MAX_NAME_LENGTH = 128;

interface Built {
  readonly tools: readonly Tool[];
  readonly trusted: boolean;
  readonly listing: Listing;
}

export interface LiveListingOptions {
  readonly toolbox: Toolbox;
  readonly caller: Caller;
  /** What mode `auto` is; by default what it would be now. */
  readonly decided?: AutoMode | undefined;
  /** Begins to notice changes. */
  readonly watch?: () => void;
}

/** The tools that clients of a user are listed. Each reading returns the same object as long as nothing changed. */
export class LiveListing {
  /** What mode `auto` was at the last reading; undefined in other modes. */
  autoMode: AutoMode | undefined;
  /** The last listing, if there is one. */
  newest: Listing | undefined;
  readonly #options: LiveListingOptions;
  // What every client knows at least: one that lists first must not hide a change from the others.
  #announced: Listing | undefined;
  #last: Built | undefined;
  #building: Promise<unknown> = Promise.resolve();

  constructor(options: LiveListingOptions) {
    this.#options = options;
  }

  /** Reads the listing for a client. */
  async read(): Promise<Listing> {
    this.newest = await this.#read(false);
    this.#announced ??= this.newest;
    return this.newest;
  }

  /** Returns the listing for a call, from memory if there is one; starts no upstream server. */
  async known(): Promise<Listing> {
    this.#options.watch?.();
    this.newest ??= await this.rereadKnown();
    return this.newest;
  }

  /** Reads the listing again, without starting upstream servers and modules. */
  rereadKnown(): Promise<Listing> {
    return this.#read(true);
  }

  /** Reads the listing again; true if it is not the one that every client knows. */
  async hasChanged(): Promise<boolean> {
    // Before the first listing there is nothing to announce, and reading could start upstream servers needlessly.
    if (this.#announced === undefined) {
      this.newest = undefined;
      return false;
    }
    this.newest = await this.#read(false);
    if (this.newest === this.#announced) return false;
    this.#announced = this.newest;
    return true;
  }

  async #read(knownOnly: boolean): Promise<Listing> {
    const { toolbox, caller, decided } = this.#options;
    let mode: AutoMode | undefined;
    const options: DoorListOptions = {
      caller: { ...caller, apps: true },
      knownOnly,
      decideMode: (now) => (mode = decided ?? now),
    };
    const tools = await toolbox.list(options);
    this.autoMode = mode;
    const { trusted } = toolbox.workspace;
    const known = this.#find(tools, trusted);
    if (known !== undefined) return known;
    // One after another, so that no listing replaces a newer one.
    const built = this.#building.then(() => this.#build(tools, trusted));
    this.#building = built.catch(() => {});
    return built;
  }

  #find(tools: readonly Tool[], trusted: boolean): Listing | undefined {
    const last = this.#last;
    return last?.trusted === trusted && isSameList(last.tools, tools) ? last.listing : undefined;
  }

  async #build(tools: readonly Tool[], trusted: boolean): Promise<Listing> {
    const known = this.#find(tools, trusted);
    if (known !== undefined) return known;
    const next = await toListing(tools, trusted);
    const before = this.#last?.listing;
    // A file may have been read again without a change.
    const listing = before !== undefined && (await isEqual(before.withApps, next.withApps)) ? before : next;
    this.#last = { tools, trusted, listing };
    return listing;
  }
}

async function isEqual(before: readonly ListedTool[], now: readonly ListedTool[]): Promise<boolean> {
  if (before.length !== now.length) return false;
  const turn = createTurns();
  for (const [at, tool] of before.entries()) {
    if (JSON.stringify(tool) !== JSON.stringify(now[at])) return false;
    await turn();
  }
  return true;
}

/** Returns the tools as `tools/list` sends them. */
export async function listForClients(toolbox: Toolbox): Promise<readonly ListedTool[]> {
  return (await new LiveListing({ toolbox, caller: MODEL }).read()).tools;
}

function isSameList(before: readonly Tool[], now: readonly Tool[]): boolean {
  return before.length === now.length && before.every((tool, index) => tool === now[index]);
}

// In turns: large schemas are parsed here, and take long to look through.
async function toListing(tools: readonly Tool[], trusted: boolean): Promise<Listing> {
  const { encode, decode } = encodeNames(
    tools.map((tool) => tool.name),
    MAX_NAME_LENGTH,
  );
  const listed: ListedTool[] = [];
  const forApps = new Set<string>();
  const structured = new Set<string>();
  const headers = new Map<string, readonly ParamHeader[]>();
  const turn = createTurns();
  for (const tool of tools) {
    await turn();
    const name = encode.get(tool.name);
    if (name === undefined) continue;
    const declared = orNothing(() => readParamHeaders(tool.input.json));
    // Clients must not use a tool with an invalid declaration.
    if (declared === undefined) continue;
    if (declared.length > 0) headers.set(name, declared);
    listed.push(toListedTool(tool, name, trusted));
    if (tool.traits.app === true) forApps.add(name);
    if (tool.output !== undefined || tool.origin.owner === 'upstream' || tool.name === CALL_TOOL) structured.add(name);
  }
  return {
    tools: forApps.size === 0 ? listed : listed.filter(({ name }) => !forApps.has(name)),
    withApps: listed,
    appTools: collectAppTools(tools, ({ name }) => encode.get(name)),
    names: forApps.size === 0 ? decode : new Map([...decode].filter(([name]) => !forApps.has(name))),
    outputs: new Map(listed.map((tool) => [tool.name, tool.outputSchema])),
    structured,
    headers,
  };
}

function toListedTool(tool: Tool, name: string, trusted: boolean): ListedTool {
  const annotations = toAnnotations(tool);
  return {
    name,
    title: tool.origin.owner === 'upstream' ? (tool.traits.listed?.title as string | undefined) : tool.traits.title,
    description: describe(tool, trusted),
    inputSchema: { ...tool.input.json, type: 'object' },
    outputSchema: tool.output && { ...tool.output.json },
    ...toFields(tool.traits.listed),
    ...(tool.traits.taskOnly === true ? { execution: { taskSupport: 'required' } } : {}),
    annotations: Object.values(annotations).some((hint) => hint !== undefined) ? annotations : undefined,
    _meta: toMeta(tool, trusted),
  };
}

function toMeta(tool: Tool, trusted: boolean): ListedTool['_meta'] {
  const { server } = tool.origin;
  const isUntrusted = needsTrust(tool) && !trusted;
  if (server === null && !isUntrusted) return undefined;
  return {
    ...(tool.traits.listed?._meta as object | undefined),
    ...(server === null ? {} : { 'wield/server': server }),
    ...(isUntrusted ? { 'wield/untrusted': true } : {}),
  };
}

// Without those that are combined with others.
function toFields({ _meta, annotations, title, description, ...listed }: Readonly<Record<string, unknown>> = {}) {
  return listed;
}

// A server's own description, if it differs from the one that is shown elsewhere (UPS-107).
function describe(tool: Tool, trusted: boolean): string | undefined {
  const { description = tool.description } = (tool.traits.listed ?? {}) as { readonly description?: string };
  return describeForModel({ ...tool, description }, trusted) || undefined;
}

function toAnnotations({ traits }: Tool) {
  return {
    ...(traits.listed?.annotations as object | undefined),
    readOnlyHint: traits.readOnly,
    destructiveHint: traits.destructive,
    idempotentHint: traits.idempotent,
    openWorldHint: traits.openWorld,
  };
}
