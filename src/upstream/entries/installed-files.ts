// The files of an installed server: it starts only with the bytes that a person accepted (INS-68).

import { orNothing, ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';
import { hashTree } from '../../files/tree.js';

/** A directory that a server runs files of, with the hash that it must have. */
type Checked = NonNullable<ServerEntry['installed']>['files'][number];

/** Whether the files of a directory are others than recorded. */
export function isChanged({ path, hash }: Checked): boolean {
  return orNothing(() => hashTree(path) !== hash) ?? true;
}

/** Throws `integrity` if a file of an installed server is not the one that was accepted. */
export function assertAccepted({ name, installed }: ServerEntry): void {
  const changed = installed?.files.find(isChanged);
  if (changed === undefined) return;
  throw new ToolError(
    'integrity',
    `the server ${quoteOutside(name, 60)} was not started: files in ${quoteOutside(changed.path, 200)} changed since it was accepted`,
    { hint: `find out why, then accept them: wield mcp accept ${name}`, data: { server: name, path: changed.path } },
  );
}
