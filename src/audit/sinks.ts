// Further receivers of the audit log: they get its lines in order, delay no call, and are awaited at the end (OBS-9).

import { formatDuration } from '../core/text.js';
import { settlesWithin } from '../core/time-limit.js';

/** Receives the lines of the audit log. */
export interface AuditSink {
  /** Used in warnings. */
  readonly name: string;
  /** Called with one line after another; the next one waits for the returned promise. */
  write(line: string): void | Promise<void>;
  /** Called after the last line. */
  close?(): void | Promise<void>;
}

// Of a sink that is slower than the calls.
const MAX_WAITING = 10_000;
const CLOSE_MS = 5000;

/** Sends lines to a sink. */
export function createSinkQueue(sink: AuditSink, warn: (message: string) => void) {
  let waiting = 0;
  let lost = 0;
  let closed: Promise<void> | undefined;
  let last = Promise.resolve();
  // One warning for all lines.
  const lose = (lines: number, why: string): void => {
    if (lost === 0) warn(`lines of the audit log were not sent to ${sink.name}: ${why}`);
    lost += lines;
  };
  const write = async (line: string): Promise<void> => {
    try {
      await sink.write(line);
    } catch (error) {
      lose(1, String(error));
    }
    waiting--;
  };
  const end = async (): Promise<void> => {
    const sent = last.then(() => sink.close?.()).catch((error: unknown) => lose(0, String(error)));
    if (!(await settlesWithin(sent, CLOSE_MS))) lose(waiting, `it did not end within ${formatDuration(CLOSE_MS)}`);
  };
  return {
    send(line: string): void {
      if (waiting >= MAX_WAITING) {
        lose(1, `${MAX_WAITING} lines are waiting`);
        return;
      }
      waiting++;
      last = last.then(() => write(line));
    },
    /** Waits until all lines are sent, but not forever. */
    close(): Promise<void> {
      closed ??= end();
      return closed;
    },
  };
}
