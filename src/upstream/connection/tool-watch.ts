// Keeps the tool list of a connection current.

import { promises as timers } from 'node:timers';
import { isRecord, type JsonObject } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { Client } from './client.js';
import { fetchListing, type ToolListing } from './fetch-listing.js';
import type { ConnectOptions } from './handshake.js';

export interface ToolWatch {
  listing(): ToolListing;
  /** Adds a listener for later changes. */
  onListing(listener: (listing: ToolListing) => void): void;
}

const LIST_TIMEOUT_MS = 10_000;
// Minimum interval between two lists, for servers that announce changes all the time.
const MIN_INTERVAL_MS = 500;

/** Lists the tools, then again on every change. Throws if the first list fails. */
export async function watchTools(
  client: Client,
  capabilities: JsonObject,
  { name, knownVersion, signal, debug, redact }: ConnectOptions,
): Promise<ToolWatch> {
  const list = async (until: AbortSignal): Promise<ToolListing> => {
    const found = await fetchListing(async (method, params) => {
      const result = await client.request(method, params, { signal: until });
      if (client.isModern && knownVersion !== undefined) assertModernResult(result);
      return result;
    }, capabilities);
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
    while (isStale && client.isOpen) {
      isStale = false;
      try {
        listing = await list(AbortSignal.timeout(LIST_TIMEOUT_MS));
        for (const listener of listeners) listener(listing);
      } catch (error) {
        debug(`${name}: could not list its changed tools: ${quoteOutside((error as Error).message, 200)}`);
      }
      await timers.setTimeout(MIN_INTERVAL_MS, undefined, { ref: false });
    }
    isListing = false;
  };
  for (const kind of ['tools', 'resources', 'prompts'])
    client.listeners.set(`notifications/${kind}/list_changed`, () => void refresh());
  const changes = {
    toolsListChanged: announces(capabilities.tools),
    resourcesListChanged: announces(capabilities.resources),
    promptsListChanged: announces(capabilities.prompts),
  };
  if (client.isModern && Object.values(changes).some((one) => one === true)) {
    client.subscribe(changes).catch((error: Error) => {
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

function announces(capability: unknown): true | undefined {
  return isRecord(capability) && capability.listChanged === true ? true : undefined;
}

// Some older servers answer without an `initialize`, but would never receive answers to their requests.
function assertModernResult(result: unknown): void {
  if (!isRecord(result) || typeof result.resultType !== 'string')
    throw new Error('the server uses an older protocol version than before');
}
