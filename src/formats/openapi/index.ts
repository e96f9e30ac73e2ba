// The OpenAPI format: each operation of a document is a tool that sends one HTTP request.

import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { FileState, Format, FormatSnapshot, Reading } from '../../core/format.js';
import type { HttpSettings } from '../../core/http.js';
import type { FileIdentity, Place } from '../../core/origin.js';
import { toProblem } from '../../core/problem.js';
import { statIdentity } from '../../files/read.js';
import { createDocumentCache, type DocumentCacheOptions } from './cache.js';
import { createDocuments } from './documents.js';
import type { Prepared, PrepareOptions } from './prepare.js';
import { type NamedTools, toTools } from './to-tools.js';

const FILE = /^[^.].*\.openapi\.(?:json|ya?ml)$/i;
const ANY_FILE = /^[^.].*\.(?:json|ya?ml)$/i;
const NONE: HttpSettings = {};
const NOT_YET: Reading = { tools: [], problems: [], states: [undefined], pending: true, unread: true };

/** Whether a file of a tools directory is a document. */
export function isDocument(name: string): boolean {
  return FILE.test(name);
}

/** Reads OpenAPI documents (OAS-1); large ones are stored if there is a cache. */
export function createOpenApiFormat(cache?: DocumentCacheOptions): Format {
  const { open, settle, pending } = createDocuments(cache && createDocumentCache(cache));
  const made = new WeakMap<Prepared, NamedTools & { readonly key: string }>();

  const read = (entry: string, place: Place, snapshot?: FormatSnapshot): Reading => {
    const file = join(place.directory, entry);
    const settings = snapshot?.settings.openapi;
    const identity = statIdentity(file);
    const openEntry = (other: string) => open(join(place.directory, other), optionsOf(other, place, settings));
    const document = openEntry(entry);
    if (document === undefined) return NOT_YET;
    // The configuration is not a file of the place.
    const again = settings !== undefined && settings.size > 0 ? { pending: true } : {};
    const beside = readBeside(entry, place, openEntry);
    if (beside === undefined) return NOT_YET;
    const { taken, states } = beside;
    const key = JSON.stringify([place.owner, [...taken]]);
    let known = made.get(document);
    if (known?.key !== key) {
      known = { key, ...toTools(document.drafts, nameOf(entry, place), place, taken) };
      made.set(document, known);
    }
    const { tools, findings } = known;
    const problems = [...document.findings, ...findings].map((finding) =>
      toProblem(file, finding.severity ?? 'error', finding),
    );
    // The first file is the document itself.
    const others = [...document.files.slice(1), ...states];
    return { tools, problems, ...toStates(entry, place, identity, others), ...again };
  };

  return {
    name: 'openapi',
    places: ['tools', 'documents'],
    entries: 'files',
    claims: (name) => ANY_FILE.test(name),
    read: (entry, place, snapshot) =>
      place.kind === 'documents' || place.named === true || isDocument(entry)
        ? read(entry, place, snapshot)
        : undefined,
    pending,
    settle,
  };
}

function optionsOf(
  entry: string,
  place: Place,
  settings: ReadonlyMap<string, HttpSettings> | undefined,
): PrepareOptions {
  const name = nameOf(entry, place);
  return { name, settings: settings?.get(name) ?? NONE, boundary: place.boundary };
}

// The name of the table that names the document, or that of the file.
function nameOf(entry: string, place: Place): string {
  if (place.kind === 'documents' && place.label !== undefined) return place.label;
  const base = entry.replace(/(?:\.openapi)?\.(?:json|ya?ml)$/i, '').replace(/[^A-Za-z0-9_-]+/g, '_');
  return base || 'api';
}

// Names depend on what else the directory contains.
function toStates(
  entry: string,
  { directory }: Place,
  identity: FileIdentity | undefined,
  others: Prepared['files'],
): Pick<Reading, 'states' | 'files'> {
  return {
    files: [entry, '.', ...others.map(([path]) => relative(directory, path))],
    states: [identity, statIdentity(directory), ...others.map(([, state]) => state)],
  };
}

// The names of other tools in the directory, and of the operations of documents before this one; undefined if one of
// them is not read yet.
function readBeside(
  entry: string,
  place: Place,
  open: (other: string) => Prepared | undefined,
): { readonly taken: ReadonlySet<string>; readonly states: Prepared['files'] } | undefined {
  const taken = new Set<string>();
  const states: [string, FileState][] = [];
  if (place.kind === 'documents') return { taken, states };
  for (const name of readdirSync(place.directory).sort()) {
    if (!isDocument(name)) taken.add(name.replace(/\.tool\.m?[jt]s$/, ''));
    else if (name < entry) {
      const path = join(place.directory, name);
      states.push([path, statIdentity(path)]);
      const document = open(name);
      if (document === undefined) return undefined;
      for (const one of document.names) taken.add(one);
    }
  }
  return { taken, states };
}
