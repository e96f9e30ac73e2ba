// install.sh and the launcher of archives. `npm run installs` runs them with real archives.

import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { built } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { ROOT } from '../../support/documents.js';
import { listen } from '../../support/http.js';
import { hasProgram, notInstalled } from '../../support/machine.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const run = promisify(execFile);
const NAMES = { x64: 'wield-linux-x64', arm64: 'wield-linux-arm64' };
const name = NAMES[process.arch as keyof typeof NAMES];
const isLinux = process.platform === 'linux' && name !== undefined;
const NOT_LINUX = 'there is no archive for this platform; to run: use Linux on x64 or arm64';

/** Writes a release whose wield prints a version, and returns its directory. */
function release(workspace: Workspace, version = '0.1.0', prints = `echo ${version}`): string {
  const tree = join('made', name);
  workspace.write(join(tree, 'bin/wield'), readFileSync(join(ROOT, 'scripts/launcher.sh')), 0o755);
  workspace.write(join(tree, 'lib/node'), `#!/bin/sh\nmkdir -p "$HOME/.cache"; ${prints}\n`, 0o755);
  const out = join(workspace.dir, `release-${version}`);
  mkdirSync(out);
  const archive = join(out, `${name}.tar.gz`);
  execFileSync('tar', ['-C', join(workspace.dir, 'made'), '-czf', archive, name]);
  const digest = createHash('sha256').update(readFileSync(archive)).digest('hex');
  writeFileSync(join(out, 'SHA256SUMS'), `${'0'.repeat(64)}  other.tar.gz\n${digest}  ${name}.tar.gz\n`);
  return out;
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code?: number;
}

const install = ({ env, dir }: Workspace, ...args: string[]): Promise<Ended> =>
  run('sh', [join(ROOT, 'install.sh'), ...args], { env, cwd: dir }).catch((error: Ended) => error);

const filesOf = (directory: string): string[] => readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();

describe.concurrent('install.sh', () => {
  specIf(isLinux, NOT_LINUX, 'PKG-6', 'installs into its prefix, and writes nothing else', async () => {
    const workspace = createWorkspace();
    const from = release(workspace);
    const before = filesOf(workspace.dir);
    expect(await install(workspace, '--from', from)).toMatchObject({
      stdout: `  installed  wield 0.1.0  ${workspace.home}/.local/bin/wield\n  next       export PATH="${workspace.home}/.local/bin:$PATH"\n`,
      stderr: '',
    });
    expect(filesOf(workspace.dir)).toEqual(before);
    expect(filesOf(workspace.home)).toEqual(
      [
        '',
        '/bin',
        '/bin/wield',
        '/lib',
        '/lib/wield',
        '/lib/wield/bin',
        '/lib/wield/bin/wield',
        '/lib/wield/lib',
        '/lib/wield/lib/node',
      ]
        .map((path) => `.local${path}`)
        .sort(),
    );
    expect(readlinkSync(join(workspace.home, '.local/bin/wield'))).toBe('../lib/wield/bin/wield');
  });

  const downloads = isLinux && (hasProgram('curl') || hasProgram('wget'));
  specIf(downloads, isLinux ? notInstalled('curl') : NOT_LINUX, 'PKG-6', 'downloads, also by redirection', async () => {
    const workspace = createWorkspace();
    const from = release(workspace);
    const server = await listen(({ url = '' }, response) => {
      const file = join(from, url.replace('/files', ''));
      if (url.startsWith('/latest/')) response.writeHead(302, { location: url.replace('latest', 'files') }).end();
      else if (existsSync(file)) response.end(readFileSync(file));
      else response.writeHead(404).end('not found');
    });
    expect((await install(workspace, '--from', `${server.origin}/latest/`)).stdout).toContain('installed  wield 0.1.0');
    const missing = await install(workspace, '--from', `${server.origin}/other`);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining(`cannot get ${server.origin}/other`)]);
    expect(readdirSync(join(workspace.home, '.local/lib'))).toEqual(['wield']);
  });

  specIf(isLinux, NOT_LINUX, 'PKG-6', 'replaces what it installed, in a prefix with spaces', async () => {
    const workspace = createWorkspace();
    const prefix = join(workspace.dir, 'a prefix');
    await install(workspace, '--from', release(workspace), '--prefix', prefix);
    const next = await install(workspace, '--from', release(workspace, '0.2.0'), '--prefix', 'a prefix');
    expect(next.stdout).toContain(`installed  wield 0.2.0  ${prefix}/bin/wield`);
    expect((await run(join(prefix, 'bin/wield'), [], { env: workspace.env })).stdout).toBe('0.2.0\n');
    expect(readdirSync(join(prefix, 'lib'))).toEqual(['wield']);
  });

  const refused = (
    what: string,
    change: (from: string, workspace: Workspace) => void,
    message: string,
    ...more: string[]
  ) =>
    specIf(isLinux, NOT_LINUX, 'PKG-6', `refuses ${what}, and keeps what is installed`, async () => {
      const workspace = createWorkspace();
      const prefix = join(workspace.home, '.local');
      await install(workspace, '--from', release(workspace));
      const from = release(workspace, '0.2.0');
      change(from, workspace);
      const before = filesOf(prefix);
      const ended = await install(workspace, '--from', from, ...more);
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).toContain(message);
      expect(filesOf(prefix)).toEqual(before);
      if (before.includes('lib/wield/lib/node'))
        expect(readFileSync(join(prefix, 'lib/wield/lib/node'), 'utf8')).toContain('0.1.0');
    });

  const add = (file: string, text: string): void => writeFileSync(file, text, { flag: 'a' });
  refused('an archive with another checksum', (from) => add(join(from, `${name}.tar.gz`), 'x'), 'has the checksum');
  refused('an archive without a checksum', (from) => writeFileSync(join(from, 'SHA256SUMS'), ''), 'does not name');
  refused('a release without the archive', (from) => rmSync(join(from, `${name}.tar.gz`)), 'cannot get');
  refused('another version', () => {}, 'has version 0.2.0, expected 0.3.0', '--version', 'v0.3.0');
  refused(
    'an archive that does not start',
    (from, workspace) => {
      rmSync(from, { recursive: true });
      release(workspace, '0.2.0', 'exit 127');
    },
    'wield does not start on this machine',
  );
  refused('an unknown argument', () => {}, 'unknown argument --prefx', '--prefx', '/nowhere');
  refused(
    'a command of another origin',
    (_, { home }) => {
      rmSync(join(home, '.local/bin/wield'));
      symlinkSync('/bin/true', join(home, '.local/bin/wield'));
    },
    'was not installed by this script',
  );
  refused(
    'a directory of another origin',
    (_, { home }) => {
      rmSync(join(home, '.local/lib/wield'), { recursive: true });
      mkdirSync(join(home, '.local/lib/wield'));
    },
    'was not installed by this script',
  );
});

describe.concurrent('an archive', () => {
  spec('PKG-5', 'is started by its launcher from anywhere, through links, with all arguments', async () => {
    const workspace = createWorkspace();
    const launcher = workspace.write('a tree/bin/wield', readFileSync(join(ROOT, 'scripts/launcher.sh')), 0o755);
    workspace.write('a tree/lib/node', '#!/bin/sh\nfor one; do echo "$one"; done\n', 0o755);
    const links = join(workspace.dir, 'links');
    mkdirSync(links);
    symlinkSync('../a tree/bin/wield', join(links, 'relative'));
    symlinkSync(launcher, join(links, 'absolute'));
    symlinkSync('relative', join(links, 'twice'));
    const commands = [launcher, ...['relative', 'absolute', 'twice'].map((one) => join(links, one))];
    for (const command of commands) {
      const { stdout } = await run(command, ['call', 'a b', ''], { cwd: '/' });
      const [binary, ...args] = stdout.split('\n');
      expect(binary).toMatch(/\/\.\.\/lib\/node_modules\/wield\/dist\/cli\/wield\.cjs$/);
      expect(args).toEqual(['call', 'a b', '', '']);
    }
    const { stdout } = await run('./wield', ['x'], { cwd: join(workspace.dir, 'a tree/bin') });
    expect(stdout).toBe('./../lib/node_modules/wield/dist/cli/wield.cjs\nx\n');
  });

  spec('PKG-5 PKG-8', 'is named by its launcher in files of clients, and updated by its installer', async () => {
    const workspace = createWorkspace();
    const lib = join(workspace.dir, 'a prefix/lib/wield/lib');
    place(lib);
    copyFileSync(process.execPath, join(lib, 'node'));
    const launcher = workspace.write(
      'a prefix/lib/wield/bin/wield',
      readFileSync(join(ROOT, 'scripts/launcher.sh')),
      0o755,
    );
    const bin = join(workspace.home, 'bin');
    mkdirSync(bin);
    symlinkSync(launcher, join(bin, 'wield'));
    const start = (PATH: string, ...args: string[]) =>
      run(launcher, args, { cwd: workspace.home, env: { ...workspace.env, PATH } });
    const connect = ['connect', 'cursor', '--print'];
    expect((await start(`${bin}:/usr/bin:/bin`, ...connect)).stdout).toContain(`"command": "${bin}/wield"`);
    expect((await start('/usr/bin:/bin', ...connect)).stdout).toContain(`"command": "${lib}/node"`);
    expect((await start('/usr/bin:/bin', 'upgrade')).stderr).toContain(
      `to update it: sh install.sh --prefix '${workspace.dir}/a prefix'\n`,
    );
  });
});

/** Does what npm does with the parts of the package that commands need. */
function place(directory: string): void {
  cpSync(built('cli'), join(directory, 'node_modules/wield/dist/cli'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(directory, 'node_modules/wield/package.json'));
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  for (const dependency of Object.keys(dependencies).filter((one) => !one.startsWith('@')))
    symlinkSync(join(ROOT, 'node_modules', dependency), join(directory, 'node_modules', dependency));
}

describe.concurrent('wield upgrade', () => {
  for (const [way, directory, command] of [
    ['a global installation', 'usr/lib', 'npm install --global --prefix ROOT/usr wield@latest'],
    ['a dependency', 'site', 'cd ROOT/site && npm install wield@latest'],
    ['a dependency of a package', 'site/node_modules/other', 'cd ROOT/site && npm install wield@latest'],
    ['the cache of npx', 'npm/_npx/0123', 'npx wield@latest'],
    ['a dependency by pnpm', 'pnpm-site/node_modules/.pnpm/wield@1', 'cd ROOT/pnpm-site && pnpm add wield@latest'],
    ['a command by pnpm', 'pnpm/global/5/node_modules/.pnpm/wield@1', 'pnpm add --global wield@latest'],
    ['a dependency by yarn', 'yarn-site', 'cd ROOT/yarn-site && yarn add wield@latest'],
    ['a formula of Homebrew', 'brew/Cellar/wield/1/libexec/lib', 'brew upgrade wield'],
  ] as const)
    spec('PKG-8', `says how to update ${way}`, async () => {
      const workspace = createWorkspace();
      const binary = join(workspace.dir, directory, 'node_modules/wield/dist/cli/wield.cjs');
      for (const file of [
        binary,
        join(workspace.dir, 'pnpm-site/pnpm-lock.yaml'),
        join(workspace.dir, 'yarn-site/yarn.lock'),
      ]) {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, '');
      }
      const { self } = json(await wield(workspace, ['upgrade', '--json'], { binary }));
      expect(self.update).toBe(command.replace('ROOT', workspace.dir));
      const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
      expect(self.version).toBe(version);
    });

  spec('PKG-8', 'says how to update a clone, unless items are named', async () => {
    const workspace = createWorkspace();
    const { stdout, stderr } = await wield(workspace, ['upgrade']);
    expect(stdout).toBe('  everything is up to date\n');
    expect(stderr).toMatch(
      /^ {2}wield \S+ itself stays; to update it: cd (?:\S+|'[^'\n]+') && git pull && npm ci && npm run build\n$/,
    );
    expect((await wield(workspace, ['upgrade', 'nothing'])).stderr).not.toContain('itself');
  });
});
