// Builds the package: the library as ES modules with types, the binary as one CommonJS bundle with lazy chunks.

import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.build.json`],
  { stdio: 'inherit' },
);

const bundle = await rolldown({
  input: `${root}src/cli/main.ts`,
  platform: 'node',
  transform: { define: { WIELD_VERSION: JSON.stringify(version) } },
});
await bundle.write({
  dir: `${root}dist/cli`,
  format: 'cjs',
  banner: (chunk) => (chunk.isEntry ? '#!/usr/bin/env node' : ''),
  entryFileNames: 'wield.cjs',
  chunkFileNames: '[name]-[hash].cjs',
  // A file costs 0.4 ms to load, whatever is in it: what several verbs share is one chunk, but for what spawns.
  codeSplitting: {
    groups: [
      { name: 'verbs', test: /src\/cli\/verbs\.ts$/, priority: 2 },
      { name: 'shared', test: /src\/(?!process\/(?:spawn|group|collect)\.ts)/, minShareCount: 2 },
    ],
  },
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
});
await bundle.close();
chmodSync(`${root}dist/cli/wield.cjs`, 0o755);
