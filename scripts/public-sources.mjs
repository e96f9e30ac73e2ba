// Takes public plugin and skill repositories through add, install, verify, install --frozen in another home, outdated,
// upgrade and remove-source, and writes docs/reports/public-sources.md.
// Repositories are cloned into WIELD_SOURCES_CACHE (`~/.cache/wield-sources`), as OWNER/NAME, and git finds them there in
// place of github.com, so that an older commit can come first. Arguments choose repositories. `--files` installs only the
// newest commit, and reads the files that skills name; entries with `files` are only used for that.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FILES_HEADING, readNamedFiles, toFilesSection } from './public-skill-files.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const WIELD = join(ROOT, 'dist/cli/wield.cjs');
const CACHE = process.env.WIELD_SOURCES_CACHE ?? join(homedir(), '.cache', 'wield-sources');
const SOURCES = JSON.parse(readFileSync(new URL('public-sources.json', import.meta.url), 'utf8'));
// The older commit is a quarter of the history back, and at most this many commits.
const MOST_COMMITS_BACK = 100;
// What stays after everything is removed: a record without items, and compiled code.
const STAYS = /^\.wield(?:\/installed\.json|\/cache(?:\/.*)?)?$/;
const KINDS = ['skill', 'agent', 'server', 'command', 'rule', 'tool'];
const MIB = 1024 * 1024;

const git = (directory, ...args) =>
  execFileSync('git', [`--git-dir=${directory}`, ...args], {
    encoding: 'utf8',
    maxBuffer: 256 * MIB,
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

function clone(name) {
  const directory = join(CACHE, name);
  if (!existsSync(directory))
    execFileSync('git', ['clone', '--quiet', '--bare', `https://github.com/${name}`, directory]);
  return directory;
}

// A repository that shares the objects of the cache, and whose main branch can be moved.
function serve(root, name) {
  const directory = join(root, `${name}.git`);
  execFileSync('git', ['clone', '--quiet', '--bare', '--shared', clone(name), directory]);
  return (commit) => git(directory, 'update-ref', 'HEAD', commit);
}

function chooseCommits(directory) {
  const history = git(directory, 'rev-list', '--first-parent', 'HEAD').split('\n');
  const back = Math.min(Math.ceil(history.length / 4), MOST_COMMITS_BACK, history.length - 1);
  return [history[back], history[0]];
}

// The mode and the bytes of a file or link; the path of the home is left out.
function toEntry(path, home) {
  const stats = lstatSync(path);
  const text = stats.isSymbolicLink() ? readlinkSync(path) : stats.isFile() ? readFileSync(path, 'latin1') : '';
  return `${(stats.mode & 0o7777).toString(8)} ${text.replaceAll(home, '~')}`;
}

// Every file, link and directory below a directory.
function listTree(directory, isListed = () => true, home = directory) {
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(isListed);
  return new Map(paths.sort().map((path) => [path, toEntry(join(directory, path), home)]));
}

const differing = (one, other) =>
  [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path));

function createHome(root, name) {
  const home = join(root, name);
  const project = join(root, `${name}-project`);
  for (const directory of [home, project]) mkdirSync(directory);
  const env = { PATH: `${join(root, 'bin')}:${process.env.PATH}`, HOME: home };
  const run = (...args) => {
    let output;
    let status = 0;
    try {
      const options = {
        cwd: project,
        env,
        encoding: 'utf8',
        maxBuffer: 256 * MIB,
        stdio: ['ignore', 'pipe', 'ignore'],
      };
      output = execFileSync(process.execPath, [WIELD, ...args, '--json'], options);
    } catch (error) {
      ({ stdout: output, status } = error);
    }
    return { status, ...JSON.parse(output) };
  };
  return { home, project, run, lock: join(home, '.wield/wield.lock') };
}

// What differs between two homes with the same lock: the lock, links and installed files. Links to installed files are
// followed, because the names of objects depend on the home where their files contain its path.
function compareHomes(one, other) {
  const listing = ({ home, lock }) => {
    const store = join(home, '.wield/store');
    const found = listTree(home, (path) => !path.startsWith('.wield'));
    for (const kind of readdirSync(store))
      for (const name of readdirSync(join(store, kind))) {
        const item = realpathSync(join(store, kind, name));
        if (statSync(item).isFile()) found.set(`${kind} ${name}`, toEntry(item, home));
        else for (const [path, entry] of listTree(item, () => true, home)) found.set(`${kind} ${name} ${path}`, entry);
      }
    return found.set('wield.lock', toEntry(lock, home));
  };
  return differing(listing(one), listing(other));
}

// Calls `use` with a directory for homes, where git finds the repositories in place of github.com.
async function withSources([name, ...nested], use) {
  const root = mkdtempSync(join(tmpdir(), 'wield-sources-'));
  try {
    const move = serve(root, name);
    for (const other of nested) serve(root, other);
    mkdirSync(join(root, 'bin'));
    const wrapper = join(root, 'bin/git');
    const program = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    const instead = `url.file://${root}/.insteadOf=https://github.com/`;
    writeFileSync(wrapper, `#!/bin/sh\nGIT_ALLOW_PROTOCOL=file exec ${program} -c '${instead}' "$@"\n`);
    chmodSync(wrapper, 0o755);
    return await use(root, move);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

const examineFiles = ({ name, nested = [] }) =>
  withSources([name, ...nested], async (root) => {
    const home = createHome(root, 'home');
    const steps = [home.run('add', name, '--yes'), home.run('install', '--all', '--yes')];
    const refused = steps.at(-1).refused ?? [];
    // One item that cannot be installed is the repository's fault, and does not stop the others.
    const faults = steps.flatMap(({ error }) => (error === undefined || refused.length > 0 ? [] : [error.message]));
    const found = await readNamedFiles(home);
    const reasons = refused.map(({ error }) => toReason(error.message));
    return { name, ...found, refused: reasons, faults: [...faults, ...found.faults] };
  });

function examine({ name, nested = [] }) {
  const [older, newest] = chooseCommits(clone(name));
  const faults = [];
  const expect = (what, isRight, found = '') => isRight || faults.push(`${what} ${found}`);
  return withSources([name, ...nested], (root, move) => {
    const [first, second] = [createHome(root, 'home1'), createHome(root, 'home2')];
    const before = listTree(first.home);
    const start = performance.now();
    const seconds = () => ((performance.now() - start) / 1000).toFixed(1);

    const mayFail = (what, { ok, error }) => expect(what, ok || error === undefined, error?.message);
    const installAll = () => {
      const done = first.run('install', '--all', '--yes');
      mayFail('install:', done);
      const { items } = first.run('list', '--available');
      if (items.some(({ kind }) => kind === 'command'))
        mayFail('commands:', first.run('install', 'command:*', '--yes'));
      return done;
    };

    move(older);
    const added = first.run('add', name, '--yes');
    mayFail('add:', added);
    installAll();
    checkState('at the older commit');
    const old = survey(first);

    move(newest);
    const outdated = first.run('outdated');
    mayFail('outdated:', outdated);
    const upgraded = first.run('upgrade', '--yes');
    mayFail('upgrade:', upgraded);
    mayFail('sync:', first.run('sync'));
    const { refused = [] } = installAll();
    const isRefused = (item) => refused.some(({ effective }) => effective === item.effective);
    const stays = (item) => item.states.includes('gone upstream') || isRefused(item);
    const again = (first.run('outdated').items ?? []).filter((item) => !stays(item));
    expect('still outdated:', again.length === 0, again.map(({ effective }) => effective).join(', '));
    checkState('at the newest commit');
    const now = survey(first);
    for (const { kind, error } of refused) now.leave(kind, toReason(error.message), 1);
    for (const { message } of added.skipped ?? []) now.leave('repository', toReason(message), 1);

    for (const { id } of first.run('list', '--sources').sources) first.run('remove-source', id, '--yes');
    const left = differing(before, listTree(first.home)).filter((path) => !STAYS.test(path));
    expect('left behind:', left.length === 0, left.join(', '));
    const commits = `${older.slice(0, 9)} → ${newest.slice(0, 9)}`;
    return { name, commits, old, now, outdated: outdated.items?.length ?? 0, seconds: seconds(), faults };

    function checkState(when) {
      const verified = first.run('verify');
      expect(`verify ${when}:`, verified.status === 0, JSON.stringify(verified.differences));
      if (!existsSync(first.lock)) return;
      copyFileSync(first.lock, join(second.project, 'wield.lock'));
      const frozen = second.run('install', '--frozen', '--yes');
      expect(`install --frozen ${when}:`, frozen.ok, JSON.stringify(frozen.error));
      const other = compareHomes(first, second);
      expect(`the other home ${when}:`, other.length === 0, other.slice(0, 10).join(', '));
      expect(`verify in the other home ${when}:`, second.run('verify').status === 0);
    }
  });
}

// Where a repository was looked for and stored is not part of the reason.
const toReason = (message) =>
  /could not reach/.test(message) ? 'could not be fetched' : message.replace(/^\S*\/trees\/[0-9a-f]+\//, '');

// Counts what is installed by kind, and what a source and its nested sources leave out by reason.
function survey({ run }) {
  const { items } = run('list', '--installed');
  const left = new Map();
  const leave = (what, reason, count) => left.set(`${what}: ${reason}`, (left.get(`${what}: ${reason}`) ?? 0) + count);
  for (const { id } of run('list', '--sources').sources)
    for (const { what, reason, paths } of run('show-source', id).source.skipped) leave(what, reason, paths.length);
  return { count: (kind) => items.filter((item) => item.kind === kind).length, left, leave };
}

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

const toCame = ({ old, now }) =>
  KINDS.filter((kind) => old.count(kind) + now.count(kind) > 0)
    .map((kind) => `${old.count(kind)} → ${now.count(kind)} ${kind}s`)
    .join(', ');

const toLeft = ({ now: { left } }, reasons) =>
  [...left].map(([reason, count]) => `${count} (${reasons.indexOf(reason) + 1})`).join(', ') || '-';

function toPage(results) {
  const reasons = [...new Set(results.flatMap(({ now: { left } }) => [...left.keys()]))].sort();
  const total = (kind) => sum(results.map(({ now }) => now.count(kind)));
  const counted = (reason) => sum(results.map(({ now: { left } }) => left.get(reason) ?? 0));
  return [
    '# Public sources',
    '',
    `${results.length} public repositories of plugins and skills, taken through every step by \`npm run public-sources\`: added`,
    'and installed at an older commit, verified, installed from the lock in another home and compared with the first byte for',
    'byte, upgraded to the newest commit, verified, installed from the new lock, and removed. Nothing was left in the home but',
    `an empty record and compiled code. Installed at the end: ${KINDS.map((kind) => `${total(kind)} ${kind}s`).join(', ')}.`,
    'Numbers in parentheses are reasons of the second table; `outdated` is what `wield list --outdated` listed before the upgrade.',
    '',
    '| repository | commits | came | left out | outdated | seconds |',
    '|---|---|---|---|---|---|',
    ...results.map((one) =>
      [
        `| ${one.name}`,
        one.commits,
        toCame(one) || 'nothing',
        toLeft(one, reasons),
        one.outdated,
        `${one.seconds} |`,
      ].join(' | '),
    ),
    '',
    '| | left out | times |',
    '|---|---|---|',
    ...reasons.map((reason, at) => `| ${at + 1} | ${reason} | ${counted(reason)} |`),
    '',
    ...results.flatMap(({ name, faults }) => faults.map((fault) => `- Fault of ${name}: ${fault}`)),
  ].join('\n');
}

const PAGE = join(ROOT, 'docs/reports/public-sources.md');
const onlyFiles = process.argv.includes('--files');
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const isChosen = ({ name, files }) => (chosen.length === 0 ? onlyFiles || !files : chosen.includes(name));
const results = [];
for (const source of SOURCES.filter(isChosen)) {
  const one = await (onlyFiles ? examineFiles(source) : examine(source));
  results.push(one);
  if (onlyFiles) {
    const { skills, naming, files, outside, refused } = one;
    console.log(one.name, skills, 'skills', naming, 'name', files, 'files', outside, 'outside', ...refused);
  } else {
    console.log(one.name, one.commits, toCame(one), one.outdated, `${one.seconds} s`);
    for (const [reason, count] of one.now.left) console.log(`  ${count} ${reason}`);
  }
  for (const fault of one.faults) console.log(`  FAULT ${fault}`);
}
if (chosen.length === 0) {
  const [steps, files = ''] = readFileSync(PAGE, 'utf8').split(FILES_HEADING);
  const parts = onlyFiles ? [steps, toFilesSection(results)] : [toPage(results), files && FILES_HEADING + files];
  writeFileSync(PAGE, `${parts.map((part) => part.trim()).join('\n\n')}\n`);
}
process.exitCode = results.some(({ faults }) => faults.length > 0) ? 1 : 0;
