// The order of the documentation: the sections and links of docs/README.md, with the titles of the pages they lead to.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The page of the library, which is written when the site is built. */
export const API = 'docs/reference/api.md';

/** Returns the sections of docs/README.md, with the page of the library; only the paths of readers share pages. */
export function readOutline() {
  const [start = '', ...rest] = readFileSync(`${ROOT}docs/README.md`, 'utf8').split(/^## /m);
  const paths = [{ title: 'Start', pages: linksIn(start.split('\n|')[0]) }, ...readPaths(start)];
  const others = rest.map((section) => ({ title: section.split('\n')[0].trim(), pages: linksIn(section) }));
  others.find(({ title }) => title === 'Reference').pages.push(API);
  const seen = new Set(paths.flatMap(({ pages }) => pages));
  const unseen = others.map(({ title, pages }) => ({
    title,
    pages: pages.filter((path) => !seen.has(path) && seen.add(path)),
  }));
  return [...paths, ...unseen].map(({ title, pages }) => ({
    title,
    pages: pages.map((path) => ({ path, title: titleOf(path) })),
  }));
}

/** Returns the columns of the table of paths, from the first page of each to its last. */
function readPaths(text) {
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').slice(1, -1));
  const [heads = [], , ...steps] = rows;
  return heads.map((head, at) => ({ title: head.trim(), pages: steps.flatMap((cells) => linksIn(cells[at] ?? '')) }));
}

function linksIn(text) {
  return [...text.matchAll(/\]\(([^):#\s]+\.md)\)/g)].map(([, link]) => `docs/${link}`);
}

/** Returns the first heading of a page, as text. */
function titleOf(path) {
  if (path === API) return 'API';
  const [, title = path] = /^# (.+)$/m.exec(readFileSync(ROOT + path, 'utf8')) ?? [];
  return title.replaceAll('`', '');
}

/** Returns the address of a page below the base of the site: `docs/README.md` is `docs/index.md`. */
export function addressOf(path) {
  return path.replace(/(^|\/)README\.md$/, '$1index.md');
}
