// Keeps the tool list of a connection current.

import { isRecord, type JsonObject, toJson } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { Client } from '../sdk.js';
import type { Lane } from './lane.js';
import { fetchListing, type ToolListing } from './tool-list.js';
import { assertModernResult, type NegotiatedVersion } from './version.js';

export interface ToolWatch {
  /** What the server can do, by protocol name. */
  readonly capabilities: JsonObject;
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
  const capabilities = toCapabilities(client);
  const list = async (until: AbortSignal): Promise<ToolListing> => {
    const found = await fetchListing(async (method, params) => {
      const result = await lane.request(method, params, { signal: until });
      if (isModern && options.knownVersion !== undefined) assertModernResult(result);
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
  client.setNotificationHandler('notifications/resources/list_changed', refresh);
  client.setNotificationHandler('notifications/prompts/list_changed', refresh);
  const changes = {
    toolsListChanged: announces(capabilities.tools),
    resourcesListChanged: announces(capabilities.resources),
    promptsListChanged: announces(capabilities.prompts),
  };
  if (isModern && Object.values(changes).some((one) => one === true)) {
    client.listen(changes).catch((error: Error) => {
      debug(`${name}: could not subscribe to changes: ${quoteOutside(error.message, 200)}`);
    });
  }
  return {
    capabilities,
    listing: () => listing,
    onListing: (listener) => {
      listeners.add(listener);
    },
  };
}

const CAPABILITY_BOUNDS = { maxDepth: 8, maxBytes: 16 * 1024 };

function toCapabilities(client: Client): JsonObject {
  try {
    return toJson(client.getServerCapabilities() ?? {}, CAPABILITY_BOUNDS) as JsonObject;
  } catch {
    return { tools: {} };
  }
}

function announces(capability: unknown): true | undefined {
  return isRecord(capability) && capability.listChanged === true ? true : undefined;
}
