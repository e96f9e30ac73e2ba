// Imports servers from other clients: plans what to write, then writes it.

import { extname, join, resolve } from 'node:path';
import { ToolError } from '../core/error.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { didYouMean, quoteOutside } from '../core/text.js';
import { readTextFile, statOrNothing } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';
import { readServer, type ServerSource } from '../upstream/entries/entry.js';
import { withSandbox } from '../upstream/entries/sandbox.js';
import type { Client, ClientEnvironment, ClientFile, Scope } from './client.js';
import { type ConfigFile, editConfig, parse, readConfig, toPlain, writeConfig } from './config-file.js';
import { type ConvertedServer, convertServer } from './convert.js';
import { isDockerProfile, readDockerProfile } from './docker-profile.js';
import { type Form, valueAt } from './forms/form.js';
import { jsonForm } from './forms/json.js';
import { tomlForm } from './forms/toml.js';
import { yamlForm } from './forms/yaml.js';
import { ANY_CLIENT, ANY_CLIENTS, CLIENTS } from './table.js';
import { findProjectTables, findTables } from './tables.js';
import { entryPath, wieldFile } from './wield-file.js';

export interface ImportSource {
  readonly client: Client;
  readonly file: ClientFile;
}

export interface ImportedServer extends ConvertedServer {
  readonly from: string;
  readonly status: 'new' | 'exists' | 'unusable';
}

export interface ImportPlan {
  readonly read: readonly string[];
  readonly destination: ConfigFile;
  readonly scope: Scope;
  readonly after: string;
  readonly servers: readonly ImportedServer[];
  /** The servers to write: new ones, and with `force` also existing ones. */
  readonly written: readonly ImportedServer[];
}

export interface ImportOptions {
  readonly environment: ClientEnvironment;
  readonly wieldHome: string;
  readonly scope: Scope;
  /** Imports only these; all if empty. */
  readonly names: readonly string[];
  /** Replaces existing servers. */
  readonly force: boolean;
  readonly pins?: ImportPins;
}

/** Files that wield reads itself, so they need no import. */
function wieldFiles({ workdir, home }: ClientEnvironment): string[] {
  return [join(workdir, '.mcp.json'), wieldFile('project', { workdir, home }), wieldFile('user', { workdir, home })];
}

/** Returns the existing files of a client, except those that wield reads itself. */
export function findSources(client: Client, environment: ClientEnvironment): ImportSource[] {
  const own = wieldFiles(environment);
  return client
    .files(environment)
    .filter(({ path }) => !own.includes(path) && statOrNothing(path) !== undefined)
    .map((file) => ({ client, file }));
}

const FORMS: Readonly<Record<string, Form | undefined>> = {
  '.json': jsonForm,
  '.jsonc': jsonForm,
  '.toml': tomlForm,
  '.yaml': yamlForm,
  '.yml': yamlForm,
};

/** Finds the client of a file by its path; other files are read in any format that yields servers. */
export function findSourceOf(path: string, environment: ClientEnvironment): ImportSource {
  const known = CLIENTS.flatMap((client) => client.files(environment).map((file) => ({ client, file })));
  const place = resolve(path);
  const exact = known.find(({ file }) => file.path === place);
  if (exact !== undefined) return exact;
  const tail = (name: string): string => name.split('/').slice(-2).join('/');
  const alike = known.find(({ file }) => tail(file.path) === tail(place));
  const others = ANY_CLIENTS.map((client) => ({ client, file: { tables: findProjectTables } }));
  const faults = new Map<Form, unknown>();
  for (const { client, file } of [...(alike === undefined ? [] : [alike]), ...others]) {
    const source: ImportSource = { client, file: { scope: 'user', path: place, tables: file.tables } };
    try {
      if (readServers(source).length > 0) return source;
    } catch (error) {
      faults.set(client.form, error);
    }
  }
  const form = FORMS[extname(place)];
  const isUnreadable = form === undefined ? faults.size === ANY_CLIENTS.length : faults.has(form);
  if (isUnreadable) throw faults.get(form ?? jsonForm);
  throw new ToolError('invalid_definition', `${path} has no servers in a known format`, {
    hint: 'for a list of clients with servers: wield mcp import',
  });
}

/** Returns the servers of a source by name. Throws if the file is invalid. */
export function readServers({ client, file }: ImportSource): [string, unknown][] {
  const { document } = readConfig(file.path, client.form);
  const plain = toPlain(document ?? {});
  if (client.id === ANY_CLIENT && isDockerProfile(plain)) return readDockerProfile(plain);
  return findTables(document, file.tables(document)).flatMap((table): [string, unknown][] => {
    const servers = valueAt(document, table);
    if (!isRecord(servers)) return [];
    const whole = isRecord(document) ? (toPlain(document) as JsonObject) : {};
    return Object.entries(toPlain(servers) as JsonObject).map(([name, entry]) => [name, withSandbox(entry, whole)]);
  });
}

/** The pinned arguments and integrity of servers, or why one has none, by name. */
export type ImportPins = ReadonlyMap<string, { readonly entry: JsonObject } | { readonly note: string }>;

export function planImport(sources: readonly ImportSource[], options: ImportOptions): ImportPlan {
  const { environment, wieldHome, scope, names, force } = options;
  const path = wieldFile(scope, environment);
  const destination = readConfig(path, jsonForm);
  const seen = new Set<string>();
  const placeOf = createPlaces(join(wieldHome, 'secrets'));
  const servers = sources.flatMap((source) =>
    readServers(source).map(([name, entry]): ImportedServer => {
      const converted = withoutInvalid(
        convertServer(source.client, name, entry, {
          file: source.file,
          environment,
          fileOf: seen.has(name) ? () => '' : placeOf,
        }),
        { owner: scope === 'user' ? 'user' : 'workspace', position: { file: path, pointer: null, line: null } },
      );
      const twice = seen.has(name);
      seen.add(name);
      const exists = twice || valueAt(destination.document, entryPath(destination.document, name)) !== undefined;
      return {
        ...converted,
        from: source.file.path,
        status: converted.entry === undefined ? 'unusable' : exists ? 'exists' : 'new',
        notes: [
          ...converted.notes,
          ...(twice ? ['another server with this name takes precedence'] : []),
          ...(scope === 'user' && source.file.scope === 'project'
            ? ['from a project file: it will be used in every directory without trust']
            : []),
        ],
        ...(twice ? { entry: undefined } : {}),
      };
    }),
  );
  const named = names.length === 0 ? servers : [...new Set(names)].flatMap((name) => findNamed(servers, name));
  const chosen = named.map((server) => withPin(server, options.pins));
  const written = chosen.filter(
    ({ entry, status }) => entry !== undefined && (status === 'new' || (force && status === 'exists')),
  );
  let edited = destination;
  for (const { name, entry } of written) {
    const text = editConfig(edited, jsonForm, entryPath(edited.document, name), entry);
    edited = { ...edited, text, document: parse(text, jsonForm, edited) };
  }
  const read = sources.map(({ file }) => file.path);
  return { read, destination, scope, after: edited.text ?? '', servers: chosen, written };
}

// An entry with an error would not be used.
function withoutInvalid(server: ConvertedServer, source: ServerSource): ConvertedServer {
  const { name, entry, notes } = server;
  if (entry === undefined) return server;
  const fault = readServer(name, entry, source).findings.find(({ severity }) => severity === 'error');
  if (fault === undefined) return server;
  return {
    ...server,
    entry: undefined,
    secrets: [],
    notes: [`${[...fault.keyPath, fault.message].join(': ')}; ${fault.hint}`, ...notes],
  };
}

function withPin(server: ImportedServer, pins: ImportPins | undefined): ImportedServer {
  const pin = server.entry === undefined ? undefined : pins?.get(server.name);
  if (pin === undefined) return server;
  if ('note' in pin) return { ...server, notes: [...server.notes, pin.note] };
  return { ...server, entry: pin.entry, args: pin.entry.args as readonly string[] };
}

/** Writes each secret to a private file, then the entries. On failure the new secret files are removed. */
export function applyImport({ destination, scope, after, written }: ImportPlan): void {
  const made: string[] = [];
  try {
    for (const { path, value } of written.flatMap(({ secrets }) => secrets)) {
      if (readSecret(path) === value) continue;
      writeFileAtomic(path, value, { mode: 0o600, keepExisting: true });
      if (readSecret(path) !== value)
        throw new ToolError('conflict', `another process wrote ${path} meanwhile`, { hint: 'run the command again' });
      made.push(path);
    }
    writeConfig(destination, after, scope === 'user');
  } catch (error) {
    for (const path of made) removeFile(path);
    throw error;
  }
}

// Returns `server.NAME`, with a number if the file has another secret.
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
  const names = servers.map((server) => server.name);
  throw new ToolError('not_found', `no server "${quoteOutside(name, 40)}" to import`, {
    hint: didYouMean(name, names, 'omit --server to see all servers', (close) => quoteOutside(close, 60)),
  });
}
