// Stored tool lists, by configuration hash: one line per tool, so that a listing parses no schemas.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import type { World } from '../../core/snapshot.js';
import { createStatCache } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { checkStateDirectory } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';
import type { StoredHead, StoredTool } from './to-tool.js';

/** The stored tool list of a server. */
export interface Listing {
  /** When it was listed, in milliseconds since 1970. */
  readonly at: number;
  /** The negotiated protocol version, as the SDK accepts it. */
  readonly version: Json;
  /** What the server can do, by protocol name; absent in older files. */
  readonly capabilities?: JsonObject;
  /** Problems of the tool list; messages follow the name of the server. */
  readonly faults: readonly { readonly severity: 'error' | 'warning'; readonly message: string }[];
  readonly tools: readonly ListedTool[];
}

export interface ListedTool {
  readonly head: StoredHead;
  /** Parses the whole tool on first use. */
  whole(): StoredTool;
}

/** Why the last start failed. */
export interface FailedStart {
  readonly at: number;
  readonly count: number;
  readonly message: string;
  readonly hint: string;
}

export function isFailedStart(value: object): value is FailedStart {
  return 'count' in value;
}

export interface ListingFiles {
  load(configuration: string): Listing | FailedStart | undefined;
  save(configuration: string, listing: Omit<Listing, 'tools'>, tools: readonly StoredTool[]): void;
  saveFailure(configuration: string, failure: FailedStart): void;
  remove(configuration: string): void;
  /** Stores the text of a list that was saved on another machine. */
  put(configuration: string, text: string): void;
}

const FIRST_LINE = 'wield-upstream\t1';
const MAX_BYTES = 64 * 1024 * 1024;

/** `onSave` is called with the text of every list that a server of this machine gave. */
export function createListingFiles(
  directory: string,
  world: World,
  onSave: (configuration: string, text: string) => void = () => {},
): ListingFiles {
  const cache = createStatCache<Listing | FailedStart | undefined>({
    now: world.now,
    limit: MAX_BYTES,
    isState: () => true,
  });
  const fileOf = (configuration: string): string => join(directory, `${configuration}.listing`);
  const put = (configuration: string, text: string): void => {
    try {
      writeFileAtomic(fileOf(configuration), text, { durable: false });
    } catch (error) {
      world.debug(`could not store a tool list: ${(error as Error).message}`);
    }
  };
  const remove = (configuration: string): void => {
    removeFile(fileOf(configuration));
  };
  return {
    load(configuration) {
      const file = fileOf(configuration);
      return cache.get(configuration, [file], ([text]) => {
        if (text === undefined) return undefined;
        // A file that others could have written is replaced, but not in a directory that they can write to.
        if (typeof text === 'object' && text.fault === 'unsafe') checkStateDirectory(directory);
        try {
          if (typeof text === 'object') throw new Error(text.message);
          return parse(text, () => remove(configuration));
        } catch (error) {
          world.debug(`${file}: discarded: ${(error as Error).message}`);
          return undefined;
        }
      });
    },
    save(configuration, { version, ...listing }, tools) {
      const text = toText([JSON.stringify({ ...listing, verdict: version }), ...tools.map(formatTool)]);
      put(configuration, text);
      onSave(configuration, text);
    },
    saveFailure(configuration, failure) {
      put(configuration, toText([JSON.stringify({ failed: failure })]));
    },
    remove,
    put,
  };
}

function toText(lines: readonly string[]): string {
  return `${[FIRST_LINE, ...lines, 'end'].join('\n')}\n`;
}

// Head and rest, separated by a tab, which JSON text does not contain.
function formatTool({ name, remoteName, offers, description, traits, changed, ...rest }: StoredTool): string {
  return `${JSON.stringify({ name, remoteName, offers, description, traits, changed })}\t${JSON.stringify(rest)}`;
}

function parse(text: string, discard: () => void): Listing | FailedStart {
  const lines = text.split('\n');
  if (lines[0] !== FIRST_LINE || lines[lines.length - 2] !== 'end') throw new Error('truncated, or another version');
  const header = JSON.parse(lines[1]!) as unknown;
  if (!isRecord(header)) throw new Error('no header');
  if (isFailure(header.failed)) return header.failed;
  if (!isHeader(header)) throw new Error('invalid header');
  const { verdict, ...rest } = header;
  return { ...rest, version: verdict, tools: lines.slice(2, -2).map((line) => parseTool(line, discard)) };
}

function parseTool(line: string, discard: () => void): ListedTool {
  const tab = line.indexOf('\t');
  const head = JSON.parse(line.slice(0, tab)) as unknown;
  if (!isHead(head)) throw new Error('invalid tool');
  let whole: StoredTool | undefined;
  return {
    head,
    whole() {
      whole ??= { ...head, ...parseRest(head, line.slice(tab + 1), discard) };
      return whole;
    },
  };
}

function parseRest({ name }: StoredHead, text: string, discard: () => void): Rest {
  try {
    const rest = JSON.parse(text) as unknown;
    if (isRest(rest)) return rest;
  } catch {
    // Reported below.
  }
  discard();
  throw new ToolError('io', `the stored definition of ${name} is invalid`, {
    hint: 'try again; its server will be listed again',
  });
}

// A damaged file is discarded as a whole.
function isFailure(value: unknown): value is FailedStart {
  return (
    isRecord(value) &&
    typeof value.at === 'number' &&
    typeof value.count === 'number' &&
    typeof value.message === 'string' &&
    typeof value.hint === 'string'
  );
}

function isHeader(value: Record<string, unknown>): value is Header & Record<string, unknown> {
  const { at, verdict, faults } = value;
  return (
    typeof at === 'number' &&
    isRecord(verdict) &&
    Array.isArray(faults) &&
    faults.every((fault) => isRecord(fault) && typeof fault.message === 'string')
  );
}

function isHead(value: unknown): value is StoredHead {
  return (
    isRecord(value) &&
    typeof value.name === 'string' &&
    typeof value.remoteName === 'string' &&
    typeof value.description === 'string' &&
    isTraits(value.traits)
  );
}

function isRest(value: unknown): value is Rest {
  if (!isRecord(value)) return false;
  const { definition, input, output, approved } = value;
  const isSchema = (schema: unknown): boolean => schema === undefined || isRecord(schema);
  const isApproved =
    approved === undefined ||
    (isRecord(approved) &&
      typeof approved.description === 'string' &&
      isTraits(approved.traits) &&
      isRecord(approved.input) &&
      isSchema(approved.output));
  return typeof definition === 'string' && isRecord(input) && isSchema(output) && isApproved;
}

function isTraits(value: unknown): boolean {
  return isRecord(value) && Array.isArray(value.tags) && Array.isArray(value.examples);
}

/** `verdict` is the name of the version in the file. */
type Header = Omit<Listing, 'tools' | 'version'> & { readonly verdict: Json };
type Rest = Omit<StoredTool, keyof StoredHead>;
