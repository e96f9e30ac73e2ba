// Builds the package: the library as ES modules with types, the binary as one CommonJS bundle with lazy chunks, the
// tool host as one of ES modules, the program of a query as one file.

import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { synchronousJsonata } from './jsonata.mjs';

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
  // A file costs 0.4 ms to load, whatever is in it: what several verbs share is one chunk, but for what calls and spawns.
  codeSplitting: {
    groups: [
      { name: 'verbs', test: /src\/cli\/verbs\.ts$/, priority: 4 },
      {
        name: 'shared',
        test: /src\/(?!process\/(?:spawn|collect|end)\.ts|cli\/verbs\/call\.ts|install\/|clients\/|cli\/(?:installing|clients|consent)\.ts|descriptor\/(?:source-|toml\.ts))/,
        minShareCount: 2,
        priority: 3,
      },
      { name: 'spawn', test: /src\/process\/(?:spawn|collect|end)\.ts/, priority: 2 },
      // What only the verbs of installing share is no part of any other start.
      {
        name: 'installing',
        test: /src\/(?:install\/|cli\/installing\.ts|descriptor\/(?:source-|toml\.ts))/,
        priority: 1,
      },
      { name: 'clients', test: /src\/(?:clients\/|cli\/(?:clients|consent)\.ts)/, priority: 1 },
    ],
  },
  // Names of functions and classes stay, since a stack trace is for reading.
  minify: {
    compress: true,
    mangle: { keepNames: { function: true, class: true } },
    codegen: { removeWhitespace: true },
  },
});
await bundle.close();

// The tool host, and the two packages that a lone module may import: loaded as a few files instead of a hundred, they
// take a third of the time.
const host = await rolldown({
  input: { main: `${root}src/host/main.ts`, wield: `${root}src/index.ts`, zod: 'zod' },
  platform: 'node',
  external: ['@swc/wasm-typescript'],
});
await host.write({
  dir: `${root}dist/host`,
  format: 'esm',
  chunkFileNames: '[name]-[hash].js',
  minify: { compress: true, mangle: { keepNames: { function: true, class: true } } },
});
await host.close();

// The program of a query: one file, loaded by every one of them.
const query = await rolldown({
  input: `${root}src/query/main.ts`,
  platform: 'node',
  plugins: [synchronousJsonata],
});
await query.write({
  dir: `${root}dist/query`,
  format: 'cjs',
  entryFileNames: 'main.cjs',
  minify: { compress: true, mangle: true, codegen: { removeWhitespace: true } },
});
await query.close();

// A source with one character past Latin-1 is kept and scanned at two bytes a character.
for (const name of readdirSync(`${root}dist/cli`)) {
  const file = `${root}dist/cli/${name}`;
  writeFileSync(file, readFileSync(file, 'utf8').replace(/[^\0-\x7f]/g, escapeCharacter));
}
chmodSync(`${root}dist/cli/wield.cjs`, 0o755);

function escapeCharacter(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
