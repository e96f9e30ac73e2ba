import { defineConfig } from 'vitest/config';
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
    pool: 'forks',
    // Tests mostly wait for their own child processes: four workers keep two cores busy.
    maxWorkers: 4,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Reading extra certificates adds 77 ms to every start of Node 20.
    env: { NODE_EXTRA_CA_CERTS: '' },
    projects: [
      {
        extends: true,
        // Files share a worker and its loaded modules.
        test: {
          name: 'shared',
          globalSetup: ['test/support/compiled-code.ts'],
          isolate: false,
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...OWN_PROCESS],
        },
      },
      { extends: true, test: { name: 'own-process', include: OWN_PROCESS } },
    ],
  },
});
