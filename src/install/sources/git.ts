// Git, run so that nothing of a repository, a user or a system can make it run anything else (INS-7).

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { writeFileAtomic } from '../../files/write.js';
import { baseEnvironment, searchPath } from '../../process/environment.js';
import { findProgram } from '../../process/interpreter.js';
import { runProcess } from '../../process/spawn.js';
import type { InstallContext } from '../environment.js';
import type { Pin } from '../manifest/source-manifest.js';

const TIMEOUT_MS = 15 * 60_000;
const OUTPUT_BYTES = 256 * 1024 * 1024;
// Ways to a server, and who may answer there; nothing of it makes git run anything.
const PASSED = [
  'SSH_AUTH_SOCK',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'HTTPS_PROXY',
  'https_proxy',
  'NO_PROXY',
  'no_proxy',
];
const SAFE = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.askPass=',
  'credential.helper=',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'transfer.fsckObjects=true',
  'fetch.fsckObjects=true',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
  'protocol.ext.allow=never',
];

export interface Fetched {
  readonly commit: string;
  /** The branch or tag that led to it. */
  readonly ref: string | null;
  /** The pin, now known to be a branch or a tag. */
  readonly pin: Pin | null;
}

type GitContext = Pick<InstallContext, 'world' | 'signal' | 'report'>;

async function git(
  context: GitContext,
  cwd: string,
  args: readonly string[],
  { variables = {}, tell }: { variables?: Record<string, string>; tell?: (line: string) => void } = {},
): Promise<{ readonly ok: boolean; readonly stdout: Buffer; readonly stderr: string }> {
  const { world, signal } = context;
  const binary = findProgram('git', searchPath(world));
  if (binary === undefined) {
    throw new ToolError('unavailable', 'git is not on this machine', {
      hint: 'install git, or add a local directory instead',
    });
  }
  const outcome = await runProcess(
    {
      argv: [binary, ...SAFE.flatMap((setting) => ['-c', setting]), ...args],
      cwd,
      environment: {
        ...baseEnvironment(world, PASSED),
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_TERMINAL_PROMPT: '0',
        GIT_ALLOW_PROTOCOL: 'https:ssh:file',
        GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
        GIT_NO_REPLACE_OBJECTS: '1',
        GIT_ATTR_NOSYSTEM: '1',
        GIT_LFS_SKIP_SMUDGE: '1',
        LC_ALL: 'C',
        ...variables,
      },
      stdin: '',
      timeoutMs: TIMEOUT_MS,
      outputBytes: OUTPUT_BYTES,
      signal,
      ...(tell === undefined
        ? {}
        : {
            onOutput: (chunk, from) => {
              if (from === 'stderr')
                for (const line of chunk.toString('utf8').split(/[\r\n]+/)) if (line) tell(line);
            },
          }),
    },
    world,
  );
  if (outcome.ending === 'cancelled')
    throw new ToolError('cancelled', 'git was stopped', { hint: 'run the command again' });
  if (outcome.ending === 'timeout')
    throw new ToolError('timeout', 'git did not end in time', { hint: 'try again with a better connection' });
  return {
    ok: outcome.ending === 'exit' && outcome.exitCode === 0,
    stdout: outcome.stdout,
    stderr: outcome.stderr.toString('utf8'),
  };
}

/** Fetches one commit of a repository into a bare directory and proves that it is the one that was meant (INS-7). */
export async function fetchCommit(
  context: GitContext,
  url: string,
  pin: Pin | null,
  gitDirectory: string,
): Promise<Fetched> {
  mkdirSync(gitDirectory, { recursive: true, mode: 0o700 });
  const inside = [`--git-dir=${gitDirectory}`];
  const must = async (
    args: readonly string[],
    what: string,
    tell?: (line: string) => void,
  ): Promise<string> => {
    const run = await git(context, gitDirectory, [...inside, ...args], tell === undefined ? {} : { tell });
    if (!run.ok) throw gitError(url, what, run.stderr);
    return run.stdout.toString('utf8');
  };
  await must(['init', '--quiet', '--bare', '--template='], 'cannot be prepared');
  const listed = await must(['ls-remote', '--symref', '--', url], 'cannot be reached');
  const refs = readRefs(listed);
  const { ref, commit } = chooseRef(refs, pin, url);
  const tell = (line: string): void => {
    if (/^(?:Receiving|Resolving)/.test(line)) context.report({ kind: 'progress', text: quoteOutside(line) });
  };
  const options = [
    'fetch',
    '--progress',
    '--no-tags',
    '--no-recurse-submodules',
    '--no-write-fetch-head',
    '--force',
  ];
  const target = '+refs/wield/fetched';
  const wanted = ref ?? commit!;
  const shallow = await git(
    context,
    gitDirectory,
    [...inside, ...options, '--depth=1', '--', url, `${wanted}:${target.slice(1)}`],
    { tell },
  );
  // Some servers give single commits only as part of a branch.
  if (!shallow.ok && ref !== null) throw gitError(url, 'cannot be fetched', shallow.stderr);
  if (!shallow.ok) await must([...options, '--', url, '+refs/*:refs/wield/all/*'], 'cannot be fetched', tell);
  const name = shallow.ok ? target.slice(1) : commit!;
  const proved = (
    await must(['rev-parse', '--verify', '--end-of-options', `${name}^{commit}`], 'has no such commit')
  ).trim();
  if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(proved) || (pin?.to === 'commit' && proved !== pin.name)) {
    throw new ToolError(
      'integrity',
      `${showUrl(url)} gave ${proved.slice(0, 12)} for the commit ${pin?.name}`,
      {
        hint: 'do not use this repository until you know why',
      },
    );
  }
  // Kept for as long as the commit is in use; the next fetch would let it go.
  await must(['update-ref', `refs/wield/commits/${proved}`, proved], 'cannot be written');
  const to = pin?.to === 'ref' ? (ref?.startsWith('refs/tags/') ? 'tag' : 'branch') : undefined;
  return {
    commit: proved,
    ref: ref?.replace(/^refs\/(?:heads|tags)\//, '') ?? null,
    pin: pin !== null && to !== undefined ? { ...pin, to } : pin,
  };
}

/** Writes the files of a commit into an empty directory, and the list of them beside it. */
export async function exportTree(
  context: GitContext,
  gitDirectory: string,
  commit: string,
  tree: string,
): Promise<void> {
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true, mode: 0o700 });
  const index = `${tree}.index`;
  const variables = { GIT_INDEX_FILE: index };
  const inside = [`--git-dir=${gitDirectory}`, `--work-tree=${tree}`];
  try {
    for (const args of [
      ['read-tree', commit],
      ['checkout-index', '--all', '--force', '--quiet'],
    ]) {
      const run = await git(context, gitDirectory, [...inside, ...args], { variables });
      if (!run.ok) throw gitError(tree, 'cannot be checked out', run.stderr);
    }
  } finally {
    rmSync(index, { force: true });
  }
  const list = await git(context, gitDirectory, [
    ...inside.slice(0, 1),
    'ls-tree',
    '-r',
    '-z',
    '--name-only',
    '--full-tree',
    commit,
  ]);
  if (!list.ok) throw gitError(tree, 'cannot be listed', list.stderr);
  writeFileAtomic(`${tree}.files`, list.stdout, { durable: false });
}

/** The files of an exported commit, as git tracks them. */
export function readTracked(tree: string): ReadonlySet<string> {
  return new Set(readFileSync(`${tree}.files`, 'utf8').split('\0'));
}

interface Refs {
  readonly head: string | null;
  readonly commits: ReadonlyMap<string, string>;
}

function readRefs(listed: string): Refs {
  let head: string | null = null;
  const commits = new Map<string, string>();
  for (const line of listed.split('\n')) {
    const [first = '', name] = line.split('\t');
    if (name === undefined) continue;
    if (first.startsWith('ref: ') && name === 'HEAD') head = first.slice('ref: '.length);
    // A tag with a message is listed twice; what it leads to comes second.
    else commits.set(name.replace(/\^\{\}$/, ''), first);
  }
  return { head, commits };
}

function chooseRef(
  { head, commits }: Refs,
  pin: Pin | null,
  url: string,
): { ref: string | null; commit: string | null } {
  const take = (ref: string): { ref: string; commit: string } | undefined =>
    commits.has(ref) ? { ref, commit: commits.get(ref)! } : undefined;
  if (pin?.to === 'commit') return { ref: null, commit: pin.name };
  if (pin === null) {
    const found = (head === null ? undefined : take(head)) ?? take('HEAD');
    if (found) return found;
    throw new ToolError('not_found', `${showUrl(url)} has no commit yet`, {
      hint: 'push something to it first',
    });
  }
  const names = [
    ...(pin.to === 'branch' ? [] : [`refs/tags/${pin.name}`]),
    ...(pin.to === 'tag' ? [] : [`refs/heads/${pin.name}`]),
  ];
  for (const name of names) {
    const found = take(name);
    if (found) return found;
  }
  throw new ToolError(
    'not_found',
    `${showUrl(url)} has no ${pin.to === 'ref' ? 'tag or branch' : pin.to} ${quoteOutside(pin.name, 80)}`,
    {
      hint: 'name another with --pin, or a commit by its 40 digits',
    },
  );
}

function gitError(where: string, what: string, stderr: string): ToolError {
  const reason = stderr
    .split(/[\r\n]+/)
    .filter((line) => /^(?:fatal|error|remote|ERROR)/.test(line))
    .map((line) => line.replace(/^(?:fatal|error): /, ''));
  const text = quoteOutside(showUrl(reason.join('; ') || 'git failed'), 300);
  return new ToolError('unavailable', `${showUrl(where)} ${what}: ${text}`, {
    hint: 'check the address, your connection and your right to read it',
  });
}

/** A URL for people and records: never with a password in it. */
export function showUrl(url: string): string {
  return url.replace(/(\w+:\/\/)[^/@\s]*@/g, '$1');
}

/** The directory of a clone's history, and of one of its commits. */
export function clonePaths(sources: string, directory: string, commit: string | null) {
  const root = join(sources, directory);
  return { root, git: join(root, 'git'), tree: join(root, 'trees', commit ?? 'none') };
}
