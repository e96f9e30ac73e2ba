// Fetches one commit of a git repository and verifies that it is the pinned one.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { makeDirectory } from '../../files/make-directory.js';
import { classifyHost, isWithinReach } from '../../net/address.js';
import type { InstallEnvironment } from '../environment.js';
import type { Pin } from '../manifest/source-manifest.js';
import { gitError, routeVariables, runGit } from './git.js';
import { assertSourceAllowed, hideUser, protocolOf } from './location.js';

export interface FetchedCommit {
  readonly commit: string;
  /** The branch or tag that was fetched. */
  readonly ref: string | null;
  /** The pin, with `ref` resolved to a branch or a tag. */
  readonly pin: Pin | null;
}

const FETCH = ['fetch', '--progress', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', '--force'];
// Receiving objects:  45% (9/20), 3.10 MiB | 2.00 MiB/s
const PROGRESS = /^(?:remote: )?Receiving objects: +(\d{1,3})%(?: \(\d+\/\d+\)(?:, ([\d.]+ [KMG]?i?B(?:ytes)?))?)?/;
const FETCHED = 'refs/wield/fetched';
/** The object of the tag, if one was asked for. */
export const TAG_REF = 'refs/wield/tag';
const MAX_REDIRECTS = 3;
const EVERYTHING = '+refs/*:refs/wield/all/*';

export interface FetchCommitOptions {
  readonly url: string;
  readonly pin: Pin | null;
  readonly gitDirectory: string;
  /** Shown as progress. */
  readonly label: string;
  /** A tag to fetch as well, whose signature can be verified then. */
  readonly tag?: string | undefined;
}

/** Fetches into a bare repository, one commit deep if the server allows it (INS-7). */
export async function fetchCommit(
  environment: InstallEnvironment,
  { url: given, pin, gitDirectory, label, tag }: FetchCommitOptions,
): Promise<FetchedCommit> {
  let url = given;
  makeDirectory(gitDirectory);
  environment.report({ kind: 'progress', text: label });
  const onLine = (line: string): void => {
    const [, share, size] = PROGRESS.exec(line) ?? [];
    if (share !== undefined) environment.report({ kind: 'progress', text: label, share: Number(share) / 100, size });
  };
  const run = async (args: readonly string[], more = {}) => {
    const variables = { ...(await routeVariables(url, environment)), ...more };
    return runGit(environment, { gitDirectory, protocol: protocolOf(url), variables, onLine }, args);
  };
  const mustRun = async (args: readonly string[], what: string): Promise<string> => {
    const { ok, stdout, stderr } = await run(args);
    if (!ok) throw gitError(url, what, stderr);
    return stdout.toString('utf8');
  };
  // Completes what an earlier fetch of a single commit left out.
  const fetchAll = () => {
    const unshallow = existsSync(join(gitDirectory, 'shallow')) ? ['--unshallow'] : [];
    return mustRun([...FETCH, ...unshallow, '--', url, EVERYTHING], 'could not fetch');
  };
  await mustRun(['init', '--quiet', '--bare', '--template='], 'could not create a repository for');
  const listRefs = async (redirects: number): Promise<string> => {
    const list = (variables?: object) => run(['ls-remote', '--symref', '--', url], variables);
    const { ok, stdout, stderr } = await list();
    if (ok) return stdout.toString('utf8');
    if (!REDIRECTED.test(stderr) || redirects === 0) throw gitError(url, 'could not reach', stderr);
    url = findMoved(url, (await list(SHOW_HEADERS)).stderr);
    assertSourceAllowed({ kind: 'git', location: url }, environment);
    return listRefs(redirects - 1);
  };
  const refs = parseRefs(await listRefs(MAX_REDIRECTS));
  const { ref, commit } = chooseRef(refs, pin, url);
  const isWhole = ref !== null || commit.length >= 40;
  const shallow = isWhole ? await run([...FETCH, '--depth=1', '--', url, `${ref ?? commit}:${FETCHED}`]) : undefined;
  // Some servers send a single commit only as part of a branch, and none by the beginning of its hash.
  if (shallow?.ok === false && ref !== null) throw gitError(url, 'could not fetch', shallow.stderr);
  if (!shallow?.ok) await fetchAll();
  const revision = `${shallow?.ok ? FETCHED : commit}^{commit}`;
  const fetched = (
    await mustRun(['rev-parse', '--verify', '--end-of-options', revision], 'commit not found in')
  ).trim();
  if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(fetched) || (pin?.to === 'commit' && !fetched.startsWith(pin.name))) {
    throw new ToolError('integrity', `${hideUser(url)} returned ${fetched.slice(0, 12)} for the commit ${pin?.name}`, {
      hint: 'do not use this repository until you know why',
    });
  }
  if (tag !== undefined) {
    await mustRun(['update-ref', '-d', TAG_REF], 'could not update');
    // Without it, the commit itself must be signed.
    if (isTagName(tag)) await run([...FETCH, '--depth=1', '--', url, `refs/tags/${tag}:${TAG_REF}`]);
  }
  // The ref protects the commit from being replaced by the next fetch.
  await mustRun(['update-ref', `refs/wield/commits/${fetched}`, fetched], 'could not store the commit of');
  return {
    commit: fetched,
    ref: ref?.replace(/^refs\/(?:heads|tags)\//, '') ?? null,
    pin: resolvePin(pin, ref, fetched),
  };
}

function isTagName(name: string): boolean {
  return /^[A-Za-z0-9][\w./+@-]*$/.test(name) && !/\.\.|@\{/.test(name);
}

// HEAD and the beginning of a commit are pinned to the commit itself.
function resolvePin(pin: Pin | null, ref: string | null, commit: string): Pin | null {
  if (pin === null || pin.to === 'branch' || pin.to === 'tag') return pin;
  if (ref === null || pin.name === 'HEAD') return { to: 'commit', name: commit };
  return { to: ref.startsWith('refs/tags/') ? 'tag' : 'branch', name: pin.name };
}

function parseRefs(listing: string) {
  let head: string | null = null;
  const commits = new Map<string, string>();
  for (const line of listing.split('\n')) {
    const [first = '', name] = line.split('\t');
    if (name === undefined) continue;
    if (first.startsWith('ref: ') && name === 'HEAD') head = first.slice('ref: '.length);
    // An annotated tag is listed twice; the second line, with ^{}, is its commit.
    else commits.set(name.replace(/\^\{\}$/, ''), first);
  }
  return { head, commits };
}

// Without a ref, the commit may be the beginning of one.
function chooseRef({ head, commits }: ReturnType<typeof parseRefs>, pin: Pin | null, url: string) {
  if (pin?.to === 'commit') return { ref: null, commit: pin.name };
  const [tag, branch] = [`refs/tags/${pin?.name}`, `refs/heads/${pin?.name}`];
  const isHead = pin === null || (pin.to === 'ref' && pin.name === 'HEAD');
  const names = isHead ? [head ?? 'HEAD', 'HEAD'] : { branch: [branch], tag: [tag], ref: [tag, branch] }[pin.to];
  const ref = names.find((name) => commits.has(name));
  if (ref !== undefined) return { ref, commit: commits.get(ref)! };
  if (pin?.to === 'ref' && /^[0-9a-f]{4,39}$/.test(pin.name)) return { ref: null, commit: pin.name };
  if (pin === null)
    throw new ToolError('not_found', `${hideUser(url)} has no commits`, { hint: 'push a commit first' });
  throw new ToolError(
    'not_found',
    `${hideUser(url)} has no ${pin.to === 'ref' ? 'tag or branch' : pin.to} ${quoteOutside(pin.name, 80)}`,
    { hint: 'pass another --pin, or a commit hash' },
  );
}

// Git itself follows none, wherever it leads.
const REDIRECTED = /returned error: 30[12378]\b/;
const LOCATION = /^.*<= Recv header: location: (.*)$/gim;
const REQUEST = '/info/refs?service=git-upload-pack';

// Shows the headers of responses in stderr; values that are secret are left out by git.
const SHOW_HEADERS = { GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' };

/** Returns where a repository has moved: an https address no nearer than the given one (INS-78). Throws `unavailable` for others. */
export function findMoved(url: string, stderr: string): string {
  const location = [...stderr.matchAll(LOCATION)].at(-1)?.[1]?.trim() ?? '';
  const target = URL.canParse(location, url) ? new URL(location, url) : undefined;
  const refuse = (why: string): ToolError =>
    new ToolError('unavailable', `${hideUser(url)} has moved to ${quoteOutside(hideUser(location), 200)}, ${why}`, {
      hint: 'if that address is correct, add it instead',
    });
  if (!target?.pathname.concat(target.search).endsWith(REQUEST) || !target.search.startsWith('?service='))
    throw refuse('which is not a repository');
  if (target.protocol !== 'https:') throw refuse('which is not encrypted');
  if (target.username !== '' || target.password !== '') throw refuse('which has credentials in it');
  const from = classifyHost(new URL(url).hostname).class;
  const { class: found, label } = classifyHost(target.hostname);
  if (from === 'forbidden' || !isWithinReach(found, from)) throw refuse(`which is ${label}`);
  return target.href.slice(0, target.href.indexOf(REQUEST));
}
