// The seccomp filter of a sandbox: refuses system calls that reach what namespaces do not separate.

import { dirname, join } from 'node:path';
import { digestBytes } from '../../files/digest.js';
import { readHead } from '../../files/read.js';
import { createStateDirectory } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';

// Numbers for x64 and arm64.
const AUDIT_ARCH = [0xc000003e, 0xc00000b7] as const;
const REFUSED = {
  // Keys belong to a user, not to a namespace.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Large parts of the kernel that few tools need. io_uring opens sockets, too.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Refused without capabilities already, by bubblewrap.
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_by_handle_at: [304, 265],
} as const;
const IOCTL = [16, 29] as const;
const SOCKET = [41, 198] as const;
const SOCKETPAIR = [53, 199] as const;
const CLONE = [56, 220] as const;
const UNSHARE = [272, 97] as const;
const CLONE3 = 435;
// The x32 interface of x64 has numbers of its own.
const X32 = 0x40000000;

const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];
// They put text into a terminal as if a person had typed it.
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c];
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, NETLINK_ROUTE] = [1, 2, 10, 16, 0];
const [CLONE_NEW_ALL, CLONE_NEWTIME] = [0x7e020000, 0x80];

type Instruction = readonly [code: number, skipIfTrue: number, skipIfFalse: number, value: number];
type Instructions = readonly Instruction[];

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const LOAD_NUMBER = load(0);
const LOAD_ARCH = load(4);
// The lower half, which is all that the kernel uses of the arguments below.
const loadArgument = (index: number): Instruction => load(16 + 8 * index);
const when = (code: number, value: number, then: Instructions): Instructions => [
  [code, 0, then.length, value],
  ...then,
];
const whenEqual = (value: number, ...then: Instructions): Instructions => when(0x15, value, then);
const whenAtLeast = (value: number, ...then: Instructions): Instructions => when(0x35, value, then);
const whenAnyOf = (bits: number, ...then: Instructions): Instructions => when(0x45, bits, then);
const end = (action: number): Instruction => [0x06, 0, 0, action];
const ALLOW = end(0x7fff0000);
const KILL = end(0x80000000);
const fail = (errno: number): Instruction => end(0x00050000 + errno);

const FAMILIES: Instructions = [
  loadArgument(0),
  ...[AF_UNIX, AF_INET, AF_INET6].flatMap((family) => whenEqual(family, ALLOW)),
  ...whenEqual(AF_NETLINK, loadArgument(2), ...whenEqual(NETLINK_ROUTE, ALLOW)),
  fail(EAFNOSUPPORT),
];

function toInstructions(at: 0 | 1): Instructions {
  return [LOAD_ARCH, ...whenEqual(AUDIT_ARCH[at], ...toRules(at)), KILL];
}

function toRules(at: 0 | 1): Instructions {
  return [
    LOAD_NUMBER,
    ...(at === 0 ? whenAtLeast(X32, fail(ENOSYS)) : []),
    ...Object.values(REFUSED).flatMap((numbers) => whenEqual(numbers[at], fail(EPERM))),
    ...whenEqual(
      IOCTL[at],
      loadArgument(1),
      ...[TIOCSTI, TIOCLINUX].flatMap((code) => whenEqual(code, fail(EPERM))),
      ALLOW,
    ),
    ...whenEqual(SOCKET[at], ...FAMILIES),
    ...whenEqual(SOCKETPAIR[at], ...FAMILIES),
    ...whenEqual(CLONE[at], loadArgument(0), ...whenAnyOf(CLONE_NEW_ALL, fail(EPERM)), ALLOW),
    ...whenEqual(UNSHARE[at], loadArgument(0), ...whenAnyOf(CLONE_NEW_ALL + CLONE_NEWTIME, fail(EPERM)), ALLOW),
    // A filter cannot see its flags. The C library then uses clone.
    ...whenEqual(CLONE3, fail(ENOSYS)),
    ALLOW,
  ];
}

let compiled: Buffer | undefined;

function compile(): Buffer | undefined {
  const at = (['x64', 'arm64'] as const).indexOf(process.arch as 'x64');
  if (at === -1) return undefined;
  compiled ??= Buffer.concat(
    toInstructions(at as 0 | 1).map(([code, skipIfTrue, skipIfFalse, value]) => {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt16LE(code, 0);
      bytes.writeUInt8(skipIfTrue, 2);
      bytes.writeUInt8(skipIfFalse, 3);
      bytes.writeUInt32LE(value, 4);
      return bytes;
    }),
  );
  return compiled;
}

/** Returns the file of the filter; undefined if there is none for this architecture. */
export function filterFile(wieldHome: string): string | undefined {
  const bytes = compile();
  return bytes && join(wieldHome, 'cache', `filter-${digestBytes(bytes).slice(0, 16)}`);
}

/** Writes a file that `filterFile` returned, unless it is there, unchanged and private. */
export function createFilter(file: string): void {
  const bytes = compile()!;
  createStateDirectory(dirname(file));
  const reading = readHead(file, bytes.length + 1, { isState: true });
  if (!('fault' in reading) && bytes.equals(reading.bytes)) return;
  writeFileAtomic(file, bytes, { mode: 0o600 });
}
