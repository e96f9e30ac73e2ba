// Names of queues, keys and channels of a fleet in Redis; all begin with `wield:` and the name of the fleet.

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
  /** Who may run a job: set once, by a worker that starts it or a front that withdraws it. */
  claim(job: string): string;
  /** What a keyed call does: its binding. */
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
  /** Channel for messages to a worker. */
  channel(worker: string): string;
}

export type PeerKind = 'front' | 'worker';

export function toNames(fleet: string): FleetNames {
  const prefix = `wield:${fleet}`;
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
    claim: at('claim'),
    call: at('call'),
    result: at('result'),
    replies: at('replies'),
    peer: at('peer'),
    peers: at('peers'),
    tags: `${prefix}:tags`,
    stats: (minute) => `${prefix}:stats:${minute}`,
    lost: `${prefix}:lost`,
    channel: at('channel'),
  };
}
