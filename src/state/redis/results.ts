// Stored results of a fleet: written to a file, sent to Redis in pieces, and fetched by the front that is asked for them.

import { copyResult, isResultId, ownerOf, type ResultFiles } from '../../context/store/results.js';
import { isRecord, type Json } from '../../core/json.js';
import type { ResultLimits, ResultStore, ResultWriter, StoredResult } from '../../core/store.js';
import { type RedisKeyspace, reach } from './keyspace.js';

const PIECE = 1024 * 1024;
const HEAD = 'head';

// In one step: a process that ends in between must not leave a result that never expires.
const PUT = `
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
`;
// Nor may a result that expires meanwhile be created again.
const REPLACE = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
`;

export function createSharedResults(keyspace: RedisKeyspace, files: ResultFiles): ResultStore {
  const sending = new Set<Promise<void>>();

  const upload = async (stored: StoredResult, owner: string, { keepMs }: ResultLimits): Promise<void> => {
    const key = keyspace.hiddenKeyOf('result', stored.handle.id);
    const put = (field: string, value: Json) =>
      keyspace.redis.eval(PUT, 1, key, field, keyspace.seal(key, field, value), keepMs);
    try {
      for (let offset = 0; offset < stored.size; offset += PIECE)
        await put(String(offset / PIECE), Buffer.from(stored.read(offset, PIECE)).toString('base64'));
      await put(HEAD, { owner, size: stored.size, labels: stored.labels ?? [] });
    } finally {
      stored.close();
    }
  };
  const download = async (id: string, session: string): Promise<StoredResult | undefined> => {
    const { owner, size, labels } = toHead(await readField(keyspace, id, HEAD));
    if (owner === undefined || owner !== ownerOf(session)) return undefined;
    const writer = copyResult(files, id, owner);
    try {
      for (let offset = 0; offset < size!; offset += PIECE) {
        const piece = await readField(keyspace, id, String(offset / PIECE));
        // Expired meanwhile.
        if (piece === undefined) {
          writer.discard();
          return undefined;
        }
        writer.write(Buffer.from(String(piece), 'base64'));
      }
    } catch (error) {
      writer.discard();
      throw error;
    }
    writer.finish(labels);
    return files.open(id, session);
  };
  const fetching = new Map<string, Promise<unknown>>();
  // One copy at a time: two calls may read the same result.
  const fetch = async (id: string, session: string, keepMs?: number): Promise<StoredResult | undefined> => {
    await fetching.get(id)?.catch(() => {});
    const local = files.open(id, session, keepMs);
    if (local !== undefined) return local;
    const copy = reach(`the result ${id} cannot be fetched`, download(id, session));
    fetching.set(id, copy);
    return copy.finally(() => fetching.delete(id));
  };

  return {
    create(session, limits): ResultWriter {
      const writer = files.create(session, limits);
      return {
        ...writer,
        finish(labels) {
          const finished = writer.finish(labels);
          const stored = files.open(finished.handle.id, session);
          if (stored !== undefined) {
            const sent = upload(stored, ownerOf(session), limits);
            sending.add(sent);
            void sent.finally(() => sending.delete(sent)).catch(() => {});
          }
          return finished;
        },
      };
    },
    open(id, session, keepMs) {
      const local = files.open(id, session, keepMs);
      return local !== undefined || !isResultId(id) ? local : fetch(id, session, keepMs);
    },
    adopt: (id, session) => adopt(keyspace, files, id, session),
    share: () => Promise.all(sending).then(() => undefined),
    clean: files.clean,
  };
}

async function adopt(keyspace: RedisKeyspace, files: ResultFiles, id: string, session: string): Promise<void> {
  if (!isResultId(id)) return;
  files.adopt(id, session);
  const owner = ownerOf(session);
  const key = keyspace.hiddenKeyOf('result', id);
  const old = toHead(await readField(keyspace, id, HEAD));
  if (old.size === undefined) return;
  await keyspace.redis.eval(REPLACE, 1, key, HEAD, keyspace.seal(key, HEAD, { ...old, owner }));
}

async function readField(keyspace: RedisKeyspace, id: string, field: string): Promise<Json | undefined> {
  const key = keyspace.hiddenKeyOf('result', id);
  const sealed = await keyspace.redis.hget(key, field);
  return sealed === null ? undefined : keyspace.open(key, field, sealed);
}

interface Head {
  readonly owner: string;
  readonly size: number;
  readonly labels: readonly string[];
}

function toHead(value: unknown): Partial<Head> {
  const { owner, size, labels = [] } = isRecord(value) ? value : {};
  const isHead = typeof owner === 'string' && typeof size === 'number' && Array.isArray(labels);
  return isHead ? { owner, size, labels: labels.map(String) } : {};
}
