// Names of queues, keys and channels of a fleet in Redis; all begin with `wield:{NAME}`, so that a cluster has them on one node (FLT-84).

/** The names of one fleet. */
export type FleetNames = ReturnType<typeof toNames>;

export type PeerKind = 'front' | 'worker';

/** The beginning of all names of a fleet. */
export function toPrefix(fleet: string): string {
  return `wield:{${fleet}}`;
}

export function toNames(fleet: string) {
  const prefix = toPrefix(fleet);
  const queue = (tag: string): string => (tag === '' ? 'calls' : `calls-${tag}`);
  const at =
    (kind: string) =>
    (name: string): string =>
      `${prefix}:${kind}:${name}`;
  return {
    /** Prefix of BullMQ's keys. */
    prefix,
    /** The queue of calls that need a worker with this tag; an empty one: any worker. */
    queue,
    /** BullMQ's key of a job. */
    job: (tag: string, job: string): string => `${prefix}:${queue(tag)}:${job}`,
    /** BullMQ's list of waiting jobs. */
    waiting: (tag: string): string => `${prefix}:${queue(tag)}:wait`,
    /** BullMQ's list of running jobs. */
    active: (tag: string): string => `${prefix}:${queue(tag)}:active`,
    /** What a keyed call does, and which front runs it. */
    call: at('call'),
    result: at('result'),
    /** Messages to a front. */
    replies: at('replies'),
    /** Exists while a front or worker is alive. */
    peer: at('peer'),
    /** All fronts or workers, by the time of their last sign of life. */
    peers: (kind: PeerKind): string => `${prefix}:peers:${kind}`,
    /** Tags that were used. */
    tags: `${prefix}:tags`,
    /** Counters of a minute. */
    stats: (minute: number): string => `${prefix}:stats:${minute}`,
    /** Workers that were lost. */
    lost: `${prefix}:lost`,
    /** Channel on which workers announce the calls with a key that they run. */
    started: `${prefix}:started`,
    /** Channel for orders to a worker. */
    channel: at('channel'),
  };
}
