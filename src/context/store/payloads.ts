// The contents of documents, as files named by their hash.

import { closeSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { orNothing } from '../../core/error.js';
import type { Readable } from '../../core/store.js';
import { loadCrypto } from '../../files/digest.js';
import { namesIn } from '../../files/list.js';
import { openState, statOrNothing } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { writeFileAtomic } from '../../files/write.js';

export const MAX_DOCUMENT_BYTES = 1024 * 1024 * 1024;

export function createPayloads(directory: () => string) {
  const fileOf = (hash: string): string => join(directory(), hash.slice(0, 2), hash);
  return {
    fileOf,
    /** Writes the content if it is not stored yet, and returns its hash. */
    write(content: Uint8Array): string {
      const hash = loadCrypto().createHash('sha256').update(content).digest('hex');
      const file = fileOf(hash);
      if (statOrNothing(file)?.size !== content.length) writeFileAtomic(file, content, { durable: false });
      return hash;
    },
    /** Opens the content for reading in pieces; undefined if the file is missing or unreadable. */
    open(hash: string): (Pick<Readable, 'read'> & { close(): void }) | undefined {
      const descriptor = orNothing(() => openState(fileOf(hash)));
      if (descriptor === undefined) return undefined;
      return {
        read(offset, length) {
          const buffer = Buffer.allocUnsafe(length);
          return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset));
        },
        close: () => closeSync(descriptor),
      };
    },
    /** Removes all payloads but these, and returns what it removed or, in a dry run, would remove. */
    removeOthers(needed: ReadonlySet<unknown>, dryRun: boolean) {
      let files = 0;
      let bytes = 0;
      for (const folder of namesIn(directory())) {
        for (const name of namesIn(join(directory(), folder))) {
          if (needed.has(name)) continue;
          const file = join(directory(), folder, name);
          bytes += statOrNothing(file)?.size ?? 0;
          files++;
          if (!dryRun) removeFile(file);
        }
      }
      return { files, bytes };
    },
  };
}
