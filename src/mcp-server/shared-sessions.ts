// What the servers of a fleet share about their clients.

import type { Json } from '../core/json.js';

/** A session that nobody uses for this long ends. */
export const IDLE_MS = 60 * 60_000;

/** Sessions of the older protocol version, and what the newer one needs instead of them. */
export interface SharedSessions {
  /** Stores a session, also after a change. It expires if nobody uses it. */
  save(id: string, session: Json): Promise<void>;
  load(id: string): Promise<Json | undefined>;
  /** Removes a session, also from the memory of other servers. */
  remove(id: string): Promise<void>;
  /** Passes a message of a client on to the server that waits for it. */
  forward(id: string, message: Json): void;
  /** Calls the listener with messages of other servers; null: the session was removed. */
  onForward(listener: (id: string, message: Json) => void): void;
  /** Sign the state of questions, so that the answer can be given to any server: the first one signs, all are accepted. */
  stateKeys(): readonly string[];
  /** Returns true for the first server that takes this answer. */
  takeOnce(nonce: string): Promise<boolean>;
}
