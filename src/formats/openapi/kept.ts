// Keeps large documents in the cache as they were read, while the bytes of their files are the same (OAS-11).

import { join } from 'node:path';
import { createTurns } from '../../core/async.js';
import type { FileState } from '../../core/format.js';
import type { World } from '../../core/snapshot.js';
import { checksum, hashName } from '../../files/checksum.js';
import { loadCrypto } from '../../files/digest.js';
import { readHead, statIdentity } from '../../files/read.js';
import { realPath } from '../../files/within.js';
import { writeFileAtomic } from '../../files/write.js';
import { findEntry } from '../../process/entry.js';
import { type Prepared, readPackedHead, unpack } from './packed.js';
import { keyOf, type PrepareOptions, THREAD_ENTRY } from './prepare.js';

export interface KeptOptions {
  readonly cacheDirectory: string;
  readonly world: World;
}

export interface KeptDocuments {
  /** Returns the document if it was kept by this build and its files have the same bytes. */
  load(file: string, options: PrepareOptions): Promise<Prepared | undefined>;
  save(file: string, options: PrepareOptions, packed: Buffer): void;
}

const MAX_BYTES = 256 * 1024 * 1024;
const END_LENGTH = 'end\t00000000\n'.length;
// Hashed in about 5 ms.
const TURN_BYTES = 4 * 1024 * 1024;

export function createKeptDocuments({ cacheDirectory, world }: KeptOptions): KeptDocuments {
  // What converts documents is in the program of the thread, so another build reads them again.
  const firstLine = (file: string, options: PrepareOptions): string =>
    `${JSON.stringify(['wield-openapi', statIdentity(findEntry(THREAD_ENTRY)), file, keyOf(options)])}\n`;
  const pathOf = (line: string): string => join(cacheDirectory, `${hashName(line)}.openapi`);
  return {
    async load(file, options) {
      const line = firstLine(file, options);
      const reading = readHead(pathOf(line), MAX_BYTES, { isState: true });
      if ('fault' in reading) return undefined;
      try {
        const packed = bodyOf(reading.bytes, line);
        const states = await compareFiles(packed, file, options);
        return states && unpack(packed, states);
      } catch (error) {
        world.debug(`${pathOf(line)}: discarded: ${(error as Error).message}`);
        return undefined;
      }
    },
    save(file, options, packed) {
      const line = firstLine(file, options);
      const body = Buffer.concat([Buffer.from(line), packed]);
      if (body.length + END_LENGTH > MAX_BYTES) return;
      try {
        writeFileAtomic(pathOf(line), Buffer.concat([body, endOf(body)]), { durable: false });
      } catch (error) {
        world.debug(`${pathOf(line)}: not written: ${(error as Error).message}`);
      }
    },
  };
}

function endOf(body: Buffer): Buffer {
  return Buffer.from(`end\t${checksum(body)}\n`);
}

function bodyOf(bytes: Buffer, line: string): Buffer {
  const body = bytes.subarray(0, Math.max(0, bytes.length - END_LENGTH));
  if (!bytes.subarray(body.length).equals(endOf(body))) throw new Error('truncated or altered');
  const start = Buffer.from(line);
  if (!body.subarray(0, start.length).equals(start)) throw new Error('of another document');
  return body.subarray(start.length);
}

// Returns the states of the files, undefined if one of them has other bytes.
async function compareFiles(
  packed: Buffer,
  file: string,
  { boundary }: PrepareOptions,
): Promise<Prepared['files'] | undefined> {
  const { digests, files } = readPackedHead(packed);
  if (files[0]?.[0] !== (realPath(file) ?? file)) return undefined;
  const states: [string, FileState][] = [];
  const turn = createTurns();
  for (const [path] of files) {
    await turn();
    const reading = readHead(path, MAX_BYTES + 1, { within: boundary });
    if ('fault' in reading || !reading.complete) return undefined;
    if ((await digestInTurns(reading.bytes, turn)) !== digests[path]) return undefined;
    states.push([path, reading.identity]);
  }
  return states;
}

async function digestInTurns(bytes: Buffer, turn: ReturnType<typeof createTurns>): Promise<string> {
  const hash = loadCrypto().createHash('sha256');
  for (let at = 0; at < bytes.length; at += TURN_BYTES) {
    await turn();
    hash.update(bytes.subarray(at, at + TURN_BYTES));
  }
  return hash.digest('hex');
}
