// Recognises an incomplete cache of npx, which npx does not repair: an installation in it was interrupted.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { World } from '../../core/snapshot.js';
import type { ServerEntry } from '../../core/upstream.js';
import { isNpx, runnerOf } from '../entries/package-runner.js';
import { findRun } from '../pins/package.js';

// Of npm, of the shell that npm starts, and of Node.
const SIGNS =
  /ENOTEMPTY|could not determine executable|: (?:command )?not found\b|Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND/;
const PLACE = /(?:[A-Za-z]:)?[^\s'"]*[\\/]_npx[\\/][0-9a-f]{16}/;

/** Returns the directory that npx installed a server into, if the last lines of its output say that it is incomplete. */
export function findBrokenCache(server: ServerEntry, lines: readonly string[], world: World): string | undefined {
  if (server.kind !== 'stdio' || !isNpx(runnerOf(server))) return undefined;
  const output = lines.join('\n');
  if (!SIGNS.test(output)) return undefined;
  const [named] = PLACE.exec(output) ?? [];
  const found = named ?? packageOf(server, world);
  return found !== undefined && existsSync(found) ? found : undefined;
}

// npx names the directory by a hash of what it was asked for.
function packageOf({ args, env }: Extract<ServerEntry, { kind: 'stdio' }>, world: World): string | undefined {
  const cache = env.npm_config_cache ?? (world.home && join(world.home, '.npm'));
  const from = args.findIndex((word) => /(?:^|[\\/])npx(?:\.cmd)?$/.test(word) || word === 'exec');
  const wanted = findRun('npx', args.slice(from + 1));
  if (cache === undefined || wanted === undefined) return undefined;
  return join(cache, '_npx', createHash('sha512').update(wanted.spec).digest('hex').slice(0, 16));
}
