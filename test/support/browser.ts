// A real Chromium for tests of pages.

import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { findProgram, notInstalled } from './machine.js';
import { patience } from './patience.js';
import { onEnd } from './share.js';
import { specIf } from './spec.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const PROGRAM = NAMES.map(findProgram).find((file) => file !== undefined);
export const HAS_BROWSER = PROGRAM !== undefined;
const REASON = notInstalled('chromium');
// A page may need seconds on a busy machine.
const TIMEOUT_MS = patience(60_000);

/** A test that needs a browser; skipped with a reason where there is none. */
export function browserSpec(ids: string, title: string, body: () => Promise<void>): void {
  specIf(HAS_BROWSER, REASON, ids, title, body, 180_000);
}

/** A second proof, for `npm run thorough`. */
browserSpec.thorough = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf.thorough(HAS_BROWSER, REASON, ids, title, body, 180_000);

/** Starts a browser with its own profile, closed after the test. Errors and messages of its pages are collected. */
export async function openBrowser(): Promise<{ readonly context: BrowserContext; readonly messages: string[] }> {
  // Chromium's own sandbox does not start for root, nor in most containers.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  const browser = await chromium.launch({ executablePath: PROGRAM!, args, timeout: TIMEOUT_MS });
  onEnd(() => browser.close());
  const context = await browser.newContext();
  context.setDefaultTimeout(TIMEOUT_MS);
  const messages: string[] = [];
  context.on('console', (message) => messages.push(message.text()));
  context.on('weberror', (error) => messages.push(String(error.error())));
  return { context, messages };
}

/** Opens an address in a browser of its own. */
export async function openPage(url: string): Promise<{ readonly page: Page; readonly messages: string[] }> {
  const { context, messages } = await openBrowser();
  const page = await context.newPage();
  await page.goto(url);
  return { page, messages };
}
