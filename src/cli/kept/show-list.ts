// The part of the binary that shows kept listings: a file of its own, without the runtime.

import type { Beginning } from '../beginning.js';
import { createProcessIo } from '../process-io.js';
import { findKept, showKept } from './list.js';
import { observeList } from './observe-list.js';

/** Shows a kept listing and returns the exit status. Otherwise, observes the run that makes a new one. */
export function begin(argv: readonly string[], wieldHome: string, build: string): Beginning | number | undefined {
  const io = createProcessIo();
  const file = findKept(argv, wieldHome, io);
  if (file === undefined) return undefined;
  return showKept(file, build, argv, io) ?? observeList(file, build, io);
}
