// The packages that are part of a bundle: their licenses as one file, and a bill of materials.

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

const readManifest = (directory) => JSON.parse(readFileSync(`${directory}/package.json`, 'utf8'));

export function writeLicenses(file) {
  const texts = [...bundled].map((directory) => {
    const { name, version, license } = readManifest(directory);
    const own = readdirSync(directory).filter((one) => /^licen[cs]e(?:\.\w+)?$/i.test(one));
    const text = own.map((one) => readFileSync(`${directory}/${one}`, 'utf8').trim()).join('\n\n');
    return `${name} ${version} (${license})\n\n${text}`.trim();
  });
  const line = `\n\n${'-'.repeat(80)}\n\n`;
  writeFileSync(file, `Files of this directory contain code of these packages.${line}${texts.sort().join(line)}\n`);
}

/** Writes the bill of materials in the format of CycloneDX, without a date, so that a build can be repeated. */
export function writeSbom(file, own) {
  const packages = [...bundled].map(readManifest).map((one) => toComponent(one, 'library'));
  const byName = new Map(packages.map((one) => [one.purl, one]));
  const components = [...byName.keys()].sort().map((purl) => byName.get(purl));
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: toComponent(own, 'application') },
    components,
  };
  writeFileSync(file, `${JSON.stringify(bom, undefined, 2)}\n`);
}

function toComponent({ name, version, license }, type) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return { type, 'bom-ref': purl, name, version, licenses: [{ expression: license }], purl };
}
