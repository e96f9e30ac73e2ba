// What a sandboxed process attempts, and which profile lets it succeed.

import { existsSync, linkSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { hasProgram, NO_NAMESPACES, notInstalled, succeeds } from './machine.js';
import type { Workspace } from './workspace.js';

export type SandboxProfileName = 'none' | 'read-only' | 'workdir' | 'no-network';

export interface Attempt {
  readonly name: string;
  /** A bash command that exits with 0 if the attempt succeeded. */
  readonly command: string;
  /** The profiles in which it succeeds; `none` is not listed. */
  readonly allowed: readonly SandboxProfileName[];
  /** The same under Landlock, where that differs. */
  readonly landlock?: readonly SandboxProfileName[];
  /** Whether it also succeeds without a sandbox, so that a refusal means something. Default: true. */
  readonly works?: boolean;
}

const ALL = ['read-only', 'workdir', 'no-network'] as const;
const WRITES = ['workdir', 'no-network'] as const;
const NEVER = [] as const;

const connect = (target: string): string =>
  `node -e 'const s=require("net").connect(${target});s.on("connect",()=>process.exit(0));s.on("error",()=>process.exit(1));setTimeout(()=>process.exit(1),2000)'`;

/** A system call by its numbers for x64 and arm64. */
const systemCall = ([x64, arm64]: readonly [number, number], args: string, done = '$r >= 0'): string =>
  `perl -e 'my $b = "\\0" x 128; my $r = syscall(${process.arch === 'arm64' ? arm64 : x64}, ${args}); exit(${done} ? 0 : 1)'`;
const openSocket = (family: number, type: number, protocol = 0): string =>
  systemCall([41, 198], `${family}, ${type}, ${protocol}`);

/** Exchanges two directories, by `renameat2`. */
const EXCHANGE = `mkdir -p other && ${systemCall([316, 276], '-100, (my $f = "very"), -100, (my $t = "other"), 2', '$r == 0')} && ${systemCall([316, 276], '-100, (my $f = "very"), -100, (my $t = "other"), 2', '$r == 0')}`;

/** The smallest program that asks for its process id by the 32-bit interface of x64. */
const SYSTEM_CALL_32 = Buffer.from(
  [
    '7f454c4602010100000000000000000002003e000100000078004000000000004000000000000000',
    '000000000000000000000000400038000100000000000000',
    '0100000005000000000000000000000000004000000000000000400000000000',
    '900000000000000090000000000000000010000000000000',
    'b814000000cd8031ff85c07f02ffc7b83c0000000f05',
  ].join(''),
  'hex',
).toString('base64');

/**
 * Attempts. Landlock allows whole directories: next to a path that it must not allow, nothing can be created, so the
 * workdir (with `.agents` and `.env`) and the home (with secrets) get no new entries. It does not know modes,
 * processes and signals. `$PEER`, `$PORT`, `$PORT6`, `$SOCKET` and `$ABSTRACT` are of processes outside.
 */
export const ATTEMPTS: readonly Attempt[] = [
  // Secrets
  { name: 'reads an SSH key', command: 'cat ~/.ssh/id_rsa', allowed: NEVER },
  { name: 'lists the SSH directory', command: 'ls ~/.ssh', allowed: NEVER },
  { name: 'reads AWS credentials', command: 'cat ~/.aws/credentials', allowed: NEVER },
  { name: 'reads a GnuPG key', command: 'cat ~/.gnupg/secring.gpg', allowed: NEVER },
  { name: 'reads a Chrome profile', command: 'cat ~/.config/google-chrome/Default/Cookies', allowed: NEVER },
  { name: 'reads a Firefox profile', command: 'cat ~/.mozilla/firefox/cookies.sqlite', allowed: NEVER },
  { name: 'reads a kube configuration', command: 'cat ~/.kube/config', allowed: NEVER },
  { name: 'reads a docker configuration', command: 'cat ~/.docker/config.json', allowed: NEVER },
  { name: 'reads .netrc', command: 'cat ~/.netrc', allowed: NEVER },
  { name: 'reads .npmrc', command: 'cat ~/.npmrc', allowed: NEVER },
  { name: 'reads git credentials', command: 'cat ~/.git-credentials', allowed: NEVER },
  { name: 'reads the keys of a virtual machine', command: 'cat ~/.lima/_config/user', allowed: NEVER },
  { name: 'reads .ENV of the workdir', command: 'cat sub/.ENV', allowed: NEVER },
  { name: 'reads .env of the workdir', command: 'cat .env', allowed: NEVER },
  { name: 'reads .env.local of the workdir', command: 'cat .env.local', allowed: NEVER },
  { name: 'reads .env in a subdirectory', command: 'cat deep/er/.env', allowed: NEVER },
  { name: 'reads .envrc of the workdir', command: 'cat .envrc', allowed: NEVER },
  { name: 'reads another name of .env', command: 'cat sub/linked', allowed: NEVER },
  { name: 'reads another name of .netrc', command: 'cat linked', allowed: NEVER },
  { name: 'reads an example of .env', command: 'cat .env.example', allowed: ALL },
  { name: 'reads the history of a shell', command: 'cat ~/.local/share/fish/fish_history', allowed: NEVER },
  { name: 'reads tokens of Maven', command: 'cat ~/.m2/settings.xml', allowed: NEVER },
  { name: 'reads messages', command: 'cat ~/.config/Signal/sql/db.sqlite', allowed: NEVER },
  { name: 'reads a token that no list names', command: 'cat ~/.config/pypoetry/auth.toml', allowed: NEVER },
  { name: 'reads credentials beside programs', command: 'cat ~/.local/share/uv/credentials/a', allowed: NEVER },
  { name: 'lists the home', command: 'ls ~', allowed: NEVER },
  { name: 'lists the homes of others', command: 'ls /root || ls /home', allowed: NEVER, works: false },
  { name: 'runs a program of the home', command: '~/.local/bin/own', allowed: ALL },
  {
    name: 'writes a cache',
    command: 'mkdir -p ~/.cache/own && echo x > ~/.cache/own/file',
    allowed: ALL,
    landlock: NEVER,
  },
  { name: 'reads .env far down', command: 'cat very/deep/down/in/the/tree/.env', allowed: NEVER },
  { name: 'reads .env of a package', command: 'cat node_modules/own/.env', allowed: NEVER },
  { name: 'moves a directory with a far secret away', command: 'mv very away && mv away very', allowed: NEVER },
  { name: 'exchanges a directory with a secret', command: EXCHANGE, allowed: NEVER },
  { name: 'reads the state of wield', command: 'cat "$STATE/config.toml"', allowed: NEVER },
  { name: 'lists the state of wield', command: 'ls "$STATE"', allowed: NEVER },
  { name: 'reads a secret through a link', command: 'cat link-to-key', allowed: NEVER },
  { name: 'reads a secret through /proc/self/root', command: 'cat /proc/self/root$HOME/.ssh/id_rsa', allowed: NEVER },
  {
    name: 'reads a secret through process 1',
    command: 'cat /proc/1/root$HOME/.ssh/id_rsa',
    allowed: NEVER,
    works: false,
  },
  { name: 'uncovers a secret', command: 'umount ~/.ssh; cat ~/.ssh/id_rsa', allowed: NEVER },
  { name: 'removes a cover', command: 'rm -f .env && cat .env', allowed: NEVER, works: false },
  { name: 'moves a directory with a secret away', command: 'mv deep deeper && cat deeper/er/.env', allowed: NEVER },
  { name: 'writes an SSH key', command: 'echo x >> ~/.ssh/authorized_keys', allowed: NEVER },
  { name: 'reads the password file of the system', command: 'cat /etc/shadow', allowed: NEVER },
  // Reads
  { name: 'reads the workdir', command: 'cat notes.txt', allowed: ALL },
  { name: 'reads the home', command: 'cat ~/notes.txt', allowed: NEVER },
  { name: 'reads the system', command: 'cat /etc/passwd', allowed: ALL },
  // Writes
  { name: 'writes the workdir', command: 'echo x > new.txt', allowed: WRITES, landlock: NEVER },
  { name: 'makes a directory in the workdir', command: 'mkdir made', allowed: WRITES, landlock: NEVER },
  { name: 'writes a temporary file', command: 'f=$(mktemp) && echo x > "$f"', allowed: ALL },
  { name: 'writes the home', command: 'echo x > ~/written', allowed: NEVER },
  { name: 'appends to a start-up file', command: 'echo x >> ~/.bashrc', allowed: NEVER },
  // Into its private /tmp, where the workspaces of tests are; outside nothing changes.
  { name: 'writes beside the workdir', command: 'echo x > ../beside', allowed: ALL, landlock: NEVER },
  { name: 'writes through a link out', command: 'echo x > link-out/through', allowed: NEVER },
  {
    name: 'writes after swapping a link',
    command: 'ln -sfn "$HOME" swap && echo x > swap/swapped',
    allowed: NEVER,
  },
  {
    name: 'links a foreign file into the workdir',
    command: 'ln ~/notes.txt hard && echo x >> hard',
    allowed: NEVER,
  },
  { name: 'moves a file out', command: 'cp notes.txt moving && mv moving ~/moved', allowed: NEVER },
  { name: 'changes a mode outside', command: 'chmod 600 ~/notes.txt', allowed: NEVER, landlock: ALL },
  { name: 'touches a file outside', command: 'touch ~/notes.txt', allowed: NEVER, landlock: ALL },
  { name: 'plants a tool', command: 'cp notes.txt .agents/tools/planted', allowed: NEVER },
  { name: 'plants a git hook', command: 'cp notes.txt .git/hooks/pre-commit', allowed: NEVER },
  { name: 'changes the git configuration', command: 'echo x >> .git/config', allowed: NEVER },
  { name: 'changes a kernel setting', command: 'echo 1 > /proc/sys/kernel/sysrq', allowed: NEVER, works: false },
  // Opened without writing.
  {
    name: 'opens settings of the kernel for writing',
    command:
      'find /proc/sys/kernel /proc/sys/vm /proc/sys/fs /proc/sysrq-trigger /proc/irq /proc/fs /sys/power /sys/kernel /sys/module -type f -perm /222 2>/dev/null | head -600 | (while read -r f; do (: >> "$f") 2>/dev/null && exit 0; done; exit 1)',
    allowed: NEVER,
    works: false,
  },
  { name: 'writes to /sys', command: 'echo 1 > /sys/kernel/uevent_helper', allowed: NEVER, works: false },
  // Processes
  { name: 'sees another process', command: 'test -e /proc/$PEER', allowed: NEVER, landlock: ALL },
  { name: 'reads the environment of another process', command: 'cat /proc/$PEER/environ', allowed: NEVER },
  { name: 'reads the files of another process', command: 'ls /proc/$PEER/fd/', allowed: NEVER, landlock: ALL },
  { name: 'leaves through another process', command: 'cat /proc/$PEER/root$HOME/.ssh/id_rsa', allowed: NEVER },
  { name: 'signals another process', command: 'kill -0 $PEER', allowed: NEVER, landlock: ALL },
  {
    name: 'traces another process',
    command: `perl -e 'exit(syscall(101, 16, $ENV{PEER}, 0, 0) == 0 ? 0 : 1)'`,
    allowed: NEVER,
    works: false,
  },
  {
    name: 'enters the namespaces of another process',
    command: 'nsenter -t $PEER -m true',
    allowed: NEVER,
    works: false,
  },
  {
    name: 'reads the memory of another process',
    command: `perl -e 'open(my $f, "<", "/proc/$ENV{PEER}/mem") or exit 1'`,
    allowed: NEVER,
    works: false,
  },
  {
    name: 'copies the memory of another process',
    command: systemCall(
      [310, 270],
      '0 + $ENV{PEER}, (my $to = pack("pQ", $b, 8)), 1, (my $from = pack("Q2", 8, 8)), 1, 0',
      '$r >= 0 || $!{EFAULT}',
    ),
    allowed: NEVER,
    works: false,
  },
  {
    name: 'holds another process',
    command: systemCall([434, 434], '0 + $ENV{PEER}, 0'),
    allowed: NEVER,
    landlock: ALL,
  },
  // It is not more than running any other file.
  {
    name: 'runs a file in memory',
    command: `perl -e '$| = 1; my $f = syscall(${process.arch === 'arm64' ? 279 : 319}, my $n = "m", 0); open(my $h, ">&=", $f); open(my $i, "<", "/bin/true"); local $/; syswrite($h, <$i>); exec {"/proc/self/fd/$f"} "m"'`,
    allowed: ALL,
  },
  {
    name: 'reads the shared memory of others',
    command: 'cat "$SHARED"',
    allowed: NEVER,
  },
  { name: 'finds the shared memory of System V', command: 'ipcs -m | grep -q ^0x', allowed: NEVER, works: false },
  // Sockets and network
  {
    name: 'connects to a socket in the home',
    command: connect('{path:process.env.SOCKET}'),
    allowed: NEVER,
    landlock: ALL,
  },
  {
    name: 'connects to an agent in the home',
    command: connect('{path:process.env.AGENT}'),
    allowed: NEVER,
    landlock: ALL,
  },
  { name: 'connects to an abstract socket', command: connect('{path:"\\0"+process.env.ABSTRACT}'), allowed: NEVER },
  {
    name: 'connects to the host by IPv4',
    command: connect('{port:+process.env.PORT,host:"127.0.0.1"}'),
    allowed: NEVER,
  },
  { name: 'connects to the host by IPv6', command: connect('{port:+process.env.PORT6,host:"::1"}'), allowed: NEVER },
  { name: 'reaches another network', command: connect('{port:9,host:"192.0.2.1"}'), allowed: NEVER, works: false },
  { name: 'asks a name server', command: 'getent hosts example.invalid', allowed: NEVER, works: false },
  {
    name: 'opens a raw socket',
    command: `perl -MSocket -e 'exit(socket(my $s, PF_INET, SOCK_RAW, 1) ? 0 : 1)'`,
    allowed: NEVER,
    works: false,
  },
  {
    name: 'sees other network interfaces',
    command: 'test $(grep -c : /proc/net/dev) -gt 1',
    allowed: NEVER,
    works: false,
  },
  {
    name: 'sees network devices of the system',
    command: 'ls /sys/class/net/* || ls /sys/devices/virtual/net/*',
    allowed: NEVER,
  },
  { name: 'sees sockets of the system', command: 'find /run -type s | grep -q .', allowed: NEVER, works: false },
  // Namespaces and rights
  { name: 'makes a user namespace', command: 'unshare -U true', allowed: NEVER },
  { name: 'makes a network namespace', command: 'unshare -n true', allowed: NEVER, works: false },
  { name: 'mounts', command: 'mount -t tmpfs none /mnt', allowed: NEVER, works: false },
  { name: 'makes the root writable', command: 'mount -o remount,rw / && touch /written', allowed: NEVER, works: false },
  { name: 'changes its root', command: 'chroot / true', allowed: NEVER, works: false },
  { name: 'may gain rights by setuid programs', command: 'grep -q "NoNewPrivs:.*0" /proc/self/status', allowed: NEVER },
  {
    name: 'has capabilities',
    command: 'grep -qv "^0*$" <(grep CapEff /proc/self/status | cut -f2)',
    allowed: NEVER,
    works: false,
  },
  // System calls. Programs of containers may refuse them, too.
  {
    name: 'finds the keys of the session',
    command: systemCall([250, 219], '0, -3, 0'),
    allowed: NEVER,
    works: false,
  },
  {
    name: 'adds a key',
    command: systemCall([248, 217], '(my $t = "user"), (my $n = "canary"), $b, 1, -3'),
    allowed: NEVER,
    works: false,
  },
  {
    name: 'requests a key',
    command: systemCall([249, 218], '(my $t = "user"), (my $n = "canary"), 0, 0', '$r >= 0 || !$!{EPERM}'),
    allowed: NEVER,
    works: false,
  },
  { name: 'lists the keys of its user', command: 'grep -q . /proc/keys', allowed: NEVER, landlock: ALL },
  { name: 'opens a socket of the virtual machine', command: openSocket(40, 1), allowed: NEVER, works: false },
  { name: 'opens a socket of ciphers', command: openSocket(38, 5), allowed: NEVER, works: false },
  { name: 'opens a socket of device events', command: openSocket(16, 3, 15), allowed: NEVER, works: false },
  { name: 'opens a socket of routes', command: openSocket(16, 3), allowed: ALL },
  { name: 'opens a socket of IPv6', command: openSocket(10, 1), allowed: ALL, works: false },
  { name: 'makes an io_uring', command: systemCall([425, 425], '4, $b'), allowed: NEVER, works: false },
  {
    name: 'makes a map of BPF',
    command: systemCall([321, 280], '0, (my $m = pack("L4 x112", 2, 4, 4, 1)), 72'),
    allowed: NEVER,
    works: false,
  },
  {
    name: 'counts events of the processor',
    command: systemCall(
      [298, 241],
      '(my $e = pack("L2 Q x96 Q", 1, 112, 1, 0x61)), 0, -1, -1, 0',
      '$r >= 0 || !$!{EPERM}',
    ),
    allowed: NEVER,
    works: false,
  },
  { name: 'handles page faults', command: systemCall([323, 282], '1'), allowed: NEVER, works: false },
  {
    name: 'types into a terminal',
    command: systemCall([16, 29], '0, 0x5412 + (1 << 32), $b', '!$!{EPERM}'),
    allowed: NEVER,
    works: false,
  },
  {
    name: 'uses another interface of the kernel',
    command: `f=$(mktemp) && echo ${SYSTEM_CALL_32} | base64 -d > "$f" && chmod +x "$f" && "$f" || exit 1`,
    allowed: NEVER,
    works: false,
  },
  {
    name: 'opens a file system',
    command: systemCall([430, 430], '(my $t = "tmpfs"), 0', '!$!{EPERM}'),
    allowed: NEVER,
    works: false,
  },
  // Devices
  { name: 'makes a device', command: 'mknod "${TMPDIR:-/tmp}/device" b 8 0', allowed: NEVER, works: false },
  { name: 'reads the memory of the system', command: 'head -c1 /dev/mem', allowed: NEVER, works: false },
  {
    name: 'sees a disk',
    command: 'ls /dev/vda /dev/sda /dev/nvme0n1 2>/dev/null | grep -q .',
    allowed: NEVER,
    landlock: ALL,
    works: false,
  },
  {
    name: 'reads a disk',
    command: 'for d in /dev/vda /dev/sda /dev/nvme0n1; do head -c1 $d && exit 0; done; exit 1',
    allowed: NEVER,
    works: false,
  },
  { name: 'reads the kernel log', command: 'head -c1 /dev/kmsg', allowed: NEVER, works: false },
  // What it was given
  {
    name: 'has a descriptor of a directory',
    command: 'for f in /proc/$$/fd/*; do test -d "$f" && exit 0; done; exit 1',
    allowed: NEVER,
    works: false,
  },
  { name: 'has a variable that was not passed on', command: 'printenv OUTER_SECRET', allowed: NEVER, works: false },
];

const SECRETS = [
  '.ssh/id_rsa',
  '.aws/credentials',
  '.gnupg/secring.gpg',
  '.config/google-chrome/Default/Cookies',
  '.mozilla/firefox/cookies.sqlite',
  '.kube/config',
  '.docker/config.json',
  '.netrc',
  '.npmrc',
  '.git-credentials',
  '.lima/_config/user',
  '.local/share/fish/fish_history',
  '.m2/settings.xml',
  '.config/Signal/sql/db.sqlite',
  '.config/pypoetry/auth.toml',
  '.local/share/uv/credentials/a',
];

/** Text of every secret; it must not appear in any output. */
export const CANARY = 'canary-7d1f';

/** Creates the files and the listening sockets of the attempts; returns the variables that name them. */
export async function prepareAttempts(workspace: Workspace): Promise<Record<string, string>> {
  const { dir, home, env } = workspace;
  for (const name of SECRETS) {
    const path = join(home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, CANARY);
  }
  workspace.config(`# ${CANARY}\n`);
  writeFileSync(join(home, 'notes.txt'), 'notes');
  writeFileSync(join(home, '.bashrc'), '');
  for (const name of ['notes.txt', '.git/hooks/sample', '.git/config']) workspace.write(name, 'text');
  const dotenv = ['.env', '.env.local', '.envrc', 'sub/.ENV', 'deep/er/.env', 'node_modules/own/.env'];
  for (const name of [...dotenv, 'very/deep/down/in/the/tree/.env']) workspace.write(name, CANARY);
  const program = join(home, '.local/bin/own');
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  workspace.write('.env.example', 'NAME=');
  linkSync(join(dir, '.env'), join(dir, 'sub/linked'));
  linkSync(join(home, '.netrc'), join(dir, 'linked'));
  symlinkSync(join(home, '.ssh/id_rsa'), join(dir, 'link-to-key'));
  symlinkSync(home, join(dir, 'link-out'));
  const shared = `/dev/shm/wield-${process.pid}-${Date.now()}`;
  writeFileSync(shared, CANARY);
  onTestFinished(() => rmSync(shared, { force: true }));
  const socket = join(home, 'socket');
  const agent = join(home, '.1password/agent.sock');
  mkdirSync(dirname(agent));
  const abstract = `wield-${process.pid}-${Date.now()}`;
  const [v4, v6] = await Promise.all([listen({ port: 0, host: '127.0.0.1' }), listen({ port: 0, host: '::1' })]);
  await Promise.all([listen({ path: socket }), listen({ path: agent }), listen({ path: `\0${abstract}` })]);
  return {
    PEER: String(process.pid),
    PORT: String(portOf(v4)),
    PORT6: String(portOf(v6)),
    SOCKET: socket,
    AGENT: agent,
    ABSTRACT: abstract,
    STATE: env.WIELD_HOME!,
    SHARED: shared,
  };
}

function listen(options: { port?: number; host?: string; path?: string }): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy());
    server.once('error', reject);
    server.listen(options, () => resolve(server));
    onTestFinished(() => void server.close());
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/**
 * A bash program that makes attempts and prints a line `NUMBER ok` or `NUMBER no` for each. Without a sandbox only
 * harmless ones may be made.
 */
export function attemptProgram(variables: Readonly<Record<string, string>>, { harmless = false } = {}): string {
  const set = Object.entries(variables).map(([name, value]) => `export ${name}=${quote(value)}`);
  const lines = ATTEMPTS.map(({ command, works }, at) =>
    harmless && works === false
      ? ''
      : `timeout 10 bash -c ${quote(command)} >/dev/null 2>&1 && echo "${at} ok" || echo "${at} no"`,
  );
  return [...set, ...lines].join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The names of the attempts that succeeded. */
export function readAttempts(output: string): readonly string[] {
  return [...output.matchAll(/^(\d+) ok$/gm)].map(([, at]) => ATTEMPTS[Number(at)]!.name);
}

export function expectedOf(
  profile: SandboxProfileName,
  backend: 'bubblewrap' | 'landlock' = 'bubblewrap',
): readonly string[] {
  const allows = ({ allowed, landlock = allowed }: Attempt): boolean =>
    (backend === 'landlock' ? landlock : allowed).includes(profile);
  return ATTEMPTS.filter(allows).map(({ name }) => name);
}

export const NO_LANDLOCK = 'no Landlock; to run: npm test as root, with Linux 6.2 and setpriv of util-linux 2.41';

export function hasLandlock(): boolean {
  const flags = '--no-new-privs --landlock-access fs --landlock-rule path-beneath:execute,read-file,read-dir:/';
  return (
    succeeds('setpriv', ...flags.split(' '), '--', 'unshare', '--version') &&
    succeeds('bash', '-c', 'setpriv --help | grep -q seccomp-filter') &&
    succeeds('unshare', '--net', 'true')
  );
}

/** Makes Landlock the first backend that works. Programs of the system come first, so PATH has links to all but bwrap. */
export function withoutBubblewrap(workspace: Workspace): void {
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'bwrap'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  for (const directory of process.env.PATH!.split(delimiter).filter((one) => existsSync(one))) {
    for (const name of readdirSync(directory)) {
      const link = join(bin, name);
      if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync(join(directory, name), link);
    }
  }
  workspace.env.PATH = bin;
}

export const NO_BUBBLEWRAP = hasProgram('bwrap') ? `bubblewrap: ${NO_NAMESPACES}` : notInstalled('bwrap');

export function hasBubblewrap(): boolean {
  const flags = '--unshare-all --unshare-user --disable-userns --cap-drop ALL --ro-bind / / --dev /dev --proc /proc';
  return succeeds('bwrap', ...flags.split(' '), '--tmpfs', '/run', '--', 'true');
}
