// The list of upstream servers, merged from the configuration and the server files.

import { join } from 'node:path';
import type { Block } from '../../core/allowance.js';
import { isToolError } from '../../core/error.js';
import { escapePointer } from '../../core/json.js';
import type { Boundary } from '../../core/origin.js';
import type { Problem } from '../../core/problem.js';
import type { Settings } from '../../core/settings.js';
import { anything, formatFault, list, nullable, object, readShape, record, string } from '../../core/shape.js';
import type { BlockedServer, ConfiguredServers, World } from '../../core/snapshot.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';
import { createStatCache, type FileText } from '../../files/read.js';
import { parseStateJson, refuseNewer } from '../../files/state.js';
import { createRegistryOrigins, type RegistryOrigins } from '../registry/origin.js';
import { findBlock } from './allowed.js';
import { isOwnServer, readServer } from './entry.js';
import { readServers, type ServersFile, type ServersReading, toShadowed } from './file.js';

export interface ServerList {
  /** Reads the server entries; returns the same object until one changed. */
  read(settings: Pick<Settings, 'servers' | 'disabledServers' | 'allowedServers'>): ConfiguredServers;
  /** Returns the servers as they are once a file has this text. */
  preview(file: string, text: string, settings: Pick<Settings, 'servers' | 'disabledServers'>): ConfiguredServers;
  /** Returns why a server may not be used. */
  findBlock(entry: ServerEntry, settings: Pick<Settings, 'allowedServers'>, registry?: string): Block | undefined;
  /** Servers that were added from a registry. */
  readonly origins: RegistryOrigins;
  /** The files that are looked at. */
  readonly files: readonly string[];
}

const MAX_FILE = 1024 * 1024;
const NOTHING: ServersReading = { entries: [], problems: [] };

export interface ServerListOptions {
  /** Stays the same if the workdir of the toolbox changes. */
  readonly workdir: string;
  readonly wieldHome: string;
  readonly world: World;
  /** Links must not lead out of it (RES-46). */
  readonly boundary?: Boundary | undefined;
}

export function createServerList({ workdir, wieldHome, world, boundary }: ServerListOptions): ServerList {
  const sources = sourcesOf(workdir, wieldHome, world.home);
  const isState = (file: string): boolean => sources.some((one) => one.file === file && one.owner !== 'workspace');
  const cache = createStatCache<ServersReading>({ now: world.now, limit: MAX_FILE, isState });
  const origins = createRegistryOrigins(wieldHome, world.now);
  const blockOf: ServerList['findBlock'] = (entry, settings, registry) =>
    findBlock(entry, settings, { world, workdir, registryOf: origins.of }, registry);
  let last: { readonly from: readonly unknown[]; readonly joined: ConfiguredServers } | undefined;

  const readFile = (source: ServersFile): ServersReading =>
    cache.get(
      `${source.owner} ${source.file}`,
      [source.file],
      ([text]) => readText(text, source),
      () => (source.owner === 'workspace' ? boundary : undefined),
    );

  const preview: ServerList['preview'] = (file, text, { servers, disabledServers }) =>
    joinServers(
      servers,
      disabledServers,
      sources.map((source) => (source.file === file ? readText(text, source) : readFile(source))),
    );

  return {
    preview,
    files: sources.map(({ file }) => file),
    findBlock: blockOf,
    origins,
    read(settings) {
      const { servers, disabledServers, allowedServers } = settings;
      const readings = sources.map(readFile);
      const from = [servers, disabledServers, allowedServers, ...readings];
      if (last === undefined || from.some((one, at) => one !== last!.from[at]))
        last = { from, joined: joinServers(servers, disabledServers, readings) };
      // What a registry gave, and what references lead to, can change without these files.
      return allowedServers.length === 0 ? last.joined : withoutBlocked(last.joined, (one) => blockOf(one, settings));
    },
  };
}

// Files of the user come first, so that a checkout cannot replace their servers.
function sourcesOf(workdir: string, wieldHome: string, home: string | undefined): ServersFile[] {
  const own = home === undefined ? undefined : join(home, '.agents', 'mcp.json');
  const owner: ServerEntry['owner'] = workdir === home ? 'user' : 'workspace';
  const local = join(workdir, '.agents', 'mcp.json');
  return [
    ...(own === undefined ? [] : [{ file: own, owner: 'user' as const }]),
    { file: join(wieldHome, 'servers.json'), owner: 'package' },
    { file: join(workdir, '.mcp.json'), owner },
    ...(local === own ? [] : [{ file: local, owner }]),
  ];
}

function readText(text: FileText, source: ServersFile): ServersReading {
  if (text === undefined) return NOTHING;
  if (typeof text === 'string')
    return source.owner === 'package' ? readInstalled(text, source) : readServers(text, source);
  const reason = text.fault === 'too-large' ? `larger than ${formatBytes(MAX_FILE)}` : text.message;
  const message = `could not read servers: ${quoteOutside(reason)}`;
  const { hint = 'make it a readable JSON file, or remove it' } = text;
  return { entries: [], problems: [{ severity: 'error', path: source.file, message, hint }] };
}

const FILE = object({ path: string, hash: string }, { unknown: 'drop' });
const RECORD = object(
  {
    entry: anything,
    source: string,
    digest: string,
    accepted: nullable(string),
    files: list(FILE),
  },
  { unknown: 'drop' },
);
const INSTALLED = object({ servers: record(RECORD) }, { unknown: 'drop' });

// The servers that were installed, each with what a person accepted of it; install/servers.ts writes the file.
function readInstalled(text: string, { file, owner }: ServersFile): ServersReading {
  const refuse = (why: string, hint = 'remove it; wield doctor --fix writes it again'): ServersReading => {
    return { entries: [], problems: [{ severity: 'error', path: file, message: `is not valid: ${why}`, hint }] };
  };
  try {
    const document = parseStateJson(text, file);
    refuseNewer(document, file);
    const { value, faults } = readShape(INSTALLED, document);
    if (value === undefined || faults.length > 0) return refuse(formatFault(faults[0]!));
    const entries = Object.entries(value.servers).flatMap(([name, { entry: written, accepted, ...found }]) => {
      const position = { file, pointer: `/servers/${escapePointer(name)}/entry`, line: null };
      const { entry } = readServer(name, written, { owner, position });
      return entry === undefined ? [] : [{ ...entry, installed: { ...found, accepted: accepted === found.digest } }];
    });
    return { entries, problems: [] };
  } catch (error) {
    if (!isToolError(error)) throw error;
    return refuse(error.message, error.code === 'unavailable' ? error.hint : undefined);
  }
}

function withoutBlocked(
  joined: ConfiguredServers,
  blockOf: (entry: ServerEntry) => Block | undefined,
): ConfiguredServers {
  const servers: ServerEntry[] = [];
  const blocked: BlockedServer[] = [];
  for (const server of joined.servers) {
    const block = blockOf(server);
    if (block === undefined) servers.push(server);
    else blocked.push({ server, block });
  }
  return blocked.length === 0 ? joined : { ...joined, servers, blocked };
}

function joinServers(
  configured: readonly ServerEntry[],
  off: readonly string[],
  readings: readonly ServersReading[],
): ConfiguredServers {
  const byName = new Map<string, ServerEntry>();
  const shadowed: ServerEntry[] = [];
  const problems: Problem[] = [];
  const all = [
    ...configured.filter(({ owner }) => owner === 'user'),
    ...readings.flatMap(({ entries }) => entries),
    ...configured.filter(({ owner }) => owner === 'workspace'),
  ];
  for (const entry of all) {
    const first = byName.get(entry.name);
    if (first === undefined) byName.set(entry.name, entry);
    else {
      shadowed.push(entry);
      problems.push(toShadowed(entry, first));
    }
  }
  const isOff = ({ name, disabled }: ServerEntry): boolean => disabled === true || off.includes(name);
  // `wield connect` adds wield itself to files that are read here too.
  const servers = [...byName.values()].filter(
    (entry) => entry.kind !== 'stdio' || !isOwnServer(entry.command, entry.args),
  );
  return {
    servers: servers.filter((entry) => !isOff(entry)),
    disabled: servers.filter(isOff),
    blocked: [],
    shadowed,
    problems: [...readings.flatMap((reading) => reading.problems), ...problems],
  };
}
