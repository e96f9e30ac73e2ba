// Names of queues, keys and channels of a fleet in Redis; all begin with `wield:{NAME}`, so that a cluster has them on one node (FLT-84).

export interface FleetNames {
  /** Prefix of BullMQ's keys. */
  readonly prefix: string;
  /** The queue of calls that need a worker with this tag; an empty one: any worker. */
  queue(tag: string): string;
  /** BullMQ's key of a job. */
  job(tag: string, job: string): string;
  /** BullMQ's list of waiting jobs. */
  waiting(tag: string): string;
  /** BullMQ's list of running jobs. */
  active(tag: string): string;
  /** What a keyed call does, and which front runs it. */
  call(id: string): string;
  result(id: string): string;
  /** Messages to a front. */
  replies(front: string): string;
  /** Exists while a front or worker is alive. */
  peer(peer: string): string;
  /** All fronts or workers, by the time of their last sign of life. */
  peers(kind: PeerKind): string;
  /** Tags that were used. */
  readonly tags: string;
  /** Counters of a minute. */
  stats(minute: number): string;
  /** Workers that were lost. */
  readonly lost: string;
  /** Channel on which workers announce the calls with a key that they run. */
  readonly started: string;
  /** Channel for orders to a worker. */
  channel(worker: string): string;
}

export type PeerKind = 'front' | 'worker';

/** The beginning of all names of a fleet. */
export function toPrefix(fleet: string): string {
  return `wield:{${fleet}}`;
}

export function toNames(fleet: string): FleetNames {
  const prefix = toPrefix(fleet);
  const queue = (tag: string): string => (tag === '' ? 'calls' : `calls-${tag}`);
  const at =
    (kind: string) =>
    (name: string): string =>
      `${prefix}:${kind}:${name}`;
  return {
    prefix,
    queue,
    job: (tag, job) => `${prefix}:${queue(tag)}:${job}`,
    waiting: (tag) => `${prefix}:${queue(tag)}:wait`,
    active: (tag) => `${prefix}:${queue(tag)}:active`,
    call: at('call'),
    result: at('result'),
    replies: at('replies'),
    peer: at('peer'),
    peers: at('peers'),
    tags: `${prefix}:tags`,
    stats: (minute) => `${prefix}:stats:${minute}`,
    lost: `${prefix}:lost`,
    started: `${prefix}:started`,
    channel: at('channel'),
  };
}
