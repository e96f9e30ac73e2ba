// `npm run installs`: tries the ways to install wield (scripts/ways), each from nothing in an empty home: publishes to a
// registry on loopback, installs and upgrades with several versions of Node, unpacks an archive where there is no Node, and
// runs it in a root file system with nothing but libraries and a shell. Prints a table of times and sizes.
// --node 20.19.0,22,24  --way npx,global,dependency,archive,root,clone  --released DIR, made by `npm run archives`

import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createPath } from './bare-path.mjs';
import { installNode } from './nodes.mjs';
import { startRegistry } from './registry.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const WITH_NPM = ['npx', 'global', 'dependency'];
const NEXT = '0.1.999';
const { values } = parseArgs({
  options: {
    node: { type: 'string', default: '20.19.0,22,24' },
    released: { type: 'string' },
    way: { type: 'string', default: [...WITH_NPM, 'archive', 'root', 'clone'].join() },
  },
});
const ways = values.way.split(',');
const base = mkdtempSync(join(tmpdir(), 'wield-installs-'));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const rows = [];
let registry;
try {
  registry = await startRegistry(join(base, 'registry'));
  const released = values.released === undefined ? join(base, 'released') : resolve(values.released);
  if (values.released === undefined)
    execFileSync(process.execPath, [join(ROOT, 'scripts/archives.mjs'), '--out', released], { stdio: 'inherit' });
  registry.publish(join(released, `wield-${version}.tgz`));
  const next = ways.includes('global') ? buildNext() : undefined;
  const bare = createPath(join(base, 'path'), ['node', 'npm', 'npx']);
  const nodes = values.node.split(',').map((one) => ({ node: one, bin: nodeWithNpm(one) }));
  for (const { node, bin } of nodes)
    for (const way of ways.filter((one) => WITH_NPM.includes(one))) tryWay(way, [bin, bare], node);
  if (ways.includes('archive')) tryWay('archive', [bare], 'none', { WIELD_FROM: released });
  if (ways.includes('root')) tryRoot(released);
  if (ways.includes('clone')) tryWay('clone', [nodes.at(-1).bin, bare], nodes.at(-1).node, { WIELD_REPOSITORY: ROOT });
  if (next !== undefined) {
    registry.publish(next);
    for (const { node, bin } of nodes) upgrade([bin, bare], node);
  }
} finally {
  registry?.close();
  rmSync(base, { recursive: true, force: true });
}
console.log('\n| way | Node | seconds | MB |\n|---|---|---|---|');
for (const { way, node, seconds, size } of rows) console.log(`| ${way} | ${node} | ${seconds} | ${size} |`);

/** Runs a script of scripts/ways in an empty project of an empty home. */
function tryWay(way, path, node, variables = {}) {
  const home = join(base, `${way}-${node}`);
  const project = join(home, 'site');
  mkdirSync(project, { recursive: true });
  const began = Date.now();
  run('sh', [join(ROOT, 'scripts/ways', `${way}.sh`)], { cwd: project, env: environment(home, path, variables) });
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  rows.push({ way, node, seconds, size: megabytes(home) });
  if (way !== 'global') rmSync(home, { recursive: true });
}

/** Upgrades what `global` installed; the tool and the state of the older version are used. */
function upgrade(path, node) {
  const home = join(base, `global-${node}`);
  const env = environment(home, [join(home, '.local/bin'), ...path]);
  const began = Date.now();
  run('npm', ['install', '--global', '--prefix', join(home, '.local'), 'wield'], { cwd: home, env });
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  expectOutput(run('wield', ['version'], { cwd: home, env }), `${NEXT}\n`);
  expectOutput(run('wield', ['call', 'hello', '--name', 'Ada'], { cwd: join(home, 'site'), env }), 'Hello, Ada!\n');
  rows.push({ way: 'upgrade of global', node, seconds, size: megabytes(home) });
}

/** Runs the archive in root file systems: one with the libraries that Node needs, and one with a shell, too. */
function tryRoot(released) {
  const root = join(base, 'root');
  const prefix = join(root, 'opt');
  mkdirSync(prefix, { recursive: true });
  for (const name of ['tmp', 'proc', 'dev', 'home', 'bin']) mkdirSync(join(root, name));
  run('sh', [join(ROOT, 'install.sh'), '--from', released, '--prefix', prefix], { cwd: base });
  const node = join(prefix, 'lib/wield/lib/node');
  for (const program of [node, '/bin/sh'])
    for (const [, library] of execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g)) {
      mkdirSync(join(root, dirname(library)), { recursive: true });
      copyFileSync(library, join(root, library));
    }
  const inside = (...command) => {
    const mounts = ['--bind', root, '/', '--proc', '/proc', '--dev', '/dev', '--chdir', '/home'];
    const flags = ['--unshare-all', '--clearenv', '--setenv', 'HOME', '/home', '--setenv', 'PATH', '/opt/bin:/bin'];
    return run('bwrap', [...mounts, ...flags, ...command], { cwd: base });
  };
  const binary = '/opt/lib/wield/lib/node_modules/wield/dist/cli/wield.cjs';
  expectOutput(inside('/opt/lib/wield/lib/node', binary, 'version'), `${version}\n`);
  mkdirSync(join(root, 'home/.agents/tools'), { recursive: true });
  copyFileSync(join(ROOT, 'scripts/ways/double.tool.ts'), join(root, 'home/.agents/tools/double.tool.ts'));
  expectOutput(inside('/opt/lib/wield/lib/node', binary, 'call', '--trust', 'double', '--number', '21'), '42\n');
  copyFileSync('/bin/sh', join(root, 'bin/sh'));
  execFileSync('chmod', ['755', join(root, 'bin/sh')]);
  // Through a link, the launcher needs readlink; an installed archive is called by its own name.
  expectOutput(inside('/opt/lib/wield/bin/wield', 'version'), `${version}\n`);
  rows.push({ way: 'archive in an empty root', node: 'none', seconds: '', size: megabytes(root) });
}

/** A package of a later version, from the same sources. */
function buildNext() {
  const copy = join(base, 'next');
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  for (const file of files) cpSync(join(ROOT, file), join(copy, file));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'));
  writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...manifest, version: NEXT }));
  run(process.execPath, ['scripts/build.mjs', '--checked'], { cwd: copy });
  const packed = run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', base], { cwd: copy });
  return join(base, packed.trim());
}

/** A directory with a version of Node, and the npm of this machine. */
function nodeWithNpm(wanted) {
  const bin = installNode(wanted, join(base, `node-${wanted}`));
  for (const name of ['npm', 'npx']) {
    const found = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    symlinkSync(found, join(bin, name));
  }
  return bin;
}

function environment(home, path, variables = {}) {
  const { NODE_EXTRA_CA_CERTS } = process.env;
  const network = NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS };
  const npm = { npm_config_registry: registry.address, npm_config_audit: 'false', npm_config_fund: 'false' };
  return { ...network, ...npm, ...variables, HOME: home, PATH: path.join(delimiter), LANG: 'C.UTF-8' };
}

function run(command, args, options) {
  console.log(`$ ${command} ${args.join(' ')}`);
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', ...options });
  if (status === 0) return stdout;
  throw new Error(`${command} ended with ${status ?? error?.message}\n${stdout}${stderr}`);
}

function expectOutput(actual, expected) {
  if (actual !== expected) throw new Error(`printed ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
}

// What a way leaves in the home, without downloads that npm keeps.
function megabytes(directory) {
  const size = execFileSync('du', ['-sk', '--exclude=_cacache', directory], { encoding: 'utf8' });
  return Math.round(Number(size.split('\t')[0]) / 1024);
}
