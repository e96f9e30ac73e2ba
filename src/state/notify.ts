// Tells a command or an address of calls that wait for approval, without making the call wait (IDN-11).

import type { ApprovalRecord, Approvals } from '../core/approval.js';
import { createSemaphore, inBackground, pause, pauseUnlessAborted } from '../core/async.js';
import type { KnownSecrets } from '../core/redact.js';
import type { NotifySettings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { deliveryReason } from '../net/fault.js';
import type { CreateFetch } from '../net/fetch.js';
import { toApprovalJson } from '../policy/approval-json.js';
import { idOf } from '../policy/binding.js';

export interface NotifierOptions {
  readonly approvals: Approvals;
  /** A function, because the configuration can change. */
  readonly settings: () => NotifySettings | undefined;
  /** The file of the settings, which references are relative to. */
  readonly file: string;
  readonly world: World;
  /** The key of signatures is added. */
  readonly secrets: KnownSecrets;
  readonly createFetch: CreateFetch;
  /** Receives what could not be told. */
  readonly warn: (message: string) => void;
}

export interface Notifier {
  /** The approvals, of which every new question is told. */
  readonly approvals: Approvals;
  /** Ends what is being sent, after a moment, with a warning. */
  close(): Promise<void>;
}

// Between attempts: five in about three minutes.
const BACKOFF_MS = [1000, 5000, 30_000, 120_000];
const CLOSE_MS = 2000;
const CONCURRENT = 4;
// As many as calls can wait.
const MAX_QUEUED = 64;

export function createNotifier(options: NotifierOptions): Notifier {
  const { approvals, settings, world, warn } = options;
  const closing = new AbortController();
  const ending = new AbortController();
  const slots = createSemaphore(CONCURRENT);
  const running = new Set<Promise<void>>();
  // Calls that this process asks for again are told again.
  const untold = new Set<string>();
  let isClosed = false;

  const deliver = async (record: ApprovalRecord, to: NotifySettings): Promise<void> => {
    const id = idOf(record);
    const body = JSON.stringify(toMessage(id, record));
    let reason = 'the process ends';
    for (const wait of [0, ...BACKOFF_MS]) {
      if (wait > 0) await pauseUnlessAborted(wait, closing.signal);
      if (wait > 0 && !(await approvals.isPending(id))) return;
      if (wait > 0 && closing.signal.aborted) break;
      const release = await slots.acquire(closing.signal).catch(() => undefined);
      if (release === undefined) break;
      try {
        // Few processes need it.
        const { sendMessage } = await import('./send-message.js');
        return await sendMessage(body, to, { ...options, signal: ending.signal });
      } catch (error) {
        reason = deliveryReason(error);
        world.debug(`the message about ${id} was not accepted: ${reason}`);
      } finally {
        release();
      }
    }
    untold.add(id);
    warn(`approvals.notify did not accept the message about the call ${id}: ${reason}`);
  };
  const tell = (record: ApprovalRecord): void => {
    const to = settings();
    if (to === undefined || isClosed) return;
    if (running.size >= MAX_QUEUED) {
      untold.add(idOf(record));
      warn(`approvals.notify is too slow: not told of the call ${idOf(record)}`);
      return;
    }
    const delivery: Promise<void> = deliver(record, to).finally(() => running.delete(delivery));
    running.add(delivery);
    inBackground(delivery, world.debug);
  };
  return {
    approvals: {
      ...approvals,
      async ask(record, flag) {
        const isNew = await approvals.ask(record, flag);
        if (untold.delete(idOf(record)) || isNew) tell(record);
        return isNew;
      },
    },
    async close() {
      isClosed = true;
      // Most processes send none, and to abort takes milliseconds at first.
      if (running.size === 0) return;
      closing.abort();
      const all = Promise.allSettled(running);
      await Promise.race([all, pause(CLOSE_MS)]);
      ending.abort();
      await Promise.race([all, pause(CLOSE_MS)]);
    },
  };
}

// Inputs are redacted in the record, as people see them.
function toMessage(id: string, record: ApprovalRecord): object {
  const approval = toApprovalJson({ id, state: 'pending', record, since: record.created, path: '' });
  return { schema: 1, type: 'approval.pending', approval };
}
