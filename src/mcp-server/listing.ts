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

export interface ListingReader {
  /**
   * Reads the current listing; returns the same object as long as nothing changed. `knownOnly` uses what is known about
   * upstream servers and modules instead of starting them.
   */
  read(knownOnly?: boolean): Promise<Listing>;
  /** What mode `auto` was at the last reading; undefined in other modes. */
  autoMode(): AutoMode | undefined;
}

/** `decided`: what mode `auto` is; by default what it would be now. */
export function createListingReader(toolbox: Toolbox, caller: Caller, decided?: AutoMode): ListingReader {
  let autoMode: AutoMode | undefined;
  let last: { tools: readonly Tool[]; trusted: boolean; listing: Listing } | undefined;
  let building: Promise<unknown> = Promise.resolve();
  const find = (tools: readonly Tool[], trusted: boolean): Listing | undefined =>
    last !== undefined && last.trusted === trusted && isSameList(last.tools, tools) ? last.listing : undefined;
  const build = async (tools: readonly Tool[], trusted: boolean): Promise<Listing> => {
    const known = find(tools, trusted);
    if (known !== undefined) return known;
    const next = await toListing(tools, trusted);
    // A file may have been read again without a change.
    const same = last !== undefined && (await isEqual(last.listing.withApps, next.withApps));
    const listing = same ? last!.listing : next;
    last = { tools, trusted, listing };
    return listing;
  };
  const read = async (knownOnly = false): Promise<Listing> => {
    let mode: AutoMode | undefined;
    const options: DoorListOptions = {
      caller: { ...caller, apps: true },
      knownOnly,
      decideMode: (now) => (mode = decided ?? now),
    };
    const tools = await toolbox.list(options);
    autoMode = mode;
    const { trusted } = toolbox.workspace;
    const known = find(tools, trusted);
    if (known !== undefined) return known;
    // One after another, so that no listing replaces a newer one.
    const built = building.then(() => build(tools, trusted));
    building = built.catch(() => {});
    return built;
  };
  return { read, autoMode: () => autoMode };
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
  return (await createListingReader(toolbox, MODEL).read()).tools;
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
