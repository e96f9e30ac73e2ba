// The documentation site: the Markdown of the repository as it is, in the order of docs/README.md. See scripts/docs.mjs.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitepress';
import { addressOf, ROOT, readOutline } from '../outline.mjs';
import { accessibleSearch } from './accessible-search.mjs';

const { description, repository } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
const source = repository?.url?.replace(/^git\+|\.git$/g, '');

// What readers look for; decisions, reports and statements are found by their lists.
const IS_SEARCHED = /^(?:docs\/(?!decisions\/|reports\/)|README|CHANGELOG|SECURITY|index)/;
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='3' fill='%230f62a8'/><path d='M3 5l2.5 6L8 6l2.5 5L13 5' fill='none' stroke='%23fff' stroke-width='1.6'/></svg>";
// No request leaves the site. The inline script sets the colour scheme before the first paint.
const CONTENT_POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

// Files that pages link to, and that are not pages.
process.env.VITE_EXTRA_EXTENSIONS = 'service';

const link = (path) => `/${addressOf(path)}`;
const sidebar = readOutline().map(({ title, pages }) => ({
  text: title,
  items: pages.map((page) => ({ text: page.title.replace(/^Coming from /, ''), link: link(page.path) })),
}));

export default defineConfig({
  title: 'wield',
  description,
  lang: 'en',
  base: process.env.WIELD_DOCS_BASE ?? '/',
  srcDir: '..',
  srcExclude: [
    '**/{node_modules,dist,dist-next,dist-last,bench,src,test,scripts,site,charts,.github}/**',
    'examples/*/**',
  ],
  rewrites: (path) => addressOf(path),
  outDir: 'dist',
  cacheDir: '../node_modules/.cache/vitepress',
  metaChunk: true,
  // scripts/docs.mjs checks all links, also those to files that are not pages.
  ignoreDeadLinks: true,
  head: [
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: CONTENT_POLICY }],
    ['link', { rel: 'icon', href: ICON }],
  ],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    image: { lazyLoading: true },
    anchor: { slugify: toAnchor },
    config: prepareMarkdown,
  },
  vite: { plugins: [accessibleSearch] },
  transformPageData(page) {
    if (page.relativePath !== 'index.md') return;
    Object.assign(page.frontmatter, {
      sidebar: false,
      aside: false,
      outline: false,
      pageClass: 'landing',
      prev: false,
      next: false,
    });
    page.title = 'wield';
    page.titleTemplate = description.split(':')[0];
  },
  transformHead({ page, siteConfig }) {
    const href = siteConfig.site.base + page;
    return [['link', { rel: 'alternate', type: 'text/markdown', href }]];
  },
  themeConfig: {
    nav: [
      { text: 'Guides', link: link('docs/README.md') },
      { text: 'Reference', link: link('docs/reference/cli.md'), activeMatch: '/docs/reference/' },
      { text: 'Compare', link: link('docs/compare.md') },
      { text: 'Changes', link: link('CHANGELOG.md') },
    ],
    sidebar: { '/': sidebar },
    outline: { level: [2, 3], label: 'On this page' },
    search: { provider: 'local', options: { _render: renderForSearch, detailedView: false } },
    ...(source === undefined ? {} : { socialLinks: [{ icon: 'github', link: source }] }),
    docFooter: { prev: 'Previous', next: 'Next' },
    externalLinkIcon: true,
  },
});

/**
 * Text of documents is text: `{{name}}` is not an expression of the site. Images get their size, so that nothing moves, and
 * links to documents lead to their pages.
 */
function prepareMarkdown({ renderer: { rules } }) {
  for (const name of ['text', 'code_inline']) {
    const render = rules[name];
    rules[name] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;');
  }
  // Short code, such as `--trust`, is not broken at its hyphens.
  const { code_inline: code } = rules;
  rules.code_inline = (tokens, at, ...rest) => {
    if (tokens[at].content.length <= 20) tokens[at].attrJoin('class', 'short');
    return code(tokens, at, ...rest);
  };
  const { image, link_open: open, fence } = rules;
  // The output of a session is not code.
  rules.fence = (tokens, at, ...rest) => {
    if (tokens[at].info === 'sh' && tokens[at].content.startsWith('$ ')) tokens[at].info = 'console';
    return fence(tokens, at, ...rest);
  };
  // The corner of a table is not a heading.
  const { th_open: openHeading } = rules;
  rules.th_open = (tokens, at, options, env, self) => {
    if (tokens[at + 1].content === '') for (const token of [tokens[at], tokens[at + 2]]) token.tag = 'td';
    return (openHeading ?? self.renderToken.bind(self))(tokens, at, options, env, self);
  };
  rules.image = (tokens, at, options, env, self) => {
    const size = sizeOf(join(ROOT, dirname(env.relativePath), decodeURI(tokens[at].attrGet('src'))));
    for (const [name, value] of Object.entries(size)) tokens[at].attrSet(name, String(value));
    return image(tokens, at, options, env, self);
  };
  rules.link_open = (tokens, at, options, env, self) => {
    const [file, ...rest] = tokens[at].attrGet('href').split('#');
    const isHere = !/^[a-z]+:/.test(file);
    // A file without an extension would be taken for a page.
    const target = file === 'LICENSE' ? 'LICENSE.txt' : addressOf(file);
    if (isHere) tokens[at].attrSet('href', [target, ...rest].join('#'));
    return open(tokens, at, options, env, self);
  };
}

function sizeOf(file) {
  if (file.endsWith('.png')) {
    const bytes = readFileSync(file);
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(readFileSync(file, 'utf8')) ?? [];
  if (width === undefined) throw new Error(`${file} has no viewBox, so its place on a page cannot be kept free`);
  return { width, height };
}

/** Returns the anchor that GitHub gives a heading: links in the documents are read there too. */
function toAnchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

function renderForSearch(text, env, markdown) {
  return IS_SEARCHED.test(env.relativePath) ? markdown.render(text, env) : '';
}
