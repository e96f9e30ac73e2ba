// `npm run docs`: builds the documentation site into site/dist, with a Markdown twin of every page, `llms.txt` and the files
// that pages link to, and checks every link. `--base /wield/` for a site below a path; `--check` looks at it in Chromium, `--check --all` at every page.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'vitepress';
import { toApiPage } from '../site/api-page.mjs';
import { API, addressOf, ROOT, readOutline } from '../site/outline.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const OUT = `${ROOT}site/dist`;
const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    check: { type: 'boolean' },
    all: { type: 'boolean' },
    screenshots: { type: 'string' },
  },
});
const base = `/${values.base}/`.replace(/\/+/g, '/');

process.env.WIELD_DOCS_BASE = base;
writeFileSync(ROOT + API, toApiPage());
try {
  await build(`${ROOT}site`);
  for (const { source, twin } of listPages())
    writeFileSync(join(OUT, twin), toTwin(readFileSync(ROOT + source, 'utf8')));
  writeFileSync(join(OUT, 'llms.txt'), describeForModels());
} finally {
  rmSync(ROOT + API);
}
const pages = listPages();
const broken = checkLinks();
if (broken.length > 0) {
  console.error(`broken links:\n${broken.map((line) => `  ${line}`).join('\n')}`);
  process.exit(1);
}
console.log(`${pages.length} pages in site/dist, every link leads somewhere`);
if (values.check || values.screenshots !== undefined) {
  const { checkInBrowser } = await import('./docs-check.mjs');
  const { all: isComplete, screenshots } = values;
  const faults = await checkInBrowser({ directory: OUT, base, pages, screenshots, isComplete });
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/** Returns the pages that were built, with their source in the repository and their twin in the site. */
function listPages() {
  const files = readdirSync(OUT, { recursive: true }).filter((file) => file.endsWith('.html') && file !== '404.html');
  return files.sort().map((file) => {
    const twin = file.replace(/\.html$/, '.md');
    const readme = twin.replace(/(^|\/)index\.md$/, '$1README.md');
    return { file, twin, source: existsSync(join(ROOT, readme)) ? readme : twin };
  });
}

/** Returns a document as it is, with links to twins. */
function toTwin(text) {
  return text.replace(/(\]\([^)\s]*?)README\.md/g, (_, link) => `${link}index.md`);
}

/** Returns the map of the documentation for models, in the form of llmstxt.org. */
function describeForModels() {
  const { name, description } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
  const sections = readOutline().map(({ title, pages: listed }) => {
    const lines = listed.map((page) => `- [${page.title}](${base}${addressOf(page.path)})`);
    return `## ${title}\n\n${lines.join('\n')}\n`;
  });
  return `# ${name}\n\n> ${description}\n\nEvery page is also Markdown: replace \`.html\` by \`.md\`.\n\n${sections.join('\n')}`;
}

/** Copies files of the repository that pages link to, and returns links that lead to no file or heading. */
function checkLinks() {
  const anchors = new Map();
  const anchorsOf = (file) => {
    if (!anchors.has(file))
      anchors.set(file, new Set([...readFileSync(file, 'utf8').matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)));
    return anchors.get(file);
  };
  return pages.flatMap(({ file }) => {
    const links = [...readFileSync(join(OUT, file), 'utf8').matchAll(/ (?:href|src)="([^"]+)"/g)].map(
      ([, link]) => link,
    );
    return [...new Set(links)]
      .filter((link) => !/^(?:[a-z]+:|\/\/)/.test(link))
      .filter((link) => {
        const url = new URL(link.replaceAll('&amp;', '&'), `http://site${base}${file}`);
        if (!url.pathname.startsWith(base)) return true;
        const target = findTarget(decodeURI(url.pathname.slice(base.length)));
        if (target === undefined) return true;
        return (
          url.hash !== '' && target.endsWith('.html') && !anchorsOf(target).has(decodeURIComponent(url.hash.slice(1)))
        );
      })
      .map((link) => `${file}: ${link}`);
  });
}

function findTarget(path) {
  const target = [path, `${path}index.html`, `${path}.html`]
    .map((one) => join(OUT, one))
    .find((one) => existsSync(one) && statSync(one).isFile());
  if (target !== undefined) return target;
  // A file that is not a page: a schema, an example, the license.
  const original = join(ROOT, path === 'LICENSE.txt' ? 'LICENSE' : path);
  if (relative(ROOT, original).startsWith('..') || !existsSync(original) || !statSync(original).isFile()) return;
  const copy = join(OUT, path);
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(original, copy);
  return copy;
}
