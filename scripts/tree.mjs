// Prints every file of src/ with its first line.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const root = fileURLToPath(new URL('..', import.meta.url));
const NAME_WIDTH = 28;

function linesOf(folder, depth) {
  const entries = readdirSync(`${root}${folder}`, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  const indent = '  '.repeat(depth);
  const files = entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.test.ts'))
    .map(({ name }) => {
      const [first] = readFileSync(`${root}${folder}/${name}`, 'utf8').split('\n');
      return `${(indent + name).padEnd(NAME_WIDTH)} ${first.replace(/^\/\/ /, '')}`;
    });
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [`${indent}${name}/`, ...linesOf(`${folder}/${name}`, depth + 1)]);
  return [...files, ...folders];
}

console.log(['src/', ...linesOf('src', 1)].join('\n'));
