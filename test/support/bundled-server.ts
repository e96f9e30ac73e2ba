// The test server that is built with the SDK, as one file: it starts in half the time, and hundreds of tests start it.

import { renameSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const input = fileURLToPath(new URL('./protocol-server.mjs', import.meta.url));

/** The program of a server that speaks one protocol only. */
export const PROTOCOL_SERVER = fileURLToPath(new URL('../../node_modules/.cache/protocol-server.mjs', import.meta.url));

/** Vitest's global setup. */
export async function setup(): Promise<void> {
  // Not loaded by tests.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({ input, platform: 'node' });
  const file = `${PROTOCOL_SERVER}.${process.pid}`;
  await bundle.write({ file, format: 'esm', minify: true, codeSplitting: false });
  await bundle.close();
  renameSync(file, PROTOCOL_SERVER);
}
