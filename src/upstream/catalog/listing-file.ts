// Stored tool lists and failed starts of servers, by configuration hash.

import { join } from 'node:path';
import type { JsonObject } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import {
  anything,
  integer,
  list,
  matches,
  object,
  oneOf,
  optional,
  type Shape,
  string,
  table,
} from '../../core/shape.js';
import type { World } from '../../core/snapshot.js';
import type { Traits } from '../../core/tool.js';
import { createStatCache } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { checkStateDirectory } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';
import type { NegotiatedVersion } from '../connection/handshake.js';
import type { OfferKind } from '../remote-tool.js';

/** A tool in the stored tool list of its server. */
export interface StoredTool {
  readonly name: string;
  readonly remoteName: string;
  /** Absent for a tool. */
  readonly offers?: OfferKind;
  readonly description: string;
  readonly traits: Traits;
  readonly definition: string;
  readonly described?: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  /** The approved definition of a changed tool, which is shown until it is accepted (POL-21). */
  readonly approved?: ApprovedDefinition;
}

export type ApprovedDefinition = Pick<StoredTool, 'description' | 'traits' | 'input' | 'output'>;

/** The stored tool list of a server. */
export interface Listing {
  /** When it was listed, in milliseconds since 1970. */
  readonly at: number;
  /** The negotiated protocol version. */
  readonly version: NegotiatedVersion;
  /** The user whose login listed it, as a digest; absent: that of this machine. */
  readonly by?: string;
  /** What the server can do, by protocol name. */
  readonly capabilities?: JsonObject;
  /** Problems of the tool list; messages follow the name of the server. */
  readonly faults: readonly { readonly severity: 'error' | 'warning'; readonly message: string }[];
  readonly tools: readonly StoredTool[];
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
  /** Returns the tool list of a server, or why its last start failed if it was never listed. */
  load(configuration: string): Listing | FailedStart | undefined;
  save(configuration: string, listing: Listing): void;
  /** Stores a failed start; never in place of a tool list, which another process may have stored meanwhile (UPS-127). */
  saveFailure(configuration: string, failure: FailedStart): void;
  removeFailure(configuration: string): void;
  /** Stores the text of a list that was saved on another machine. */
  put(configuration: string, text: string): void;
}

const FORMAT = 3;
const MAX_BYTES = 64 * 1024 * 1024;

const OPEN = { unknown: 'keep' } as const;
const TRAITS = object({ tags: list(anything), examples: list(anything) }, OPEN);
const DEFINITION = { description: string, traits: TRAITS, input: table, output: optional(table) };
const TOOL = object(
  {
    ...DEFINITION,
    name: string,
    remoteName: string,
    definition: string,
    approved: optional(object(DEFINITION, OPEN)),
  },
  OPEN,
);
const LISTING = object(
  {
    format: oneOf(FORMAT),
    at: integer(),
    version: table,
    faults: list(object({ message: string }, OPEN)),
    tools: list(TOOL),
  },
  OPEN,
);
const FAILURE = object({ format: oneOf(FORMAT), at: integer(), count: integer(1), message: string, hint: string });

/** `onSave` is called with the text of every list that a server of this machine gave. */
export function createListingFiles(
  directory: string,
  world: World,
  onSave: (configuration: string, text: string) => void = () => {},
): ListingFiles {
  const listings = createLoad(LISTING, directory, world);
  const failures = createLoad(FAILURE, directory, world);
  const put = (file: string, text: string): void => {
    try {
      writeFileAtomic(file, text, { durable: false });
    } catch (error) {
      world.debug(`could not store a tool list: ${(error as Error).message}`);
    }
  };
  const fileOf = (configuration: string): string => join(directory, `${configuration}.listing`);
  const failureOf = (configuration: string): string => join(directory, `${configuration}.failure`);
  const removeFailure = (configuration: string): void => removeFile(failureOf(configuration));
  return {
    load: (configuration) =>
      (listings(fileOf(configuration)) as Listing | undefined) ??
      (failures(failureOf(configuration)) as FailedStart | undefined),
    save(configuration, listing) {
      const text = toText(listing);
      put(fileOf(configuration), text);
      removeFailure(configuration);
      onSave(configuration, text);
    },
    saveFailure: (configuration, failure) => put(failureOf(configuration), toText(failure)),
    removeFailure,
    put: (configuration, text) => put(fileOf(configuration), text),
  };
}

// Returns a function that loads a file of a shape. A damaged one is discarded as a whole.
function createLoad(shape: Shape<object>, directory: string, world: World): (file: string) => object | undefined {
  const cache = createStatCache<object | undefined>({ now: world.now, limit: MAX_BYTES, isState: () => true });
  return (file) =>
    cache.get(file, [file], ([text]) => {
      if (text === undefined) return undefined;
      // A file that others could have written is replaced, but not in a directory that they can write to.
      if (typeof text === 'object' && text.fault === 'unsafe') checkStateDirectory(directory);
      try {
        if (typeof text === 'object') throw new Error(text.message);
        const content: unknown = JSON.parse(text);
        if (matches(shape, content)) return content;
        throw new Error('damaged, or of another version');
      } catch (error) {
        world.debug(`${file}: discarded: ${(error as Error).message}`);
        return undefined;
      }
    });
}

function toText(content: Listing | FailedStart): string {
  return `${JSON.stringify({ format: FORMAT, ...content })}\n`;
}
