// What a person sees of the broker and can do with it: its servers, why there is none, and ending it.

import type { ServerEntry } from '../../core/upstream.js';
import { type BrokerOptions, findAddress, findObstacle } from './address.js';
import { type Link, tryConnect } from './link.js';
import { isShared, type SharedState } from './plan.js';
import { removeChallenges } from './proof.js';
import { endBrokers } from './record.js';

/** Returns the processes that sessions share; undefined if the broker does not answer. Starts nothing. */
export async function listShared(options: BrokerOptions): Promise<readonly SharedState[] | undefined> {
  let link: Link | undefined;
  try {
    link = await tryConnect(findAddress(options));
    return link === undefined ? [] : ((await link.peer.request('status', {})) as readonly SharedState[]);
  } catch {
    return undefined;
  } finally {
    link?.peer.close();
  }
}

/** Returns why the broker that runs cannot be used; undefined if it can, or none runs. */
export async function findRefusal(options: BrokerOptions): Promise<string | undefined> {
  try {
    (await tryConnect(findAddress(options)))?.peer.close();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Returns why sessions do not share a server; undefined if they do. */
export function whyNotShared(
  server: ServerEntry,
  setting: boolean | undefined,
  options: BrokerOptions,
): string | undefined {
  if (server.kind !== 'stdio') return 'it is not a local process';
  if (server.shared === false) return 'its entry says "shared": false';
  if (!isShared(server)) return 'it keeps state of its client';
  return findObstacle(setting, options);
}

/** Ends all brokers of this user with their servers; returns how many there were. */
export async function stopBrokers(options: BrokerOptions): Promise<number> {
  const { directory } = findAddress(options);
  const ended = await endBrokers(directory);
  removeChallenges(directory);
  return ended;
}
