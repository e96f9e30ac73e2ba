// The address of a schema for editors, as a new file of a workspace names it.

import { existsSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { readVersion } from '../workspace/machine.js';

/** Returns a path into the `wield` that the project depends on, which needs no network, or the address of this version. */
export function schemaAddress(name: string, workdir: string, file: string): string {
  const installed = join(workdir, 'node_modules', 'wield', 'schemas', `${name}.json`);
  if (!existsSync(installed)) return `https://unpkg.com/wield@${readVersion()}/schemas/${name}.json`;
  return relative(dirname(join(workdir, file)), installed)
    .split(sep)
    .join('/');
}
