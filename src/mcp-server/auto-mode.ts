// What mode `auto` is for a session: decided by its first list of tools, and kept (SRV-100).

import type { AutoMode } from '../core/view.js';
import type { Client } from './request.js';
import { IDLE_MS, type SharedSessions } from './shared-sessions.js';

type ListingClient = Pick<Client, 'session' | 'sessionEnd'> & { autoMode?: Client['autoMode'] };

export type AutoModes = ReturnType<typeof createAutoModes>;

// Of users without sessions; that which did not list for longest is decided again.
const MAX_USERS = 1000;

export function createAutoModes(shared: SharedSessions | undefined) {
  // Without sessions, the clients of a user share one until none of them has listed for as long as a session is kept.
  const users = new Map<string, { readonly mode: AutoMode; readonly at: number }>();
  const remember = (user: string, mode: AutoMode): AutoMode => {
    users.delete(user);
    users.set(user, { mode, at: performance.now() });
    if (users.size > MAX_USERS) users.delete(users.keys().next().value!);
    return mode;
  };
  const idOf = ({ session }: Client): string => `mode of ${session}`;
  const of = (client: ListingClient): AutoMode | undefined => {
    if (client.sessionEnd !== 'none') return client.autoMode;
    const known = users.get(client.session);
    return known !== undefined && performance.now() - known.at < IDLE_MS ? known.mode : undefined;
  };
  return {
    /** Returns the mode of a client, if it was decided here. */
    of,
    /** Returns the mode of a client that lists tools, also if another server of the fleet decided it. */
    async find(client: Client): Promise<AutoMode | undefined> {
      if (client.sessionEnd !== 'none') return client.autoMode;
      const mode = shared === undefined ? of(client) : await shared.load(idOf(client)).catch(() => undefined);
      return mode === 'all' || mode === 'search' ? remember(client.session, mode) : undefined;
    },
    /** Decides. */
    async keep(client: Client, mode: AutoMode): Promise<void> {
      client.autoMode = mode;
      if (client.sessionEnd !== 'none') return;
      remember(client.session, mode);
      await shared?.save(idOf(client), mode).catch(() => {});
    },
  };
}
