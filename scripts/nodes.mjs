// Node binaries from the registry, without scripts of packages.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Unpacks `bin/node` and the license of a version of Node into a directory, and returns the directory of the binary. */
export function installNode(version, directory, platform = `${process.platform}-${process.arch}`) {
  mkdirSync(directory, { recursive: true });
  const pack = ['pack', '--silent', '--pack-destination', directory, `node-${platform}@${version}`];
  const tarball = join(directory, execFileSync('npm', pack, { encoding: 'utf8' }).trim());
  const members = ['package/bin/node', 'package/LICENSE'];
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', directory, ...members]);
  rmSync(tarball);
  return join(directory, 'bin');
}
