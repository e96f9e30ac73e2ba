// Records every call in the audit log; where that fails, calls that must be recorded do not run.

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Recorder } from '../core/event.js';
import type { Settings } from '../core/settings.js';
import type { World } from '../core/world.js';
import { hashTexts } from '../files/digest.js';
import { createAuditLog } from './log.js';
import { toLine, toRecord } from './record.js';

export interface AuditRecorder extends Recorder {
  /** Where the log lies. */
  readonly directory: string;
  /** What keeps the log from being written now; undefined where nothing does. */
  findFault(settings: Settings['audit']): string | undefined;
}

export interface RecorderOptions {
  readonly wieldHome: string;
  readonly pid: number;
  readonly world: World;
  /** Where a failure that stops no call is told, once. */
  readonly warn: (message: string) => void;
}

export function createRecorder(options: RecorderOptions): AuditRecorder {
  const { pid, world, warn } = options;
  const directory = join(options.wieldHome, 'audit');
  const log = createAuditLog(directory);
  let told = false;

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
      throw new ToolError('unavailable', `nothing was run, since ${fault}`, {
        hint: 'make room or give back the right to write there, then call again; wield doctor looks at it',
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
        if (!told) warn(message);
        told = true;
      }
    },
    close: log.close,
  };
}
