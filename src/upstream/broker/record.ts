// Files that name running brokers, to end them and what they left behind.

import { join } from 'node:path';
import { pause } from '../../core/async.js';
import { orNothing } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { namesIn } from '../../files/list.js';
import { isAlive } from '../../files/process-identity.js';
import { readStateFile } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';

export interface BrokerRecord {
  readonly pid: number;
  /** Start time of the process. */
  readonly started: number;
  /** The prefix of the marks of what it starts. */
  readonly mark: string;
}

const SUFFIX = '.json';
const MARK = /^\d+-\d+$/;
const END_MS = 5000;
const POLL_MS = 20;

export function recordOf(socket: string): string {
  return socket.replace(/\.sock$/, SUFFIX);
}

export function readRecord(file: string): BrokerRecord | undefined {
  const record = orNothing(() => JSON.parse(readStateFile(file, 1000) ?? 'null') as unknown);
  if (!isRecord(record) || !Number.isInteger(record.pid) || !MARK.test(String(record.mark))) return undefined;
  return record as unknown as BrokerRecord;
}

/** Ends all brokers of a directory, of other versions too; returns how many there were. */
export async function endBrokers(directory: string): Promise<number> {
  const files = namesIn(directory).filter((name) => name.endsWith(SUFFIX));
  const ended = await Promise.all(files.map((name) => endBroker(join(directory, name))));
  return ended.filter(Boolean).length;
}

async function endBroker(file: string): Promise<boolean> {
  const record = readRecord(file);
  if (record === undefined || !isAlive(record.pid, record.started)) {
    for (const left of [file, file.replace(SUFFIX, '.sock')]) removeFile(left);
    return false;
  }
  process.kill(record.pid, 'SIGTERM');
  const until = performance.now() + END_MS;
  while (isAlive(record.pid, record.started)) {
    if (performance.now() > until) process.kill(record.pid, 'SIGKILL');
    await pause(POLL_MS);
  }
  return true;
}
