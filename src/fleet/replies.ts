// Reads the messages of workers to a front: a stream in Redis, so that none is lost while the connection is.

import { pause } from '../core/async.js';
import { openMessage, type Reply } from './job.js';
import type { FleetLink } from './peer.js';

const WAIT_MS = 1000;
const BATCH = 500;
const PAUSE_MS = 50;

/** Returns a function that stops reading. */
export function readReplies(
  { redis, key, names, id: front, debug }: FleetLink,
  onReply: (jobId: string, reply: Reply) => void,
): () => void {
  const stream = names.replies(front);
  let last = '0';
  let isClosed = false;
  const read = async (): Promise<void> => {
    const found = await redis.xread('COUNT', BATCH, 'BLOCK', WAIT_MS, 'STREAMS', stream, last);
    for (const [, entries] of found ?? []) {
      for (const [id, [, jobId = '', , sealed = '']] of entries) {
        last = id;
        try {
          onReply(jobId, openMessage(key, 'reply', jobId, sealed));
        } catch (error) {
          debug(`fleet: a reply was ignored: ${(error as Error).message}`);
        }
      }
      await redis.xtrim(stream, 'MINID', last);
    }
  };
  const loop = async (): Promise<void> => {
    while (!isClosed) {
      try {
        await read();
      } catch (error) {
        if (!isClosed) debug(`fleet: ${(error as Error).message}`);
        // Someone replaced it by something else.
        if (/^WRONGTYPE/.test((error as Error).message)) await redis.del(stream).catch(() => {});
        await pause(PAUSE_MS);
      }
    }
  };
  void loop();
  return () => {
    isClosed = true;
  };
}
