// Row 18: packages that are installed with wield, and their size on disk, compared with peers.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { peerPackages } from '../support/servers.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGES_TARGET = { of: 'value', atMost: 20, unit: 'packages' };
const SIZE_TARGET = { of: 'value', atMost: 45, unit: 'MB' };

export const row = {
  id: '18',
  title: 'packages that are installed, without those for development',
  async run() {
    const own = weigh(
      ROOT,
      ['dist', 'docs', 'examples', 'spec'].map((name) => join(ROOT, name)),
    );
    return [
      { case: 'wield', value: exactly(own.packages), unit: 'packages', target: PACKAGES_TARGET },
      { case: 'wield, on disk', value: exactly(own.megabytes), unit: 'MB', target: SIZE_TARGET },
      ...peerPackages().flatMap(({ name, directory }) => {
        const { packages, megabytes } = weigh(directory, [directory]);
        return [
          { case: name, value: exactly(packages), unit: 'packages' },
          { case: `${name}, on disk`, value: exactly(megabytes), unit: 'MB' },
        ];
      }),
    ];
  },
};

function exactly(value) {
  return { median: value, p10: value, p90: value };
}

/** Counts a package and all that it needs, as they are installed. `own`: the files of the package itself. */
function weigh(directory, own) {
  const found = new Set();
  const visit = (from) => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(join(from, 'package.json'), 'utf8'),
    );
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = findPackage(name, from);
      if (place === undefined || found.has(place)) continue;
      found.add(place);
      visit(place);
    }
  };
  visit(directory);
  const bytes = [...own, ...found].reduce((sum, place) => sum + sizeOf(place), 0);
  return { packages: found.size + 1, megabytes: bytes / 1e6 };
}

function findPackage(name, from) {
  for (let here = from; ; here = dirname(here)) {
    const place = join(here, 'node_modules', name);
    if (statSync(join(place, 'package.json'), { throwIfNoEntry: false })) return place;
    if (here === dirname(here)) return undefined;
  }
}

// Packages inside a package are counted by themselves.
function sizeOf(place) {
  const stats = statSync(place, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) return stats?.size ?? 0;
  return readdirSync(place)
    .filter((name) => name !== 'node_modules')
    .reduce((sum, name) => sum + sizeOf(join(place, name)), 0);
}
