import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    // These tests watch real processes, and a busy machine can starve one for seconds: what fails twice is wrong.
    retry: process.env.CI ? 1 : 0,
    hookTimeout: 60_000,
    // Reading extra certificates adds 77 ms to every start of Node 20.
    env: { NODE_EXTRA_CA_CERTS: '' },
  },
});
