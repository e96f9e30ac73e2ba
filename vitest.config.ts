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

export default defineConfig({
  test: {
    reporters: ['default', createSpecReporter()],
    // Transformed sources are stored: otherwise every run transforms all that a command imports.
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/vitest' },
    pool: 'forks',
    globalSetup: ['test/support/temporary.ts', 'scripts/programs.mjs'],
    setupFiles: ['test/support/seed.ts'],
    server: { deps: { external: [/\/dist\//] } },
    // Tests often wait for their own child processes: five workers keep two cores busy.
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
          globalSetup: ['test/support/bundled-server.ts'],
          isolate: false,
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...OWN_PROCESS],
        },
      },
      { extends: true, test: { name: 'own-process', include: OWN_PROCESS } },
    ],
  },
});
