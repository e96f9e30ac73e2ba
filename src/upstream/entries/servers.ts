// The list of upstream servers, merged from the configuration and the server files.

import { join } from 'node:path';
import type { Boundary } from '../../core/format.js';
import type { Problem } from '../../core/problem.js';
import type { Settings } from '../../core/settings.js';
import type { ConfiguredServers } from '../../core/snapshot.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { World } from '../../core/world.js';
import { createStatCache, type FileText } from '../../files/read.js';
import { isOwnServer } from './entry.js';
import { readServers, type ServersFile, type ServersReading, toShadowed } from './file.js';

export interface ServerList {
  /** Reads the server entries; returns the same object until one changed. */
  read(settings: Pick<Settings, 'servers' | 'disabledServers'>): ConfiguredServers;
  /** The files that are looked at. */
  readonly files: readonly string[];
}

const MAX_FILE = 1024 * 1024;
const NOTHING: ServersReading = { entries: [], problems: [] };

/** `workdir` stays the same if the workdir of the toolbox changes; links must not lead out of `boundary` (RES-46). */
export function createServerList(workdir: string, world: World, boundary?: Boundary): ServerList {
  const sources = sourcesOf(workdir, world.home);
  const cache = createStatCache<ServersReading>({ now: world.now, limit: MAX_FILE });
  let last: { readonly from: readonly unknown[]; readonly joined: ConfiguredServers } | undefined;

  const readFile = (source: ServersFile): ServersReading =>
    cache.get(
      `${source.owner} ${source.file}`,
      [source.file],
      ([text]) => readText(text, source),
      () => (source.owner === 'user' ? undefined : boundary),
    );

  return {
    files: sources.map(({ file }) => file),
    read({ servers, disabledServers }) {
      const readings = sources.map(readFile);
      const from = [servers, disabledServers, ...readings];
      if (last === undefined || from.some((one, at) => one !== last!.from[at]))
        last = { from, joined: joinServers(servers, disabledServers, readings) };
      return last.joined;
    },
  };
}

// Files of the user come first, so that a checkout cannot replace their servers.
function sourcesOf(workdir: string, home: string | undefined): ServersFile[] {
  const own = home === undefined ? undefined : join(home, '.agents', 'mcp.json');
  const owner: ServerEntry['owner'] = workdir === home ? 'user' : 'workspace';
  const local = join(workdir, '.agents', 'mcp.json');
  return [
    ...(own === undefined ? [] : [{ file: own, owner: 'user' as const }]),
    { file: join(workdir, '.mcp.json'), owner },
    ...(local === own ? [] : [{ file: local, owner }]),
  ];
}

function readText(text: FileText, source: ServersFile): ServersReading {
  if (text === undefined) return NOTHING;
  if (typeof text === 'string') return readServers(text, source);
  const reason = text.fault === 'too-large' ? `larger than ${formatBytes(MAX_FILE)}` : text.message;
  const message = `could not read servers: ${quoteOutside(reason)}`;
  const { hint = 'make it a readable JSON file, or remove it' } = text;
  return { entries: [], problems: [{ severity: 'error', path: source.file, message, hint }] };
}

function joinServers(
  configured: readonly ServerEntry[],
  off: readonly string[],
  readings: readonly ServersReading[],
): ConfiguredServers {
  const byName = new Map<string, ServerEntry>();
  const problems: Problem[] = [];
  const all = [
    ...configured.filter(({ owner }) => owner === 'user'),
    ...readings.flatMap(({ entries }) => entries),
    ...configured.filter(({ owner }) => owner === 'workspace'),
  ];
  for (const entry of all) {
    const first = byName.get(entry.name);
    if (first === undefined) byName.set(entry.name, entry);
    else problems.push(toShadowed(entry, first));
  }
  const isOff = ({ name, disabled }: ServerEntry): boolean => disabled === true || off.includes(name);
  // `wield connect` adds wield itself to files that are read here too.
  const servers = [...byName.values()].filter(
    (entry) => entry.kind !== 'stdio' || !isOwnServer(entry.command, entry.args),
  );
  return {
    servers: servers.filter((entry) => !isOff(entry)),
    disabled: servers.filter(isOff),
    problems: [...readings.flatMap((reading) => reading.problems), ...problems],
  };
}
