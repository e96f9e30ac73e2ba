// Files that name running brokers, to end them and what they left behind.

import { join } from 'node:path';
import { pause } from '../../core/async.js';
import { orNothing } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { namesIn } from '../../files/list.js';
import { isAlive } from '../../files/process-identity.js';
import { readStateFile } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { killAllMarked } from '../../process/group.js';

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
  const wasAlive = record !== undefined && isAlive(record.pid, record.started);
  if (wasAlive) await endProcess(record);
  // A broker that was killed left its files, and servers that go on without it (UPS-120). Another one may have started.
  if (readRecord(file)?.pid === record?.pid) for (const left of [file, file.replace(SUFFIX, '.sock')]) removeFile(left);
  if (record !== undefined) killAllMarked(record.mark, process.platform);
  return wasAlive;
}

async function endProcess({ pid, started }: BrokerRecord): Promise<void> {
  const until = performance.now() + END_MS;
  for (let signal: NodeJS.Signals | 0 = 'SIGTERM'; isAlive(pid, started); signal = 0) {
    orNothing(() => process.kill(pid, performance.now() > until ? 'SIGKILL' : signal));
    await pause(POLL_MS);
  }
}
