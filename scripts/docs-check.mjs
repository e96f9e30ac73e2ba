// Looks at the built documentation site in Chromium: axe on a page of each kind or on all, light and dark, requests that leave
// the site, bytes of the first page, layout shift, pages wider than a phone, search; and takes screenshots of some pages.

import { createReadStream, existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { createGzip } from 'node:zlib';
import axe from 'axe-core';
import { chromium } from 'playwright-core';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};
const FIRST_PAGE_BYTES = 150 * 1024;
const WIDTHS = [400, 1024, 1600];
const SHOWN = [
  'index.html',
  'docs/guides/first-tool.html',
  'docs/guides/approvals.html',
  'docs/guides/operating.html',
  'docs/compare.html',
];
// One page of each kind; all of them take half an hour.
const KINDS = [
  ...SHOWN,
  'docs/index.html',
  'docs/concepts/speed.html',
  'docs/reference/api.html',
  'docs/reference/cli.html',
  'docs/reference/configuration.html',
  'docs/decisions/index.html',
  'CHANGELOG.html',
];

/** Returns what is wrong, one line each. */
export async function checkInBrowser({ directory, base, pages, screenshots, isComplete }) {
  const checked = isComplete ? pages : pages.filter(({ file }) => KINDS.includes(file));
  const server = await serve(directory, base);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update'],
  });
  const site = { browser, address: `http://127.0.0.1:${server.address().port}${base}`, faults: [] };
  try {
    await checkFirstPage(site);
    await checkSearch(site);
    for (const colorScheme of ['light', 'dark']) await checkPages(site, checked, colorScheme);
    if (screenshots !== undefined) await takeScreenshots(site, screenshots);
  } finally {
    await browser.close();
    server.close();
  }
  if (site.faults.length === 0) console.log(`${checked.length} pages without violations, light and dark`);
  return site.faults;
}

/** Serves the site as a static host does: compressed, and nothing outside the directory. */
async function serve(directory, base) {
  const server = createServer((request, response) => {
    const path = decodeURI(new URL(request.url, 'http://site').pathname);
    const wanted = normalize(`/${path.startsWith(base) ? path.slice(base.length) : '404.html'}`);
    const file = join(directory, wanted.endsWith('/') ? `${wanted}index.html` : wanted);
    if (!existsSync(file)) return response.writeHead(404).end();
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    const isText = !type.startsWith('image/png');
    response.writeHead(200, { 'content-type': type, ...(isText ? { 'content-encoding': 'gzip' } : {}) });
    const bytes = createReadStream(file);
    (isText ? bytes.pipe(createGzip()) : bytes).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function open(site, { width = 1280, colorScheme = 'light' } = {}) {
  const context = await site.browser.newContext({
    viewport: { width, height: 900 },
    colorScheme,
    reducedMotion: 'reduce',
  });
  const tab = await context.newPage();
  const own = new URL(site.address).origin;
  tab.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(own) && !url.startsWith('data:')) site.faults.push(`request to another site: ${url}`);
  });
  tab.on('pageerror', (error) => site.faults.push(`${tab.url()}: ${error.message}`));
  tab.on('console', (message) => {
    if (message.type() === 'error') site.faults.push(`${tab.url()}: ${message.text()}`);
  });
  return tab;
}

async function checkFirstPage(site) {
  for (const width of [400, 1280]) {
    const tab = await open(site, { width });
    const network = await tab.context().newCDPSession(tab);
    await network.send('Network.enable');
    let bytes = 0;
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await tab.addInitScript(() => {
      globalThis.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) globalThis.shift += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await tab.goto(site.address, { waitUntil: 'networkidle' });
    const shift = await tab.evaluate(() => globalThis.shift);
    console.log(`first page at ${width} px: ${Math.round(bytes / 1024)} KB, layout shift ${shift.toFixed(3)}`);
    if (bytes > FIRST_PAGE_BYTES) site.faults.push(`the first page has ${bytes} bytes at ${width} px`);
    if (shift > 0) site.faults.push(`the first page shifts by ${shift} at ${width} px`);
    await tab.context().close();
  }
}

async function checkSearch(site) {
  const tab = await open(site);
  await tab.goto(site.address, { waitUntil: 'networkidle' });
  await tab.getByRole('button', { name: 'Search' }).click();
  await tab.getByRole('searchbox').fill('needs_approval');
  await tab.locator('.result').first().waitFor({ timeout: 20_000 });
  await audit(site, tab, 'search');
  await tab.context().close();
}

async function checkPages(site, pages, colorScheme) {
  const tab = await open(site, { colorScheme });
  const phone = await open(site, { width: 400, colorScheme });
  for (const { file } of pages) {
    await tab.goto(site.address + file, { waitUntil: 'load' });
    await audit(site, tab, `${file}, ${colorScheme}`);
    if (colorScheme === 'dark') continue;
    await phone.goto(site.address + file, { waitUntil: 'load' });
    const excess = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (excess > 0) site.faults.push(`${file} is ${excess} px wider than a phone`);
  }
  await tab.context().close();
  await phone.context().close();
}

async function audit(site, tab, place) {
  await tab.evaluate(axe.source);
  const { violations } = await tab.evaluate(() => globalThis.axe.run());
  for (const { id, help, nodes } of violations)
    site.faults.push(
      `${place}: ${id}: ${help}\n    ${nodes
        .slice(0, 2)
        .map((node) => node.html.slice(0, 160))
        .join('\n    ')}`,
    );
}

async function takeScreenshots(site, directory) {
  mkdirSync(directory, { recursive: true });
  for (const colorScheme of ['light', 'dark'])
    for (const width of WIDTHS)
      for (const file of SHOWN) {
        const tab = await open(site, { width, colorScheme });
        await tab.goto(site.address + file, { waitUntil: 'networkidle' });
        const name = file.replace(/\.html$/, '').replaceAll('/', '-');
        await tab.screenshot({ path: join(directory, `${name}-${width}-${colorScheme}.png`) });
        await tab.context().close();
      }
}
