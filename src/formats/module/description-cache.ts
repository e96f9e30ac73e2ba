// Cache of the descriptions of modules, so that listing their tools does not load them again (MOD-8).

import { join } from 'node:path';
import { canonicalJson, type Json } from '../../core/json.js';
import type { World } from '../../core/snapshot.js';
import { digestParts } from '../../files/digest.js';
import { readStateFile } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import { type Description, readDescription } from './description.js';

// Increased whenever the structure or meaning of a description changes.
const VERSION = '3';

export interface DescriptionCache {
  get(key: string): Description | undefined;
  set(key: string, description: Description): void;
}

/** Creates a cache in memory and on disk, keyed by the hash of the described files. Invalid files are ignored. */
export function createDescriptionCache(directory: string, world: World): DescriptionCache {
  const known = new Map<string, Description>();
  const fileOf = (key: string): string => join(directory, `${key}.json`);
  const load = (key: string): Description | undefined => {
    const file = fileOf(key);
    try {
      const text = readStateFile(file);
      if (text === undefined) return undefined;
      const { digest, description } = JSON.parse(text) as { digest: string; description: Json };
      if (digest !== seal(key, description)) throw new Error('modified, or written by another version');
      return readDescription(description);
    } catch (error) {
      world.debug(`${file}: discarded: ${(error as Error).message}`);
      return undefined;
    }
  };
  return {
    get(key) {
      const found = known.get(key) ?? load(key);
      if (found !== undefined) known.set(key, found);
      return found;
    },
    set(key, description) {
      known.set(key, description);
      const file = fileOf(key);
      try {
        const sealed = { digest: seal(key, description as unknown as Json), description };
        writeFileAtomic(file, JSON.stringify(sealed), { durable: false });
      } catch (error) {
        world.debug(`${file}: not written: ${(error as Error).message}`);
      }
    },
  };
}

function seal(key: string, description: Json): string {
  return digestParts([VERSION, key, canonicalJson(description)]);
}
