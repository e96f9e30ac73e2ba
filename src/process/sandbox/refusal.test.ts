// Tests what is found in the output of a failed process.

import { describe, expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import { findRefusal, refusedError } from './refusal.js';

const SANDBOX: SandboxPlan = {
  profile: 'workdir',
  backend: 'bubblewrap',
  version: null,
  read: 'all',
  write: ['/nowhere/work', '/nowhere/file', '/nowhere/made/'],
  hidden: ['/nowhere/home/.ssh'],
  denied: [],
  guarded: ['/nowhere/work/.git'],
  rules: new Map([
    ['/', 'read'],
    ['/nowhere/work', 'write'],
    ['/nowhere/file', 'write'],
    ['/nowhere/made', 'write'],
    ['/nowhere/home/.ssh', 'hidden'],
    ['/nowhere/work/.git', 'read'],
    ['/nowhere/work/.env', 'hidden'],
    ['/sys', 'read'],
    ['/sys/class/net', 'hidden'],
  ]),
  network: false,
  dropped: [],
  workdir: '/nowhere/work',
  tables: ['tool'],
  byProject: false,
  launcher: [],
  prepare: [],
  searched: { root: '/nowhere/work', skipped: [], places: [], found: new Map() },
};
const PROCESS = { name: 'tool', sandbox: SANDBOX, cwd: '/nowhere/work', home: '/nowhere/home' };

/** What was refused, and the path that the hint allows. */
function read(output: string, cwd = PROCESS.cwd): string | undefined {
  const refusal = findRefusal(output, { ...PROCESS, cwd });
  if (refusal === undefined) return undefined;
  const { message, hint } = refusedError(refusal, PROCESS);
  const [, line = hint] = /\[sandbox\.tool\] (.*), or run/.exec(hint!) ?? [];
  return `${message.replace(/^.*?\): /, '')} | ${line!.replace('".", "/nowhere/file", "/nowhere/made/", ', '')}`;
}

describe('the refusal in an output', () => {
  spec('EXE-13', 'is a file that a shell names without its directory', () => {
    for (const output of [
      'sh: 1: cannot create a: Read-only file system',
      '/bin/sh: 1: cannot open a: Permission denied',
    ])
      expect(read(output, '/nowhere/home')).toMatch(/~\/a /);
  });

  for (const [output, expected] of [
    ['bash: line 1: /nowhere/home/a: Read-only file system', 'write to ~/a | write = ["~/a"]'],
    ["OSError: [Errno 30] Read-only file system: '/nowhere/home/a'", 'write to ~/a | write = ["~/a"]'],
    ["in makedirs\nOSError: [Errno 30] Read-only file system: '/nowhere/home/a'", 'write to ~/a | write = ["~/a/"]'],
    ["Error: EROFS: read-only file system, mkdir '/nowhere/home/a'", 'write to ~/a | write = ["~/a/"]'],
    ["mkdir: cannot create directory '/nowhere/home/a': Read-only file system", 'write to ~/a | write = ["~/a/"]'],
    ["rm: cannot remove '/nowhere/home/a': Read-only file system", 'write to ~/a | write = ["~"]'],
    ["sed: couldn't open temporary file /nowhere/home/sedX: Read-only file system", 'write to ~/sedX | write = ["~"]'],
    ["Error: EROFS: read-only file system, rename '/nowhere/home/a' -> '/b'", 'write to ~/a | write = ["~"]'],
    [
      "fatal: Unable to create '/nowhere/work/.git/index.lock': Read-only file system",
      'write to /nowhere/work/.git | write = [".git"]',
    ],
    [
      "rm: cannot remove '/nowhere/file': Device or resource busy",
      'write to /nowhere/file | write = [".", "/nowhere"]',
    ],
    ["mv: cannot move '.env' to 'y': Device or resource busy", 'write to /nowhere/work/.env | write = [".env"]'],
    ["rm: cannot remove '.git': Device or resource busy", 'write to /nowhere/work/.git | write = [".git"]'],
    [
      "mv: inter-device move failed: 'a' to '/nowhere/b'; unable to remove target: Read-only file system",
      'write to /nowhere/b | write = [".", "/nowhere"]',
    ],
    ["ls: cannot open directory '/sys/class/net': Permission denied", 'use of the network | network = true'],
    ["rm: cannot remove '/nowhere/made': Read-only file system", 'write to /nowhere/made | write = [".", "/nowhere"]'],
    ['cat: /nowhere/home/.ssh/id: Permission denied', 'read of ~/.ssh/id | read = ["/", "~/.ssh/id"]'],
    [
      "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server",
      'use of the network | network = true',
    ],
    ['wget: unable to resolve host address ‘example.com’', 'use of the network | network = true'],
    ['fetch failed', 'use of the network | network = true'],
  ] as const) {
    spec('EXE-13', `is a path or the network: ${output.replace('\n', ' ')}`, () => {
      expect(read(output)).toBe(expected);
    });
  }

  for (const output of [
    'mount: /mnt: permission denied.',
    'unshare: unshare failed: Operation not permitted',
    'bwrap: Creating new namespace failed: Operation not permitted',
    'su: cannot set groups: Operation not permitted',
    'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.',
    'mknod: c: Operation not permitted',
    'cat: /proc/keys: Permission denied',
    'strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted',
    "OSError: [Errno 18] Invalid cross-device link: 'a' -> '/nowhere/home/a'",
  ]) {
    spec('EXE-13', `is an operation that no profile allows: ${output}`, () => {
      expect(read(output)).toBe(`${output} | no profile allows it; run it with --sandbox none`);
    });
  }

  for (const output of [
    'cat: missing: No such file or directory',
    'cat: mount: No such file or directory',
    'permission denied: user bob may not deploy',
    "chmod: changing permissions of 'mount/socket': Operation not permitted",
    './socket: Permission denied',
    "mkdir: cannot create directory '/nowhere/made': File exists",
    '403 Forbidden',
  ]) {
    spec('EXE-13', `is not what fails by itself: ${output}`, () => {
      expect(read(output)).toBeUndefined();
    });
  }

  spec('EXE-13 EXE-84', 'is a connection without the proxy, where there is one', () => {
    const sandbox = { ...SANDBOX, network: ['example.com'] };
    const find = (host: string) =>
      findRefusal(`curl: (7) Failed to connect to ${host} port 80 after 0 ms: Couldn't connect to server`, {
        ...PROCESS,
        sandbox,
      });
    expect(find('192.0.2.1')).toEqual({ what: 'network' });
    for (const own of ['127.0.0.1', 'localhost', '::1']) expect(find(own)).toBeUndefined();
  });
});
