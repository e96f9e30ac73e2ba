// The licenses of the packages that are part of a bundle, as one file.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const bundled = new Set();

/** For every bundle: remembers the packages that it contains. */
export const licenses = {
  name: 'licenses',
  generateBundle(_options, bundle) {
    for (const { moduleIds = [] } of Object.values(bundle))
      for (const id of moduleIds) {
        const inPackage = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id);
        if (inPackage !== null) bundled.add(inPackage[1]);
      }
  },
};

export function writeLicenses(file) {
  const texts = [...bundled].map((directory) => {
    const { name, version, license } = JSON.parse(readFileSync(`${directory}/package.json`, 'utf8'));
    const own = readdirSync(directory).filter((one) => /^licen[cs]e(?:\.\w+)?$/i.test(one));
    const text = own.map((one) => readFileSync(`${directory}/${one}`, 'utf8').trim()).join('\n\n');
    return `${name} ${version} (${license})\n\n${text}`.trim();
  });
  const line = `\n\n${'-'.repeat(80)}\n\n`;
  writeFileSync(file, `Files of this directory contain code of these packages.${line}${texts.sort().join(line)}\n`);
}
