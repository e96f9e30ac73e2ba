// What the server offers: the visible tools in the protocol's form, made again only when one of them changed.

import { UNTRUSTED } from '../adapters/shared/content.js';
import { encodeNames } from '../core/name.js';
import { needsTrust, type Tool } from '../core/tool.js';
import type { Caller, Toolbox } from '../core/toolbox.js';

/** A tool as `tools/list` shows it. */
export interface OfferedTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [keyword: string]: unknown };
  readonly outputSchema?: { readonly [keyword: string]: unknown };
  readonly annotations?: Readonly<Record<string, boolean>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface Offer {
  /** In the toolbox's order, the same on every machine. */
  readonly tools: readonly OfferedTool[];
  /** From the protocol's name back to the toolbox's. */
  readonly names: ReadonlyMap<string, string>;
  readonly outputs: ReadonlyMap<string, OfferedTool['outputSchema']>;
  /** Tools that answer with structured content that their text may not have. */
  readonly structured: ReadonlySet<string>;
}

// Rules know no names of clients, so every client is offered the same (POL-8).
export const MODEL: Caller = { kind: 'model', door: 'mcp' };
// The protocol's own limit on names.
const NAME_LIMIT = 128;

/** The offer of a toolbox as it is now, or as far as it is known; the same object while nothing changed. */
export function createOffer(toolbox: Toolbox): (options?: { readonly knownOnly: boolean }) => Promise<Offer> {
  let known: { tools: readonly Tool[]; trusted: boolean; offer: Offer } | undefined;
  return async ({ knownOnly } = { knownOnly: false }) => {
    const tools = await toolbox.list({ caller: MODEL, knownOnly });
    const { trusted } = toolbox;
    if (known !== undefined && known.trusted === trusted && isSameList(known.tools, tools))
      return known.offer;
    const made = toOffer(tools, trusted);
    // A file that was read again and says the same is no news.
    const offer = known !== undefined && isSameOffer(known.offer, made) ? known.offer : made;
    known = { tools, trusted, offer };
    return offer;
  };
}

function isSameList(before: readonly Tool[], now: readonly Tool[]): boolean {
  return before.length === now.length && before.every((tool, index) => tool === now[index]);
}

function isSameOffer(before: Offer, now: Offer): boolean {
  return JSON.stringify(before.tools) === JSON.stringify(now.tools);
}

function toOffer(tools: readonly Tool[], trusted: boolean): Offer {
  const { encode, decode } = encodeNames(
    tools.map((tool) => tool.name),
    NAME_LIMIT,
  );
  const offered: OfferedTool[] = [];
  const structured = new Set<string>();
  for (const tool of tools) {
    const name = encode.get(tool.name);
    if (name === undefined) continue;
    offered.push(toOffered(tool, name, trusted));
    if (tool.output !== undefined || tool.origin.owner === 'upstream') structured.add(name);
  }
  return {
    tools: offered,
    names: decode,
    outputs: new Map(offered.map((tool) => [tool.name, tool.outputSchema])),
    structured,
  };
}

function toOffered(tool: Tool, name: string, trusted: boolean): OfferedTool {
  const untrusted = needsTrust(tool) && !trusted;
  const annotations = toAnnotations(tool);
  return {
    name,
    ...(tool.traits.title === undefined ? {} : { title: tool.traits.title }),
    description: untrusted ? UNTRUSTED + tool.description : tool.description,
    inputSchema: { ...withoutDialect(tool.input.json), type: 'object' },
    ...(tool.output === undefined ? {} : { outputSchema: withoutDialect(tool.output.json) }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ...(untrusted ? { _meta: { 'wield/untrusted': true } } : {}),
  };
}

function withoutDialect({
  $schema: _,
  ...schema
}: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return schema;
}

function toAnnotations({ traits }: Tool): Record<string, boolean> {
  return {
    ...(traits.readOnly === undefined ? {} : { readOnlyHint: traits.readOnly }),
    ...(traits.destructive === undefined ? {} : { destructiveHint: traits.destructive }),
    ...(traits.idempotent === undefined ? {} : { idempotentHint: traits.idempotent }),
    ...(traits.openWorld === undefined ? {} : { openWorldHint: traits.openWorld }),
  };
}
