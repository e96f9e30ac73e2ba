// Reads the files of tasks of public repositories, offers all of them, and writes docs/reports/public-repositories.md.
// The argument is a directory of git repositories, as OWNER+NAME or OWNER+NAME/repo, bare or not. Only the files of tasks and
// what is read with them are taken out, with git, before wield reads anything. `--show` prints names and descriptions;
// `--read` takes a directory that was left by `--keep`, and starts no process: run it under strace.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TASKS =
  /(?:^|\/)(?:package\.json|GNUmakefile|[Mm]akefile|(?:\.?justfile|Justfile|JUSTFILE)|[Tt]askfile(?:\.dist)?\.ya?ml|\.?mise\.toml|deno\.jsonc?|composer\.json|pyproject\.toml)$/;
const BESIDE =
  /(?:^|\/)(?:pnpm-workspace\.yaml|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|package-lock\.json|npm-shrinkwrap\.json)$|(?:^|\/)(?:\.?mise[-/]tasks|\.config\/mise\/tasks)\//;
const SKIPPED = /(?:^|\/)(?:node_modules|vendor|third_party)\//;
// A repository with more of them is read up to here; members of workspaces do not count.
const MAX_FILES = 60;
const LARGE_FILES = 10;
const LARGE_TASKS = 100;
const MAX_BYTES = 4 * 1024 * 1024;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    show: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    read: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

const git = (directory, ...args) =>
  execFileSync('git', ['-C', directory, ...args], {
    maxBuffer: 256 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/** Writes the files of tasks of a repository below a directory; returns its commit, or undefined without any. */
function takeOut(repository, directory) {
  const entries = git(repository, 'ls-tree', '-rlz', 'HEAD')
    .toString('utf8')
    .split('\0')
    .flatMap((line) => {
      const [, mode, hash, size, path] = /^(\d+) blob (\w+) +(\d+)\t(.+)$/s.exec(line) ?? [];
      return path === undefined || SKIPPED.test(path) || mode === '120000' ? [] : [{ mode, hash, size: +size, path }];
    });
  const wanted = entries.filter(({ path, size }) => size <= MAX_BYTES && (TASKS.test(path) || BESIDE.test(path)));
  if (!wanted.some(({ path }) => TASKS.test(path))) return undefined;
  for (const { mode, hash, path } of wanted) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    // Of a lock file only the name is read.
    const isLock = /lock|shrinkwrap/.test(path.split('/').at(-1));
    writeFileSync(join(directory, path), isLock ? '' : git(repository, 'cat-file', 'blob', hash));
    if (mode === '100755') chmodSync(join(directory, path), 0o755);
  }
  return git(repository, 'rev-parse', '--short=9', 'HEAD').toString('utf8').trim();
}

/** Offers all tasks of a directory, and returns what a listing has. */
async function readAll(directory, home) {
  const { createNodeToolbox } = await import(join(ROOT, 'dist/node.js'));
  const all = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter((path) => TASKS.test(path) && !path.startsWith('.agents/'))
    .sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1));
  const from = all.slice(0, MAX_FILES);
  mkdirSync(join(directory, '.agents'), { recursive: true });
  writeFileSync(join(directory, '.agents/config.toml'), `[tasks]\nfrom = ${JSON.stringify(from)}\n`);
  const began = performance.now();
  const toolbox = createNodeToolbox({ workdir: directory, env: { PATH: process.env.PATH, HOME: home } });
  try {
    const tools = (await toolbox.list({ hidden: true })).filter(({ origin }) => origin.format !== 'builtin');
    const problems = (await toolbox.catalog.problems()).filter(({ path }) => path.startsWith(directory));
    return { from, files: all.length, tools, problems, ms: Math.round(performance.now() - began) };
  } finally {
    await toolbox.close();
  }
}

function listRepositories(directory) {
  return readdirSync(directory)
    .filter((name) => name.includes('+'))
    .map((name) => {
      const places = [join(directory, name, 'repo'), join(directory, name)];
      return { name: name.replace('+', '/'), path: places.find((path) => existsSync(path)) };
    });
}

const kindOf = (path) => path.split('/').at(-1);
function groupBy(all, keyOf) {
  const groups = new Map();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}
const count = (all) => [...groupBy(all, (one) => one)].map(([key, { length }]) => `${length} ${key}`).join(', ');

async function main() {
  const [source] = positionals;
  if (source === undefined) throw new Error('name a directory of repositories: OWNER+NAME');
  const work = values.read ? source : mkdtempSync(join(tmpdir(), 'wield-repositories-'));
  const home = mkdtempSync(join(tmpdir(), 'wield-home-'));
  const rows = [];
  const faults = [];
  try {
    const found = values.read
      ? readdirSync(source).map((name) => ({ name: name.replace('+', '/'), directory: join(source, name) }))
      : listRepositories(source);
    for (const { name, path, directory = join(work, name.replace('/', '+')) } of found) {
      if (values.only !== undefined && !name.includes(values.only)) continue;
      let commit = 'read';
      try {
        if (!values.read) commit = takeOut(path, directory);
      } catch {
        // Not a repository, or one without a commit.
        continue;
      }
      if (commit === undefined) continue;
      try {
        rows.push({ name, commit, ...(await readAll(directory, home)) });
      } catch (error) {
        faults.push(`${name}: ${error.stack}`);
      }
    }
    for (const { name, tools, problems, from } of rows) {
      if (!values.show) continue;
      console.log(`\n## ${name}: ${from.length} files`);
      for (const tool of tools) console.log(`${tool.name}\t${tool.traits.destructive ? '!' : ' '} ${tool.description}`);
      for (const { message, path } of problems)
        console.log(`  problem ${path.split('/').slice(-2).join('/')}: ${message}`);
    }
    const isLarge = ({ files, tools }) => files >= LARGE_FILES || tools.length >= LARGE_TASKS;
    console.log(`${rows.length} repositories, ${rows.filter(isLarge).length} large, ${faults.length} exceptions`);
    console.log(count(rows.flatMap(({ from }) => from.map(kindOf))));
    for (const fault of faults) console.log(fault);
    if (values.write) writePage(rows, faults, isLarge, countStarts(work));
    if (faults.length > 0) process.exitCode = 1;
  } finally {
    if (values.keep && !values.read) console.log(`kept: ${work}`);
    else if (!values.read) rmSync(work, { recursive: true, force: true });
    rmSync(home, { recursive: true, force: true });
  }
}

/** Reads the directories again under strace; returns how many programs were started, undefined without strace. */
function countStarts(work) {
  const log = `${work}.strace`;
  try {
    const script = fileURLToPath(import.meta.url);
    execFileSync('strace', [
      '-f',
      '-qq',
      '-e',
      'trace=execve,execveat',
      '-o',
      log,
      process.execPath,
      script,
      work,
      '--read',
    ]);
    return readFileSync(log, 'utf8').match(/exec(?:ve|veat)\(/g).length - 1;
  } catch {
    return undefined;
  } finally {
    rmSync(log, { force: true });
  }
}

function writePage(rows, faults, isLarge, starts) {
  const of = (problems, severity) => problems.filter((one) => one.severity === severity).length;
  const lines = rows.map(({ name, commit, from, files, tools, problems, ms }) => {
    const kinds = count(from.map(kindOf));
    const more = files > from.length ? ` (of ${files})` : '';
    const asks = tools.filter(({ traits }) => traits.destructive).length;
    return `| ${name} | ${commit} | ${kinds}${more} | ${tools.length} | ${asks} | ${of(problems, 'warning')} | ${of(problems, 'error')} | ${ms} |`;
  });
  const sum = (get) => rows.reduce((total, row) => total + get(row), 0);
  const errors = groupBy(
    rows.flatMap(({ problems }) => problems.filter(({ severity }) => severity === 'error')),
    ({ message }) =>
      message
        .replace(/"[^"]*"/g, '"…"')
        .replace(/: [^:]*comes first/, ': … comes first')
        .slice(0, 80),
  );
  const page = [
    '# Tasks of public repositories',
    '',
    `The files of tasks of ${rows.length} public repositories, ${rows.filter(isLarge).length} of them large (at least ${LARGE_FILES} files or ${LARGE_TASKS} tasks), read on`,
    `${new Date().toISOString().slice(0, 10)} by \`npm run public-repositories\`: all named in \`[tasks] from\`, at most ${MAX_FILES} of a repository. ${sum(({ from }) => from.length)} files have`,
    `${sum(({ tools }) => tools.length)} tasks; ${faults.length === 0 ? 'no file led to an exception' : `${faults.length} exceptions`}. Warnings name tasks that are left out; an error is a file that is not`,
    `read, for the reasons of the second table. Tasks that ask have a name that sounds destructive. ${starts === undefined ? 'strace was not there to count started programs.' : `Under strace, reading all of them started ${starts} programs.`}`,
    '',
    '| repository | commit | files | tasks | ask | warnings | errors | ms |',
    '|---|---|---|---|---|---|---|---|',
    ...lines,
    '',
    '## Files that are not read',
    '',
    '| files | reason |',
    '|---|---|',
    ...[...errors]
      .toSorted((a, b) => b[1].length - a[1].length)
      .map(([why, { length }]) => `| ${length} | ${why.replaceAll('|', '\\|')} |`),
    '',
  ];
  writeFileSync(join(ROOT, 'docs/reports/public-repositories.md'), page.join('\n'));
}

await main();
