// Records calls: those that run as files for other processes, and those that ended in the audit log.

import { join } from 'node:path';
import { systemReason, ToolError } from '../core/error.js';
import type { Recorder } from '../core/event.js';
import type { Settings } from '../core/settings.js';
import type { Snapshot, World } from '../core/snapshot.js';
import { hashTexts } from '../files/digest.js';
import { startTime } from '../files/process-identity.js';
import { type AuditLog, createAuditLog } from './log.js';
import { type RecordContext, toLine, toRecord, toStarted } from './record.js';
import { showRunning } from './running.js';
import { type AuditSink, createSinkQueue } from './sinks.js';

export interface AuditRecorder extends Recorder {
  readonly directory: string;
  /** Returns why the log cannot be written; undefined if it can. */
  findFault(settings: Settings['audit']): string | undefined;
}

export interface RecorderOptions {
  readonly wieldHome: string;
  readonly pid: number;
  readonly world: World;
  /** Called once for failures that stop no call. */
  readonly warn: (message: string) => void;
  /** The files of `directory` by default. */
  readonly log?: AuditLog;
  readonly sinks?: readonly AuditSink[];
}

// How long a call runs until other processes see it (UI-12).
const VISIBLE_MS = 300;
// Plans that start or reach something else.
const STARTING: ReadonlySet<unknown> = new Set(['process', 'module', 'remote', 'http']);

export function createRecorder(options: RecorderOptions): AuditRecorder {
  const { wieldHome, pid, world, warn, sinks = [] } = options;
  const directory = join(wieldHome, 'audit');
  const { log = createAuditLog(directory) } = options;
  const queues = sinks.map((sink) => createSinkQueue(sink, warn));
  // Functions that end what other processes see of a call.
  const running = new Map<string, () => void>();
  // Unique on this machine: ids of processes are used again.
  const session = `${pid}-${Math.floor(world.now()).toString(36)}`;
  let warned = false;
  let since: number | undefined;

  const end = (call: string): void => {
    running.get(call)?.();
    running.delete(call);
  };
  const findFault = (settings: Settings['audit']): string | undefined => {
    try {
      log.reserve(settings);
      return undefined;
    } catch (error) {
      return unwritable(error);
    }
  };
  const unwritable = (error: unknown): string =>
    `the audit log in ${directory} cannot be written: ${systemReason(error)}`;
  const toContext = ({ workdir, settings, secrets }: Snapshot): RecordContext => {
    const { contents } = settings.audit;
    since ??= startTime(pid) ?? 0;
    return { now: world.now(), pid, since, session, workdir, contents, secrets, hash: hashTexts };
  };

  return {
    directory,
    findFault,
    assertReady({ verdict }, { settings: { audit } }) {
      if (verdict === 'deny' || (verdict === 'allow' && !audit.required)) return;
      const fault = findFault(audit);
      if (fault !== undefined) throw notRecorded(fault);
    },
    begin(event, snapshot) {
      const began = world.now();
      let hide: (() => void) | undefined;
      const timer = setTimeout(() => {
        hide = showRunning(join(wieldHome, 'running'), event, { pid, began, snapshot, debug: world.debug });
      }, VISIBLE_MS).unref();
      running.set(event.call, () => {
        clearTimeout(timer);
        hide?.();
      });
    },
    start(event, snapshot) {
      const { audit } = snapshot.settings;
      // Of functions of this process and of texts only if it is required: they start nothing, and are many.
      if (!audit.required && !STARTING.has(event.plan?.kind)) return;
      try {
        log.append(`${JSON.stringify(toStarted(event, toContext(snapshot)))}\n`, audit);
      } catch (error) {
        const fault = unwritable(error);
        if (audit.required || event.verdict?.verdict === 'ask') throw notRecorded(fault);
        world.debug(fault);
      }
    },
    record(event, snapshot) {
      try {
        end(event.call);
        const line = toLine(toRecord(event, toContext(snapshot)));
        const send = (text: string): void => {
          for (const queue of queues) queue.send(text);
        };
        try {
          send(log.append(line, snapshot.settings.audit));
        } catch (error) {
          send(line);
          throw error;
        }
      } catch (error) {
        const message = `a call of ${event.tool?.name ?? 'an unknown tool'} was not recorded in ${directory}: ${systemReason(error)}`;
        world.debug(message);
        if (!warned) warn(message);
        warned = true;
      }
    },
    async close() {
      for (const call of [...running.keys()]) end(call);
      log.close();
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}

function notRecorded(fault: string): ToolError {
  return new ToolError('unavailable', `nothing was run: ${fault}`, {
    hint: 'free space or make it writable, then call again; wield doctor checks it',
  });
}
