// Sends the audit log to the sinks of the configuration. The log itself is the queue: each sink has a position in it (OBS-11).

import { type LogPosition, readPiece } from '../audit/follow.js';
import { listFiles } from '../audit/log.js';
import { describeSink, findSlowest, MAX_RETRY_MS, readPosition, sinkPath, untilRetry } from '../audit/positions.js';
import { inBackground } from '../core/async.js';
import { isToolError, ToolError } from '../core/error.js';
import type { Recorder } from '../core/event.js';
import type { Settings, SinkSettings } from '../core/settings.js';
import type { Snapshot } from '../core/snapshot.js';
import { settlesWithin } from '../core/time-limit.js';
import { withLock } from '../files/lock.js';
import { writeFileAtomic } from '../files/write.js';
import { deliveryReason } from '../net/fault.js';
import type { PostOptions } from './post.js';

export interface ShipperOptions extends PostOptions {
  /** The directory of the log. */
  readonly directory: string;
  /** A function, because the configuration can change. */
  readonly settings: () => Settings['audit'];
  /** Receives what could not be sent. */
  readonly warn: (message: string) => void;
}

const WAKE_MS = 200;
const CLOSE_MS = 5000;
const FIRST_RETRY_MS = 1000;

/** Returns a recorder whose lines are sent on. */
export function createShippingRecorder(recorder: Recorder, options: ShipperOptions): Recorder {
  const { directory, settings, world, warn } = options;
  const ending = new AbortController();
  const running = new Map<string, Promise<void>>();
  const warned = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const warnOnce = (message: string): void => {
    if (!warned.has(message)) warn(message);
    warned.add(message);
  };
  const save = (sink: SinkSettings, position: LogPosition, failures: number): void => {
    const wait = failures === 0 ? 0 : Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
    const saved = { version: 1, ...position, failures, retryAt: failures === 0 ? 0 : world.now() + wait };
    writeFileAtomic(`${sinkPath(directory, sink)}.json`, JSON.stringify(saved), { durable: false });
  };

  // Lines are sent again if this process is killed before it saved the position: each is sent at least once.
  const sendAll = async (sink: SinkSettings): Promise<void> => {
    // Few processes have sinks.
    const { sendLines } = await import('./audit-transports.js');
    for (;;) {
      if (untilRetry(directory, sink, world.now()) > 0) return;
      const saved = readPosition(directory, sink);
      const piece = readPiece(directory, saved);
      if (piece === undefined || ending.signal.aborted) return;
      if (piece.lost)
        warnOnce(`lines of the audit log were removed before they were sent to ${describeSink(sink)}; see audit.keep`);
      try {
        if (piece.lines.length > 0) await sendLines(sink, piece.lines, { ...options, signal: ending.signal });
      } catch (error) {
        const reason = deliveryReason(error);
        if (!isToolError(error) || error.data?.rejected === undefined) {
          warnOnce(`the audit log could not be sent to ${describeSink(sink)}, and is sent later: ${reason}`);
          save(sink, saved ?? { file: piece.next.file, offset: 0 }, (saved?.failures ?? 0) + 1);
          return;
        }
        // As the protocol says, it would reject them again.
        warnOnce(`${describeSink(sink)} took the audit log, and not all lines of it: ${reason}`);
      }
      save(sink, piece.next, 0);
    }
  };
  const ship = (sink: SinkSettings): Promise<void> => {
    const key = sinkPath(directory, sink);
    const now =
      running.get(key) ??
      withLock(`${key}.lock`, { doing: 'sending the audit log', signal: ending.signal }, () => sendAll(sink)).finally(
        () => running.delete(key),
      );
    running.set(key, now);
    return now;
  };
  const wakeIn = (milliseconds: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      inBackground(shipAll(), world.debug);
    }, milliseconds).unref();
  };
  const shipAll = async (): Promise<void> => {
    const { sinks } = settings();
    await Promise.all(sinks.map(ship));
    const failed = sinks.filter((sink) => (readPosition(directory, sink)?.failures ?? 0) > 0);
    const waits = failed.map((sink) => untilRetry(directory, sink, world.now()));
    if (waits.length > 0 && !ending.signal.aborted) wakeIn(Math.max(WAKE_MS, Math.min(...waits)));
  };

  // Calls wait while the log has more files than it keeps, because a sink that must get them has not.
  const assertTaken = ({ settings: { audit } }: Snapshot): void => {
    const slowest = findSlowest(directory, audit.sinks);
    const numbers = slowest === undefined ? [] : listFiles(directory);
    if (slowest === undefined || numbers.length <= audit.keep || slowest.file > numbers[0]!) return;
    const what = `${describeSink(slowest.sink)} has not taken the audit log for too long`;
    throw new ToolError('unavailable', `nothing was run: ${what}`, {
      hint: 'make it reachable, then call again; full = "drop" in audit.sinks lets calls run without it',
    });
  };
  const wake = ({ settings: { audit } }: Snapshot): void => {
    if (audit.sinks.length > 0) wakeIn(WAKE_MS);
  };
  return {
    ...recorder,
    assertReady(verdict, snapshot) {
      recorder.assertReady(verdict, snapshot);
      if (verdict.verdict !== 'deny') assertTaken(snapshot);
    },
    start(event, snapshot) {
      recorder.start(event, snapshot);
      wake(snapshot);
    },
    record(event, snapshot) {
      recorder.record(event, snapshot);
      wake(snapshot);
    },
    // What is not sent in that time is sent by the next process.
    async close() {
      await recorder.close();
      clearTimeout(timer);
      const { sinks } = settings();
      const sent = sinks.map(async (sink) => {
        await running.get(sinkPath(directory, sink));
        await ship(sink);
      });
      if (sinks.length > 0) await settlesWithin(Promise.allSettled(sent), CLOSE_MS);
      if (running.size > 0) ending.abort();
      clearTimeout(timer);
    },
  };
}
