// Lists resources and prompts for a caller, and finds the tools that read and make them.

import { readSettled } from '../catalog/catalog.js';
import { type Caller, CODE } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import type { OfferSource } from '../core/format.js';
import { parsePublicUri } from '../core/resource.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { DoorOptions, OfferListOptions } from '../core/toolbox.js';
import { findDenial } from '../policy/decide.js';
import { toRules } from '../policy/rules.js';
import type { CallParts } from './parts.js';

type Kind = NonNullable<DoorOptions['as']>;

/** Lists the resources or prompts that a caller may know of, each id once, in the order of their sources. */
export async function listOffers<T extends { readonly tool: Tool }>(
  { catalog }: Pick<CallParts, 'catalog'>,
  snapshot: Snapshot,
  { caller = CODE, knownOnly = false, denied = false }: OfferListOptions,
  { read, idOf }: { read(source: OfferSource): Promise<readonly T[]>; idOf(offer: T): string },
): Promise<readonly T[]> {
  const readAll = () => Promise.all(catalog.offers().map(read));
  // A reference that no server can have: modules are loaded, and servers are not started.
  const all = await readSettled(catalog, snapshot, readAll, knownOnly ? '' : undefined);
  const byId = new Map<string, T>();
  for (const offer of all.flat()) {
    const isDenied = !denied && findDenial(offer.tool, caller, toRules(snapshot)) !== undefined;
    if (!isDenied && !byId.has(idOf(offer))) byId.set(idOf(offer), offer);
  }
  return [...byId.values()];
}

/** Finds the tool of a resource, prompt or completion. Throws `not_found`. */
export async function findOffer(
  { catalog, executors }: Pick<CallParts, 'catalog' | 'executors'>,
  as: Kind,
  ref: string,
  snapshot: Snapshot,
): Promise<Tool> {
  const find = (): Tool => {
    for (const source of catalog.offers()) {
      const tool = findIn(source, as, ref, snapshot);
      if (tool !== undefined) return executors.withDigest(tool);
    }
    const what = as === 'resource' || as === 'subscription' ? 'resource' : 'prompt';
    throw new ToolError('not_found', `${what} not found: ${quoteOutside(ref, 200)}`, {
      hint: `list the ${what}s again`,
    });
  };
  const server = as === 'prompt' ? undefined : parsePublicUri(ref)?.server;
  return readSettled(catalog, snapshot, find, server === undefined ? ref : `mcp://${encodeURIComponent(server)}/`);
}

function findIn(source: OfferSource, as: Kind, ref: string, snapshot: Snapshot): Tool | undefined {
  if (as === 'prompt') return source.findPrompt(ref, snapshot);
  if (as === 'completion') return source.findCompletion?.(ref, snapshot);
  const find = as === 'subscription' ? (source.findSubscription ?? source.findResource) : source.findResource;
  return find(ref, snapshot);
}

/** Follows a resource until the returned function is called; a caller that may not know of it any more hears nothing. */
export async function followResource(
  { workspace, catalog }: Pick<CallParts, 'workspace' | 'catalog'>,
  uri: string,
  caller: Caller = CODE,
  onUpdate: () => void,
): Promise<() => void> {
  const snapshot = () => workspace.snapshot(caller);
  const source = catalog.offers().find((one) => one.findResource(uri, snapshot()) !== undefined);
  const tell = (): void => {
    const now = snapshot();
    const tool = source?.findResource(uri, now);
    if (tool !== undefined && findDenial(tool, caller, toRules(now)) === undefined) onUpdate();
  };
  return source?.follow?.(uri, snapshot, tell, caller.protocol) ?? (() => {});
}
