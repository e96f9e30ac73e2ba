// The listing that all connections share, and notifications when it changes.

import type { Toolbox } from '../core/toolbox.js';
import { createListingReader, type Listing } from './listing.js';

export interface LiveListing {
  /** Reads the listing for a client. */
  read(): Promise<Listing>;
  /** Returns the listing for a call, from memory if there is one; starts no upstream server. */
  known(): Promise<Listing>;
  /** Reads the listing again, without starting upstream servers. */
  rereadKnown(): Promise<Listing>;
  /** Calls the listener when the listing has changed. */
  onChange(listener: () => void): void;
  close(): void;
}

export function createLiveListing(toolbox: Toolbox, onError?: (error: Error) => void): LiveListing {
  const readListing = createListingReader(toolbox);
  const rereadKnown = (): Promise<Listing> => readListing({ knownOnly: true });
  const listeners: (() => void)[] = [];
  // The listing that every client knows at least: one that lists first must not hide a change from the others.
  let announced: Listing | undefined;
  let newest: Listing | undefined;
  const unwatch = toolbox.catalog.watch(() => {
    // Before the first listing there is nothing to announce, and reading could start upstream servers needlessly.
    if (announced === undefined) {
      newest = undefined;
      return;
    }
    void readListing().then((listing) => {
      newest = listing;
      if (listing === announced) return;
      announced = listing;
      for (const listener of listeners) listener();
    }, onError);
  });
  return {
    async read() {
      newest = await readListing();
      announced ??= newest;
      return newest;
    },
    async known() {
      newest ??= await rereadKnown();
      return newest;
    },
    rereadKnown,
    onChange: (listener) => void listeners.push(listener),
    close: unwatch,
  };
}
