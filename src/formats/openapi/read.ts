// Reads an OpenAPI document of a directory; imported when there is one.

import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { FormatSnapshot, Place, Reading } from '../../core/format.js';
import type { HttpSettings } from '../../core/http.js';
import { isRecord } from '../../core/json.js';
import { toProblem } from '../../core/problem.js';
import type { FileIdentity } from '../../core/tool.js';
import { sameIdentity, statIdentity } from '../../files/read.js';
import type { DeferredReader } from '../shared/deferred.js';
import { DocumentFault, type OpenDocument, openDocument, openInThread, Unparsed } from './document.js';
import { METHODS, operationName } from './name.js';
import { type OperationOptions, type ReadOperations, readOperations } from './operations.js';

const NONE: HttpSettings = {};
const NOT_YET: Reading = { tools: [], problems: [], states: [undefined], pending: true };
interface Broken {
  readonly fault: DocumentFault;
  readonly identity: FileIdentity;
}

// Documents are large; few are used together.
const MAX_KEPT = 16;

// Opens each document once per state of its files.
function createOpener(pending: Set<string>) {
  const kept = new Map<string, OpenDocument | Broken>();
  // Documents that wait for a thread, by their file.
  const waiting = new Map<string, Place>();
  let parsing: Promise<void> | undefined;

  const keep = (file: string, opened: OpenDocument | Broken): void => {
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(file, opened);
  };

  const open = (file: string, place: Place): OpenDocument | DocumentFault => {
    const known = kept.get(file);
    if (known !== undefined && 'fault' in known && sameIdentity(statIdentity(file), known.identity)) return known.fault;
    if (known !== undefined && 'files' in known && isUnchanged(known)) return known;
    const identity = statIdentity(file);
    try {
      const opened = openDocument(file, place.boundary);
      keep(file, opened);
      return opened;
    } catch (error) {
      if (error instanceof Unparsed) {
        waiting.set(file, place);
        pending.add(file);
      }
      if (!(error instanceof DocumentFault)) throw error;
      if (identity !== undefined) keep(file, { fault: error, identity });
      return error;
    }
  };

  const parseWaiting = async (): Promise<void> => {
    for (const [file, place] of [...waiting]) {
      const identity = statIdentity(file);
      try {
        keep(file, await openInThread(file, place.boundary));
      } catch (error) {
        if (error instanceof DocumentFault && identity !== undefined) keep(file, { fault: error, identity });
        else if (!(error instanceof Unparsed)) throw error;
      }
      waiting.delete(file);
      pending.delete(file);
    }
  };

  return {
    open,
    async settle(): Promise<void> {
      parsing ??= parseWaiting().finally(() => {
        parsing = undefined;
      });
      await parsing;
    },
  };
}

/** Returns a reader of documents; those that wait for a thread are in `pending`. */
export function createReader(isDocument: (name: string) => boolean, pending: Set<string>): DeferredReader {
  const { open, settle } = createOpener(pending);
  const made = new WeakMap<OpenDocument, ReadOperations & { readonly key: string }>();

  const read = (entry: string, place: Place, snapshot?: FormatSnapshot): Reading => {
    const file = join(place.directory, entry);
    const settings = snapshot?.settings.openapi;
    const identity = statIdentity(file);
    const name = nameOf(entry, place);
    const document = open(file, place);
    const states = toStates(entry, place, document, identity);
    // The configuration is not a file of the place.
    const again = settings !== undefined && settings.size > 0 ? { pending: true } : {};
    if (document instanceof DocumentFault || identity === undefined) {
      const fault = document instanceof DocumentFault ? document : new DocumentFault('is gone', 'put it back');
      const finding = { message: fault.message, hint: fault.hint, line: fault.line };
      return { tools: [], problems: [toProblem(file, 'error', finding)], ...states, ...again };
    }
    const own = settings?.get(name) ?? NONE;
    const taken = namesBeside(entry, place, isDocument, (other) => open(join(place.directory, other), place));
    const key = JSON.stringify([own, place.owner, [...taken]]);
    let known = made.get(document);
    if (known?.key !== key) {
      known = { key, ...readAll(document, { name, identity, place, settings: own, taken }) };
      made.set(document, known);
    }
    const { tools, findings } = known;
    const problems = findings.map((finding) => toProblem(file, finding.severity ?? 'error', finding));
    return { tools, problems, ...states, ...again };
  };

  return {
    settle,
    read(entry, place, snapshot) {
      try {
        return read(entry, place, snapshot);
      } catch (error) {
        if (error instanceof Unparsed) return NOT_YET;
        throw error;
      }
    },
  };
}

function readAll(document: OpenDocument, options: OperationOptions): ReadOperations {
  try {
    return readOperations(document, options);
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error;
    return { tools: [], findings: [{ message: error.message, hint: error.hint }] };
  }
}

function isUnchanged({ files }: OpenDocument): boolean {
  return [...files].every(([path, state]) => state !== undefined && sameIdentity(statIdentity(path), state));
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
  document: OpenDocument | DocumentFault,
  identity: FileIdentity | undefined,
): Pick<Reading, 'states' | 'files'> {
  const others =
    document instanceof DocumentFault ? [] : [...document.files].filter(([path]) => path !== document.file);
  return {
    files: [entry, '.', ...others.map(([path]) => relative(directory, path))],
    states: [identity, statIdentity(directory), ...others.map(([, state]) => state)],
  };
}

// The names of other tools in the directory, and of the operations of documents before this one.
function namesBeside(
  entry: string,
  place: Place,
  isDocument: (name: string) => boolean,
  open: (other: string) => OpenDocument | DocumentFault,
): ReadonlySet<string> {
  if (place.kind === 'documents') return new Set();
  const taken = new Set<string>();
  for (const name of readdirSync(place.directory).sort()) {
    if (!isDocument(name)) taken.add(name.replace(/\.tool\.m?[jt]s$/, ''));
    else if (name < entry) {
      const document = open(name);
      if (!(document instanceof DocumentFault)) for (const one of namesIn(document)) taken.add(one);
    }
  }
  return taken;
}

function* namesIn({ root, follow, file }: OpenDocument): Generator<string> {
  for (const [path, value] of Object.entries(isRecord(root.paths) ? root.paths : {})) {
    if (!isRecord(value)) continue;
    let item: Readonly<Record<string, unknown>>;
    try {
      item = follow({ node: value, file }).node;
    } catch {
      continue;
    }
    for (const [method, operation] of Object.entries(item))
      if (METHODS.includes(method) && isRecord(operation)) yield operationName(operation.operationId, method, path);
  }
}
