// Files that name running brokers, to end them and what they left behind.

import { join } from 'node:path';
import { pause } from '../../core/async.js';
import { orNothing } from '../../core/error.js';
import { type Infer, integer, object, text } from '../../core/shape.js';
import { namesIn } from '../../files/list.js';
import { isAlive } from '../../files/process-identity.js';
import { readStateAs } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { killAllMarked } from '../../process/group.js';

// Those of other versions may have more.
const RECORD = object(
  {
    pid: integer(1),
    /** Start time of the process. */
    started: integer(),
    /** The prefix of the marks of what it starts. */
    mark: text('a mark', /^\d+-\d+$/),
  },
  { unknown: 'keep' },
);
type BrokerRecord = Infer<typeof RECORD>;

const SUFFIX = '.json';
const END_MS = 5000;
const POLL_MS = 20;

export function recordOf(socket: string): string {
  return socket.replace(/\.sock$/, SUFFIX);
}

export function readRecord(file: string): BrokerRecord | undefined {
  return readStateAs(RECORD, file, 1000);
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
