// Checks of calls that another machine decided on; loaded by workers.

import { ToolError } from '../core/error.js';
import type { Tool } from '../core/tool.js';
import type { DispatchedCall } from '../core/toolbox.js';

/** Throws `integrity` if the tool is not the one that the front decided on (FLT-5). */
export function assertSameVersion({ name, origin }: Tool, { digest }: DispatchedCall): void {
  if (origin.digest === digest) return;
  throw new ToolError('integrity', `${name} was not run: this worker has another version of it`, {
    hint: 'install the same version of the tool on fronts and workers',
  });
}
