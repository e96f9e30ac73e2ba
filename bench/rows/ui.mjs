// Row ui: size of the page, and the time until it shows a catalog of 1,000 tools in Chromium.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { QUICK, sized, spread } from '../support/measure.mjs';
import { BINARY, createWorkspace, settle } from '../support/workspace.mjs';

const FILES = fileURLToPath(new URL('../../dist/ui/', import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const TOOLS = 1000;
const ROUNDS = sized(15, 1);

export const row = {
  id: 'ui',
  title: 'the page of wield ui',
  async run() {
    const kilobytes = (names) => {
      const sum = names.reduce((bytes, name) => bytes + gzipSync(readFileSync(FILES + name)).length, 0) / 1024;
      return { median: sum, p10: sum, p90: sum };
    };
    const names = readdirSync(FILES);
    const sizes = [
      {
        case: 'all files, gzipped',
        value: kilobytes(names),
        unit: 'KB',
        target: { of: 'value', atMost: 45, unit: 'KB' },
      },
      { case: 'script alone', value: kilobytes(names.filter((name) => name.endsWith('.js'))), unit: 'KB' },
    ];
    if (QUICK || !existsSync(CHROMIUM)) return sizes;
    const { painted, shown } = await measurePaints();
    const target = { of: 'value', atMost: 300, unit: 'ms' };
    return [
      ...sizes,
      { case: `first paint, ${TOOLS} tools`, value: spread(painted), unit: 'ms', target },
      { case: `catalog shown, ${TOOLS} tools`, value: spread(shown), unit: 'ms' },
    ];
  },
};

// Each round is a new tab of a browser that runs already; the server was asked before.
async function measurePaints() {
  const { chromium } = await import('playwright-core');
  const { dir, env } = createWorkspace(TOOLS);
  await settle();
  const server = spawn(process.execPath, [BINARY, 'ui', '--json'], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { url } = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(JSON.parse(text))));
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  process.once('exit', () => server.kill('SIGTERM'));
  const [painted, times] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const tab = await browser.newPage();
    await tab.addInitScript(noteFirstRow);
    await tab.goto(url);
    await tab.waitForSelector('.catalog .item');
    let shown;
    while (shown === undefined) shown = await tab.evaluate('globalThis.shownAt');
    if (round > 0) times.push(shown);
    if (round > 0)
      painted.push(await tab.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`));
    await tab.close();
  }
  await browser.close();
  server.kill('SIGTERM');
  return { painted, shown: times };
}

// Runs in the page: the time of the frame that paints the first rows.
function noteFirstRow() {
  new MutationObserver((_, observer) => {
    if (document.querySelector('.catalog .item') === null) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => (globalThis.shownAt = performance.now())));
  }).observe(document, { childList: true, subtree: true });
}
