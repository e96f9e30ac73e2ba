// Plans the import of servers from other clients: what is read, what becomes of each, what is written. Then writes it.

import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { nearest, quoteOutside } from '../core/text.js';
import { readTextFile, statOrNothing } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import { type CarriedServer, carryServer } from './carry.js';
import type { Client, ClientFile, Scope, Surroundings } from './client.js';
import { type ConfigFile, editConfig, parse, readConfig, toPlain, writeConfig } from './config-file.js';
import { valueAt } from './forms/form.js';
import { jsonForm } from './forms/json.js';
import { ownFile } from './own-file.js';
import { CLIENTS } from './table.js';

export interface ImportSource {
  readonly client: Client;
  readonly file: ClientFile;
}

export interface ImportedServer extends CarriedServer {
  readonly from: string;
  readonly status: 'new' | 'exists' | 'unusable';
}

export interface ImportPlan {
  readonly read: readonly string[];
  readonly destination: ConfigFile;
  readonly scope: Scope;
  readonly after: string;
  readonly servers: readonly ImportedServer[];
  /** Those that are written: new ones, and with `force` those that exist. */
  readonly written: readonly ImportedServer[];
}

export interface ImportOptions {
  readonly surroundings: Surroundings;
  readonly wieldHome: string;
  readonly scope: Scope;
  /** Only these; all where none is named. */
  readonly names: readonly string[];
  /** Replaces what exists. */
  readonly force: boolean;
}

/** Files that wield reads as they are, and that need no import. */
function ownFiles({ workdir, home }: Surroundings): string[] {
  return [
    join(workdir, '.mcp.json'),
    ownFile('project', { workdir, home }),
    ownFile('user', { workdir, home }),
  ];
}

/** The files of a client that are there and hold what wield does not read by itself. */
export function findSources(client: Client, surroundings: Surroundings): ImportSource[] {
  const own = ownFiles(surroundings);
  return client
    .files(surroundings)
    .filter(({ path }) => !own.includes(path) && statOrNothing(path) !== undefined)
    .map((file) => ({ client, file }));
}

/** A file by its path: read as that of the client whose it is, else as the first that has servers where it has some. */
export function findSourceOf(path: string, surroundings: Surroundings): ImportSource {
  const known = CLIENTS.flatMap((client) => client.files(surroundings).map((file) => ({ client, file })));
  const place = resolve(path);
  const exact = known.find(({ file }) => file.path === place);
  if (exact !== undefined) return exact;
  const tail = (name: string): string => name.split('/').slice(-2).join('/');
  const alike = known.find(({ file }) => tail(file.path) === tail(place));
  for (const { client, file } of [...(alike === undefined ? [] : [alike]), ...known]) {
    const tables = readTables(client, { ...file, path: place });
    if (tables !== undefined && tables.length > 0)
      return { client, file: { scope: 'user', path: place, tables: file.tables } };
  }
  throw new ToolError('invalid_definition', `${path} has no servers of a kind that wield knows`, {
    hint: 'wield mcp import shows the clients that have some',
  });
}

/** The servers of a file; undefined where it cannot be read as one of this client. */
function readTables(client: Client, file: ClientFile): [string, unknown][] | undefined {
  try {
    return readServers({ client, file });
  } catch {
    return undefined;
  }
}

/** The servers of a source, by name; throws where the file cannot be understood. */
export function readServers({ client, file }: ImportSource): [string, unknown][] {
  const { document } = readConfig(file.path, client.form);
  return file.tables(document).flatMap((table) => {
    const servers = valueAt(document, table);
    return isRecord(servers) ? Object.entries(toPlain(servers) as object) : [];
  });
}

export function planImport(sources: readonly ImportSource[], options: ImportOptions): ImportPlan {
  const { surroundings, wieldHome, scope, names, force } = options;
  const path = ownFile(scope, surroundings);
  const destination = readConfig(path, jsonForm);
  const seen = new Set<string>();
  const placeOf = createPlaces(join(wieldHome, 'secrets'));
  const servers = sources.flatMap((source) =>
    readServers(source).map(([name, entry]): ImportedServer => {
      const carried = carryServer(source.client, name, entry, {
        file: source.file,
        surroundings,
        placeOf: seen.has(name) ? () => '' : placeOf,
      });
      const twice = seen.has(name);
      seen.add(name);
      const exists = twice || valueAt(destination.document, ['mcpServers', name]) !== undefined;
      return {
        ...carried,
        from: source.file.path,
        status: carried.entry === undefined ? 'unusable' : exists ? 'exists' : 'new',
        notes: [
          ...carried.notes,
          ...(twice ? ['another of this name comes first'] : []),
          ...(scope === 'user' && source.file.scope === 'project'
            ? ['from a file of this project: it will be used in every directory, and needs no trust']
            : []),
        ],
        ...(twice ? { entry: undefined } : {}),
      };
    }),
  );
  const chosen = names.length === 0 ? servers : names.flatMap((name) => findNamed(servers, name));
  const written = chosen.filter(
    ({ entry, status }) => entry !== undefined && (status === 'new' || (force && status === 'exists')),
  );
  let edited = destination;
  for (const { name, entry } of written) {
    const text = editConfig(edited, jsonForm, ['mcpServers', name], entry);
    edited = { ...edited, text, document: parse(text, jsonForm, path) };
  }
  const read = sources.map(({ file }) => file.path);
  return { read, destination, scope, after: edited.text ?? '', servers: chosen, written };
}

/** Writes secrets, each into a private file of its own, then the entries; without the entries no new secret stays. */
export function applyImport({ destination, scope, after, written }: ImportPlan): void {
  const made: string[] = [];
  try {
    for (const { path, value } of written.flatMap(({ secrets }) => secrets)) {
      if (readSecret(path) === value) continue;
      made.push(path);
      writeFileAtomic(path, value, { mode: 0o600 });
    }
    writeConfig(destination, after, scope === 'user');
  } catch (error) {
    for (const path of made) rmSync(path, { force: true });
    throw error;
  }
}

// `server.NAME`, with a number where another secret has that place already.
function createPlaces(directory: string): (server: string, name: string, value: string) => string {
  const taken = new Map<string, string>();
  const clean = (text: string): string => text.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 80);
  return (server, name, value) => {
    for (let turn = 1; ; turn++) {
      const path = join(directory, `${clean(server)}.${clean(name)}${turn === 1 ? '' : `-${turn}`}`);
      const there = taken.get(path) ?? readSecret(path);
      if (there !== undefined && there !== value) continue;
      taken.set(path, value);
      return path;
    }
  };
}

function readSecret(path: string): string | undefined {
  return readTextFile(path, 1024 * 1024);
}

function findNamed(servers: readonly ImportedServer[], name: string): ImportedServer[] {
  const found = servers.filter((server) => server.name === name);
  if (found.length > 0) return found;
  const [close] = nearest(
    name,
    servers.map((server) => server.name),
  );
  throw new ToolError('not_found', `there is no server "${quoteOutside(name, 40)}" to import`, {
    hint:
      close === undefined ? 'leave --server out to see them all' : `did you mean ${quoteOutside(close, 60)}?`,
  });
}
