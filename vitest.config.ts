import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Plugin } from 'vitest/config';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.js';
import { patience } from './test/support/patience.js';
import { createSpecReporter } from './test/support/spec-reporter.js';

// Tests that measure or change their own process: memory, TLS settings, global tracing providers.
const OWN_PROCESS = [
  'test/attacks/{files,upstream-http}.test.ts',
  'test/e2e/audit/telemetry.test.ts',
  'test/e2e/context/handles.test.ts',
  'test/e2e/runtime/call-limits.test.ts',
  'test/faults/{ends,soak,spawn,streams}.test.ts',
];

const DIST = join(import.meta.dirname, 'dist') + sep;
const SOURCES = join(import.meta.dirname, 'src') + sep;

/** Loads the built library in tests: it is what users get, and 500 files less to transform for every worker. */
const builtLibrary: Plugin = {
  name: 'built-library',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !importer.startsWith(import.meta.dirname) || !source.startsWith('.'))
      return undefined;
    const path = join(importer, '..', source);
    const built = path.startsWith(SOURCES) ? DIST + path.slice(SOURCES.length) : undefined;
    return built !== undefined && existsSync(built) ? built : undefined;
  },
};

export default defineConfig({
  // Tests of mutations use the sources.
  plugins: process.env.WIELD_TEST_SOURCE === '1' ? [] : [builtLibrary],
  test: {
    reporters: ['default', createSpecReporter()],
    pool: 'forks',
    globalSetup: ['test/support/temporary.ts'],
    setupFiles: ['test/support/seed.ts'],
    server: { deps: { external: [/\/dist\//] } },
    // Tests mostly wait for their own child processes: five workers keep two cores busy.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    testTimeout: patience(120_000),
    hookTimeout: patience(120_000),
    expect: { poll: { timeout: patience(60_000) } },
    // Reading extra certificates adds 77 ms to every start of Node 20.
    env: { NODE_EXTRA_CA_CERTS: '' },
    projects: [
      {
        extends: true,
        // Files share a worker and its loaded modules.
        test: {
          name: 'shared',
          globalSetup: ['test/support/compiled-code.ts', 'test/support/bundled-server.ts'],
          isolate: false,
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...OWN_PROCESS],
        },
      },
      { extends: true, test: { name: 'own-process', include: OWN_PROCESS } },
    ],
  },
});
