// Keeps the tool list of a connection current.

import type { Client } from '@modelcontextprotocol/client';
import { quoteOutside } from '../../core/text.js';
import type { Lane } from './lane.js';
import { fetchTools, type ToolListing } from './tool-list.js';
import { assertModernResult, type NegotiatedVersion } from './version.js';

export interface ToolWatch {
  listing(): ToolListing;
  /** Adds a listener for later changes. */
  onListing(listener: (listing: ToolListing) => void): void;
}

export interface WatchToolsOptions {
  readonly name: string;
  readonly negotiated: NegotiatedVersion;
  /** The protocol version of an earlier connection. */
  readonly knownVersion: NegotiatedVersion | undefined;
  readonly signal: AbortSignal;
  readonly debug: (message: string) => void;
  readonly redact: <T>(value: T) => T;
  readonly isOpen: () => boolean;
}

const LIST_TIMEOUT_MS = 10_000;
// Minimum interval between two lists, for servers that announce changes all the time.
const MIN_INTERVAL_MS = 500;

/** Lists the tools, then again on every change. Throws if the first list fails. */
export async function watchTools(client: Client, lane: Lane, options: WatchToolsOptions): Promise<ToolWatch> {
  const { name, signal, debug, redact, isOpen } = options;
  const isModern = options.negotiated.kind === 'modern';
  const capability = client.getServerCapabilities()?.tools;
  const list = async (until: AbortSignal): Promise<ToolListing> => {
    if (capability === undefined) return { tools: [], faults: [] };
    const found = await fetchTools(async (params) => {
      const result = await lane.request('tools/list', params, { signal: until });
      if (isModern && options.knownVersion !== undefined) assertModernResult(result);
      return result;
    });
    return redact(found);
  };
  let listing = await list(signal);

  const listeners = new Set<(listing: ToolListing) => void>();
  // One list at a time, and one more for changes that were announced meanwhile.
  let isListing = false;
  let isStale = false;
  const refresh = async (): Promise<void> => {
    isStale = true;
    if (isListing) return;
    isListing = true;
    while (isStale && isOpen()) {
      isStale = false;
      try {
        listing = await list(AbortSignal.timeout(LIST_TIMEOUT_MS));
        for (const listener of listeners) listener(listing);
      } catch (error) {
        debug(`${name}: could not list its changed tools: ${quoteOutside((error as Error).message, 200)}`);
      }
      await new Promise<void>((resolve) => {
        setTimeout(resolve, MIN_INTERVAL_MS).unref();
      });
    }
    isListing = false;
  };
  client.setNotificationHandler('notifications/tools/list_changed', refresh);
  if (isModern && capability?.listChanged === true) {
    client.listen({ toolsListChanged: true }).catch((error: Error) => {
      debug(`${name}: could not subscribe to changes: ${quoteOutside(error.message, 200)}`);
    });
  }
  return {
    listing: () => listing,
    onListing: (listener) => {
      listeners.add(listener);
    },
  };
}
