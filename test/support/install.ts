// Workspaces for tests of installing, with source directories and git repositories.

import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CliOptions, type CliRun, json, wield } from './cli.js';
import { createWorkspace, type Workspace } from './workspace.js';

/** File contents by path; a path that ends with `!` is executable. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

export interface InstallWorkspace extends Workspace {
  readonly wieldHome: string;
  /** Writes the files of a source directory and returns its path. */
  source(name: string, files: Files): string;
  /** Creates a git repository with one commit and returns its `file://` URL. */
  repository(name: string, files: Files): string;
  /** Runs git in a source. */
  git(name: string, ...args: readonly string[]): string;
  run(...args: readonly string[]): Promise<CliRun>;
  runWith(options: CliOptions, ...args: readonly string[]): Promise<CliRun>;
  /** Runs a command that must succeed and returns its JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape of documents
  json(...args: readonly string[]): Promise<any>;
  /** Runs a command that must fail and returns its error. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape of documents
  fail(...args: readonly string[]): Promise<any>;
  /** Returns the text of a file in the store. */
  stored(path: string): string;
  /** Returns every file and link in the home directory that installing may change, with its bytes or target. */
  snapshot(): Record<string, string>;
}

export const DETECT: Files = {
  'tools/detect/TOOL.md':
    '---\ndescription: Detect the project type from files in the current directory.\nbin: detect.sh\n---\n',
  'tools/detect/detect.sh!':
    '#!/bin/sh\n# @description Detect the project type.\n# @param path string Where to look\n. "$(dirname "$0")/lib.sh"\n[ "$#" -gt 0 ] || set -- "$WIELD_PARAM_PATH"\ndetect "$1"\n',
  'tools/detect/lib.sh': 'detect() { if [ -e "$1/package.json" ]; then echo node; else echo unknown; fi; }\n',
};

const SCAN: Files = {
  'skills/scan/SKILL.md':
    '---\nname: scan\ndescription: Scan a project.\n---\n\n1. Run the shared tool: `{{tools:detect}} .`\n2. Source its library: `. {{path:tool:detect}}/lib.sh`\n3. Record the result: `{{self}}/resources/notes.md`\n',
  'skills/scan/resources/notes.md': '# Notes\n',
};

export const WORKED: Files = { ...DETECT, ...SCAN };

export function writeFiles(root: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name.replace(/!$/, ''));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    chmodSync(path, name.endsWith('!') ? 0o755 : 0o644);
  }
}

const GIT_OPTIONS = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false'];

export function createInstallWorkspace(): InstallWorkspace {
  const workspace = createWorkspace();
  const at = (name: string): string => join(dirname(workspace.dir), 'sources', name);
  const git = (name: string, ...args: readonly string[]): string =>
    execFileSync('git', [...GIT_OPTIONS, ...args], {
      cwd: at(name),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: workspace.home },
    });
  const source = (name: string, files: Files): string => {
    mkdirSync(at(name), { recursive: true });
    writeFiles(at(name), files);
    return at(name);
  };
  const runWith = (options: CliOptions, ...args: readonly string[]): Promise<CliRun> => wield(workspace, args, options);
  const run = (...args: readonly string[]): Promise<CliRun> => runWith({}, ...args);
  const wieldHome = workspace.env.WIELD_HOME!;
  return {
    ...workspace,
    wieldHome,
    source,
    git,
    repository: (name, files) => {
      source(name, files);
      git(name, 'init', '--quiet', '--initial-branch=main');
      git(name, 'add', '--all');
      git(name, 'commit', '--quiet', '--message', 'Initial commit');
      return `file://${at(name)}`;
    },
    run,
    runWith,
    json: async (...args) => {
      const done = await run(...args, '--json');
      if (done.status !== 0) throw new Error(`${args.join(' ')}: ${done.status} ${done.stdout}${done.stderr}`);
      return json(done);
    },
    fail: async (...args) => {
      const done = await run(...args, '--json');
      const document = json(done);
      if (document.ok !== false) throw new Error(`${args.join(' ')} did not fail: ${done.stdout}`);
      return { ...document.error, status: done.status };
    },
    stored: (path) => readFileSync(join(wieldHome, 'store', path), 'utf8'),
    snapshot: () => snapshot(workspace.home),
  };
}

/** Puts a program named git before the real one on PATH; `$GIT` is the real one. */
export function wrapGit(workspace: InstallWorkspace, script: string): Record<string, string> {
  const directory = join(workspace.dir, 'bin');
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'git'), `#!/bin/bash\nGIT=${git}\n${script}\nexec "$GIT" "$@"\n`);
  chmodSync(join(directory, 'git'), 0o755);
  return { PATH: `${directory}:${process.env.PATH}` };
}

const IGNORED = /^\.wield\/(?:audit|cache|pins|running|hooks\.json|sources\.json|sources$|sources\/)|^\.wield$/;

function snapshot(home: string): Record<string, string> {
  const seen: Record<string, string> = {};
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' }).sort()) {
    if (IGNORED.test(name)) continue;
    const path = join(home, name);
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) seen[name] = `-> ${readlinkSync(path)}`;
    else if (stats.isFile()) seen[name] = `${stats.mode & 0o111 ? 'x' : '-'} ${readFileSync(path, 'latin1')}`;
    else seen[name] = 'directory';
  }
  return seen;
}
