// `npm run archives`: writes what a release needs besides the package of the registry: archives with Node, their checksums,
// the installer and the Homebrew formula. --out DIR, by default `archives`.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installNode } from './nodes.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Node of the archives; a version that both packages have. */
const NODE = '24.21.0';
const PLATFORMS = ['linux-x64', 'linux-arm64'];

const { values } = parseArgs({ options: { out: { type: 'string', default: 'archives' } } });
const out = resolve(values.out);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const work = mkdtempSync(join(tmpdir(), 'wield-archives-'));
process.once('exit', () => rmSync(work, { recursive: true, force: true }));
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', out];
const tarball = join(out, execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8' }).trim());
// Without libsql: this Node has SQLite.
const project = join(work, 'project');
mkdirSync(project);
const install = [
  'install',
  '--silent',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--omit=optional',
  '--omit=peer',
];
execFileSync('npm', [...install, '--prefix', project, tarball], { stdio: 'inherit' });
for (const name of ['.bin', '.package-lock.json'])
  rmSync(join(project, 'node_modules', name), { recursive: true, force: true });

// The same commit makes the same bytes.
const date = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }).trim();
const tarFlags = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mode=u+w,go-w', `--mtime=@${date}`];
for (const platform of PLATFORMS) {
  const name = `wield-${platform}`;
  const lib = join(work, name, 'lib');
  cpSync(join(project, 'node_modules'), join(lib, 'node_modules'), { recursive: true });
  const node = join(work, `node-${platform}`);
  renameSync(join(installNode(NODE, node, platform), 'node'), join(lib, 'node'));
  renameSync(join(node, 'LICENSE'), join(lib, 'node-license.txt'));
  mkdirSync(join(work, name, 'bin'));
  cpSync(join(ROOT, 'scripts/launcher.sh'), join(work, name, 'bin/wield'));
  const archive = join(out, `${name}.tar`);
  execFileSync('tar', ['-C', work, ...tarFlags, '-cf', archive, name]);
  execFileSync('gzip', ['-n', archive]);
}

const digest = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
const files = readdirSync(out).map((name) => join(out, name));
const sums = files.map((file) => `${digest(file)}  ${basename(file)}\n`);
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
cpSync(join(ROOT, 'install.sh'), join(out, 'install.sh'));
const formula = readFileSync(join(ROOT, 'scripts/homebrew-formula.rb'), 'utf8');
writeFileSync(join(out, 'wield.rb'), formula.replaceAll('@VERSION@', version).replaceAll('@SHA256@', digest(tarball)));
for (const file of files) console.log(`${basename(file)}  ${(readFileSync(file).length / 1e6).toFixed(1)} MB`);
