// The program of the broker: listens on its socket until nothing has used it for a while.

import { lstatSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { orNothing, ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import { startTime } from '../../files/process-identity.js';
import { removeFile } from '../../files/remove.js';
import { writeFileAtomic } from '../../files/write.js';
import { killAllMarked, ownMark } from '../../process/group.js';
import type { BrokerAddress } from './address.js';
import { createPeer } from './peer.js';
import { type Challenge, createChallenge, removeChallenges } from './proof.js';
import { readRecord, recordOf } from './record.js';
import { createSharedServers } from './servers.js';
import { type BrokerSession, createBrokerSession } from './session.js';

// Without servers and sessions.
const IDLE_MS = 30_000;
// How long a process may take to prove that it may connect.
const PROOF_MS = 10_000;
const CHECK_MS = 5000;

const {
  directory,
  socket: path,
  build,
  home,
  version,
} = JSON.parse(process.argv[2]!) as BrokerAddress & {
  readonly home?: string;
};
process.umask(0o077);
const world: World = {
  env: {},
  home,
  platform: process.platform,
  now: Date.now,
  monotonic: () => performance.now(),
  debug: () => {},
  debugging: false,
};
let idle: NodeJS.Timeout | undefined;
const onLeft = (): void => {
  clearTimeout(idle);
  if (servers.isIdle()) idle = setTimeout(() => void end(), IDLE_MS);
};
const servers = createSharedServers({ version, world, onLeft });
const server = createServer(accept);

function accept(socket: Socket): void {
  let session: BrokerSession | undefined;
  let challenge: Challenge | undefined;
  let pid = 0;
  const timer = setTimeout(() => session ?? socket.destroy(), PROOF_MS);
  const peer = createPeer(socket, {
    async request(method, params, signal) {
      if (session !== undefined) return session.request(method, params, signal);
      if (method === 'hello' && challenge === undefined && params.build === build) {
        challenge = createChallenge(directory, build);
        pid = Number(params.pid);
        return { build, pid: process.pid, challenge: challenge.file };
      }
      if (method === 'prove' && challenge?.isMetBy(pid)) {
        session = createBrokerSession(servers, peer);
        return true;
      }
      setImmediate(() => socket.end());
      throw new ToolError('denied', 'this process may not use the broker', { hint: 'connect without it' });
    },
    event: (method, params) => session?.event(method, params),
  });
  peer.closed.then(() => {
    clearTimeout(timer);
    challenge?.end();
    session?.end();
  });
}

let isEnding = false;

async function end(): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  // Closing the server removes the file of that name, which may be the socket of another one by now.
  if (isOwn()) {
    removeFile(recordOf(path));
    server.close();
  }
  await servers.close();
  process.exit();
}

const own = { inode: 0 };
const isOwn = (): boolean => orNothing(() => lstatSync(path).ino) === own.inode;

// What a broker that was killed left behind. The process that starts this one has a lock.
const before = readRecord(recordOf(path));
if (before !== undefined) killAllMarked(before.mark, world.platform);
removeFile(path);
removeChallenges(directory, build);
server.on('error', () => process.exit(1));
server.listen(path, () => {
  own.inode = lstatSync(path).ino;
  const record = { pid: process.pid, started: startTime(process.pid) ?? 0, mark: ownMark() };
  writeFileAtomic(recordOf(path), JSON.stringify(record));
  process.stdout.on('error', () => {});
  process.stdout.write('ready\n');
  onLeft();
  // Nobody can reach it any more, such as after its home was removed.
  setInterval(() => isOwn() || void end(), CHECK_MS);
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void end());
