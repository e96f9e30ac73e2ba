// What fronts and workers have in common: their options, their connection and their ids.

import type { Redis } from 'ioredis';
import { loadCrypto } from '../files/digest.js';
import type { FleetAddress } from './connection.js';
import type { FleetKey } from './key.js';
import type { FleetNames } from './names.js';

export interface FleetOptions {
  readonly address: FleetAddress;
  readonly key: FleetKey;
  /** The name of this machine. */
  readonly host: string;
  /** The version of wield. */
  readonly version: string;
  readonly monotonic: () => number;
  readonly debug: (message: string) => void;
}

/** The connection of a front or worker, and what it needs to use it. */
export interface FleetLink {
  readonly redis: Redis;
  readonly key: FleetKey;
  readonly names: FleetNames;
  readonly debug: (message: string) => void;
  /** The id of the front or worker: `worker-3f2a91c0`. */
  readonly id: string;
}

export function newId(): string {
  return loadCrypto().randomBytes(16).toString('hex');
}
