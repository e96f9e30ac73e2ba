// What a server listed, on disk by the hash of its configuration: a line a tool, so that listing parses no schema.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../core/json.js';
import { type FileIdentity, sameIdentity } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { readTextFile, statIdentity } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import type { KeptHead, KeptTool } from './to-tool.js';

/** What is known of a server without starting it. */
export interface Listing {
  /** When it was asked, in milliseconds since 1970. */
  readonly at: number;
  /** Which era it speaks, as the protocol's client wants to hear it. */
  readonly verdict: Json;
  readonly instructions?: string;
  /** What is odd about it, in words that follow its name. */
  readonly faults: readonly { readonly severity: 'error' | 'warning'; readonly message: string }[];
  readonly tools: readonly ListedTool[];
}

export interface ListedTool {
  readonly head: KeptHead;
  /** The whole of it, read at the first call. */
  whole(): KeptTool;
}

/** Why the last start gave nothing. */
export interface FailedStart {
  readonly at: number;
  readonly count: number;
  readonly message: string;
  readonly hint: string;
}

export interface ListingFiles {
  load(configuration: string): Listing | FailedStart | undefined;
  save(configuration: string, listing: Omit<Listing, 'tools'>, tools: readonly KeptTool[]): void;
  saveFailure(configuration: string, failure: FailedStart): void;
  remove(configuration: string): void;
}

const FIRST_LINE = 'wield-upstream\t1';
const MAX_BYTES = 64 * 1024 * 1024;

export function createListingFiles(directory: string, world: World): ListingFiles {
  const known = new Map<
    string,
    { state: FileIdentity | undefined; listing: Listing | FailedStart | undefined }
  >();
  const fileOf = (configuration: string): string => join(directory, `${configuration}.listing`);
  const write = (configuration: string, lines: readonly string[]): void => {
    try {
      writeFileAtomic(fileOf(configuration), `${[FIRST_LINE, ...lines, 'end'].join('\n')}\n`, {
        durable: false,
      });
    } catch (error) {
      world.debug(`a list of tools was not kept: ${(error as Error).message}`);
    }
    known.delete(configuration);
  };
  return {
    load(configuration) {
      const file = fileOf(configuration);
      const state = statIdentity(file);
      const before = known.get(configuration);
      if (before !== undefined && sameIdentity(before.state, state)) return before.listing;
      let listing: Listing | FailedStart | undefined;
      try {
        const text = state === undefined ? undefined : readTextFile(file, MAX_BYTES);
        listing = text === undefined ? undefined : parse(text);
      } catch (error) {
        world.debug(`${file}: discarded: ${(error as Error).message}`);
      }
      known.set(configuration, { state, listing });
      return listing;
    },
    save(configuration, listing, tools) {
      write(configuration, [JSON.stringify(listing), ...tools.map(formatTool)]);
    },
    saveFailure(configuration, failure) {
      write(configuration, [JSON.stringify({ failed: failure })]);
    },
    remove(configuration) {
      rmSync(fileOf(configuration), { force: true });
      known.delete(configuration);
    },
  };
}

// The head, then the rest: neither has a tab or a line break in its JSON.
function formatTool({ name, remoteName, description, traits, changed, ...rest }: KeptTool): string {
  return `${JSON.stringify({ name, remoteName, description, traits, changed })}\t${JSON.stringify(rest)}`;
}

function parse(text: string): Listing | FailedStart {
  const lines = text.split('\n');
  if (lines[0] !== FIRST_LINE || lines[lines.length - 2] !== 'end')
    throw new Error('cut short, or of another version');
  const header = JSON.parse(lines[1]!) as Omit<Listing, 'tools'> & { readonly failed?: FailedStart };
  if (header.failed !== undefined) return header.failed;
  return { ...header, tools: lines.slice(2, -2).map(parseTool) };
}

function parseTool(line: string): ListedTool {
  const tab = line.indexOf('\t');
  const head = JSON.parse(line.slice(0, tab)) as KeptHead;
  let whole: KeptTool | undefined;
  return {
    head,
    whole() {
      whole ??= { ...head, ...(JSON.parse(line.slice(tab + 1)) as Rest) };
      return whole;
    },
  };
}

type Rest = Omit<KeptTool, keyof KeptHead>;
