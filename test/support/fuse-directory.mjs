// Mounts an empty directory by FUSE, a file system of the kind that other machines can share: `fuse-directory.mjs DIRECTORY`.
// Prints a line when it is mounted. It is unmounted by `umount`, and then ends.

import { spawnSync } from 'node:child_process';
import { openSync, readSync, writeSync } from 'node:fs';

const directory = process.argv[2];
const device = openSync('/dev/fuse', 'r+');
const options = `fd=3,rootmode=40000,user_id=${process.getuid()},group_id=${process.getgid()}`;
const stdio = ['ignore', 'ignore', 'inherit', device];
const { status } = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'wield-test', directory], { stdio });
if (status !== 0) process.exit(1);
process.stdout.write('mounted\n');

// Numbers of requests, and errors.
const [FORGET, GETATTR, STATFS, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS] = [2, 3, 17, 26, 27, 28, 29, 34];
const [ENOENT, ENOSYS] = [2, 38];
const [LOOKUP, SILENT] = [1, new Set([FORGET, 42])];

const attributes = () => {
  const body = Buffer.alloc(104);
  body.writeBigUInt64LE(1n, 0); // How long they are valid.
  body.writeBigUInt64LE(1n, 16); // The inode.
  body.writeUInt32LE(0o40700, 76);
  body.writeUInt32LE(2, 80);
  body.writeUInt32LE(process.getuid(), 84);
  body.writeUInt32LE(process.getgid(), 88);
  return body;
};
const version = () => {
  const body = Buffer.alloc(64);
  body.writeUInt32LE(7, 0);
  body.writeUInt32LE(31, 4);
  body.writeUInt32LE(4096, 20); // The longest write.
  return body;
};
const ANSWERS = {
  [INIT]: version,
  [GETATTR]: attributes,
  [STATFS]: () => Buffer.alloc(80),
  [OPENDIR]: () => Buffer.alloc(16),
  [READDIR]: () => Buffer.alloc(0),
  [RELEASEDIR]: () => Buffer.alloc(0),
  [ACCESS]: () => Buffer.alloc(0),
};

const request = Buffer.alloc(1 << 17);
for (;;) {
  try {
    readSync(device, request);
  } catch {
    // It was unmounted.
    break;
  }
  const opcode = request.readUInt32LE(4);
  if (SILENT.has(opcode)) continue;
  const body = ANSWERS[opcode]?.();
  const head = Buffer.alloc(16);
  head.writeUInt32LE(16 + (body?.length ?? 0), 0);
  if (body === undefined) head.writeInt32LE(opcode === LOOKUP ? -ENOENT : -ENOSYS, 4);
  request.copy(head, 8, 8, 16);
  writeSync(device, body === undefined ? head : Buffer.concat([head, body]));
}
