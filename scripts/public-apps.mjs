// Shows the app of a public server in Chromium through wield, and waits for what it shows of its tools' results.

import { Client } from '@modelcontextprotocol/client';
import { chromium } from 'playwright-core';
import { APP_CAPABILITIES, showApp } from '../test/support/app-host.mjs';

const BROWSER = process.env.WIELD_BROWSER ?? '/usr/bin/chromium';
const TIMEOUT_MS = 60_000;

/** Returns what the app called. Throws if it does not show the expected texts, or reports an error. */
export async function driveApp(transport, { tool, shows, calls = [] }) {
  const client = new Client(
    { name: 'host', version: '1' },
    { versionNegotiation: { mode: 'auto' }, capabilities: APP_CAPABILITIES },
  );
  const browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    await client.connect(transport, { timeout: TIMEOUT_MS });
    const page = await browser.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    const errors = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    const { app, asked } = await showApp(page, client, tool);
    for (const [selector, pattern] of Object.entries(shows))
      await app
        .locator(selector)
        .filter({ hasText: new RegExp(pattern) })
        .first()
        .waitFor();
    const missing = calls.filter((call) => !asked.includes(`tools/call ${call}`));
    if (missing.length + errors.length > 0) throw new Error([...missing, ...errors].join(', '));
  } finally {
    await client.close().catch(() => {});
    await browser.close();
  }
}
