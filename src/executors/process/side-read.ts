// Appends a file next to a path among the parameters to the output of a command (TJS-28).

import { join } from 'node:path';
import type { SideRead } from '../../core/command.js';
import type { Slot } from '../../core/plan.js';
import { containedPath } from '../../files/contained-path.js';
import { readHead } from '../../files/read.js';
import { textsOf } from './arguments.js';

const MAX_BYTES = 64 * 1024;
const MAX_SESSIONS = 1000;
const MAX_FILES = 10_000;

/** The files that were appended in each session. */
export type SeenFiles = Map<string, Set<string>>;

export interface SideReadOptions {
  readonly slots: readonly Slot[];
  /** Directory that a relative path starts from. */
  readonly base: string;
  readonly roots: readonly string[];
  readonly session: string | undefined;
  readonly seen: SeenFiles;
  /** Whether the process of the command could read a file. */
  readonly isVisible: (path: string) => boolean;
}

/** Returns the output with the file appended; unchanged if the file is missing, empty or outside the roots. */
export function appendSideRead(output: string, sideRead: SideRead, options: SideReadOptions): string {
  const { slots, base, roots, session, seen, isVisible } = options;
  const [directory] = textsOf(slots.find(({ mapping }) => mapping.param === sideRead.param)?.value);
  if (directory === undefined || directory === '') return output;
  const wanted = join(directory, sideRead.file);
  const path = containedPath(wanted, { base, roots });
  if (path === undefined || !isVisible(path)) return output;
  if (sideRead.oncePerSession && session !== undefined && !isNew(seen, session, path)) return output;
  const reading = readHead(path, MAX_BYTES);
  // Links can change while it is read.
  if ('fault' in reading || containedPath(wanted, { base, roots }) !== path) return output;
  const text = reading.bytes.toString('utf8').trimEnd();
  if (text.trim() === '') return output;
  const more = reading.complete ? '' : `\n[truncated: the file is larger than ${MAX_BYTES / 1024} KiB]`;
  const { label } = sideRead;
  return `${output.trimEnd()}\n\n--- ${label} (BOF) ---\n\n${text}${more}\n\n--- ${label} (EOF) ---\n`;
}

function isNew(seen: SeenFiles, session: string, path: string): boolean {
  let files = seen.get(session);
  if (files === undefined) {
    const oldest = seen.keys().next();
    if (seen.size >= MAX_SESSIONS && oldest.done !== true) seen.delete(oldest.value);
    files = new Set();
    seen.set(session, files);
  }
  if (files.has(path)) return false;
  if (files.size < MAX_FILES) files.add(path);
  return true;
}
