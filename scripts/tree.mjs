// Writes the tree of ARCHITECTURE.md anew from the first lines of the files in src/.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const WIDTH = 25;

function linesOf(folder, depth) {
  const entries = readdirSync(`${root}${folder}`, { withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const indent = '  '.repeat(depth);
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map(({ name }) => {
      const [first] = readFileSync(`${root}${folder}/${name}`, 'utf8').split('\n');
      return `${(indent + name).padEnd(WIDTH - 1)} ${first.replace(/^\/\/ /, '')}`;
    });
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [`${indent}${name}/`, ...linesOf(`${folder}/${name}`, depth + 1)]);
  return [...files, ...folders];
}

const page = `${root}ARCHITECTURE.md`;
const text = readFileSync(page, 'utf8');
const tree = ['```', `${basename('src')}/`, ...linesOf('src', 1), '```'].join('\n');
writeFileSync(
  page,
  text.replace(/```\nsrc\/\n[\s\S]*?\n```/, () => tree),
);
