// Checks that paths of a source stay inside it, links followed (INS-5).

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { isWithin, realPath } from '../../files/within.js';

/** Throws `path_escape` if the path resolves outside the source; `what` names it in the message. */
export function assertInside(tree: string, path: string, what = path): void {
  const real = realPath(join(tree, path));
  const root = realPath(tree);
  if (real === undefined || (root !== undefined && isWithin(root, real))) return;
  throw pathEscape(path, what);
}

export function pathEscape(path: string, what: string): ToolError {
  return new ToolError('path_escape', `${quoteOutside(what, 120)} is outside the source`, {
    hint: 'move it into the source',
    data: { path },
  });
}
