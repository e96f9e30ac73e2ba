// Records calls in the audit log; if that fails, calls that must be recorded do not run.

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Recorder } from '../core/event.js';
import type { Settings } from '../core/settings.js';
import type { World } from '../core/world.js';
import { hashTexts } from '../files/digest.js';
import { createAuditLog } from './log.js';
import { toLine, toRecord } from './record.js';

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
}

export function createRecorder(options: RecorderOptions): AuditRecorder {
  const { pid, world, warn } = options;
  const directory = join(options.wieldHome, 'audit');
  const log = createAuditLog(directory);
  let warned = false;

  const findFault = (settings: Settings['audit']): string | undefined => {
    try {
      log.reserve(settings);
      return undefined;
    } catch (error) {
      return `the audit log in ${directory} cannot be written: ${(error as Error).message}`;
    }
  };

  return {
    directory,
    findFault,
    assertReady({ verdict }, { settings: { audit } }) {
      if (verdict === 'deny' || (verdict === 'allow' && !audit.required)) return;
      const fault = findFault(audit);
      if (fault === undefined) return;
      throw new ToolError('unavailable', `nothing was run: ${fault}`, {
        hint: 'free space or make it writable, then call again; wield doctor checks it',
      });
    },
    record(event, { workdir, settings: { audit }, secrets }) {
      try {
        const line = toLine(
          toRecord(event, {
            now: world.now(),
            pid,
            workdir,
            contents: audit.contents,
            secrets,
            hash: hashTexts,
          }),
        );
        log.append(line, audit);
      } catch (error) {
        const message = `a call of ${event.tool?.name ?? 'an unknown tool'} was not recorded in ${directory}: ${(error as Error).message}`;
        world.debug(message);
        if (!warned) warn(message);
        warned = true;
      }
    },
    close: log.close,
  };
}
