// Builds the package: the library as ES modules with types, the binary as one CommonJS bundle with lazy chunks, the
// tool host as one of ES modules, the program of a query as one file.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { synchronousJsonata } from './jsonata.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
// Names of functions and classes stay, since a stack trace is for reading.
const READABLE = {
  compress: true,
  mangle: { keepNames: { function: true, class: true } },
  codegen: { removeWhitespace: true },
};
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.build.json`],
  { stdio: 'inherit' },
);

const bundle = await rolldown({
  input: {
    run: `${root}src/cli/run.ts`,
    help: `${root}src/cli/help.ts`,
    complete: `${root}src/cli/complete.ts`,
    'keep-code': `${root}src/cli/keep-code.ts`,
  },
  platform: 'node',
  transform: { define: { WIELD_VERSION: JSON.stringify(version) } },
  // Else the bundler's own helpers are merged into the largest chunk that uses one, and every call loads the server.
  experimental: { chunkOptimization: { mergeCommonChunks: false } },
});
await bundle.write({
  dir: `${root}dist/cli`,
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name]-[hash].cjs',
  // Code that was kept cannot import, on Node 20.
  dynamicImportInCjs: false,
  // A file costs 0.4 ms to load, whatever is in it: what several verbs share is one chunk, but for what calls and spawns.
  codeSplitting: {
    groups: [
      { name: 'verbs', test: /src\/cli\/verbs\.ts$/, priority: 4 },
      {
        name: 'shared',
        test: /src\/(?!process\/(?:spawn|collect|end|companion)\.ts|policy\/binding\.ts|cli\/shells\.ts|cli\/verbs\/call\.ts|install\/(?!format\.ts|manifest\/(?:installed|tool-md|item-name)\.ts)|clients\/|files\/lock\.ts|cli\/(?:installing|clients|consent)\.ts|upstream\/(?:connection|http|login|execute\/(?!executor)|catalog\/(?:keep-listing|tool-list|definition)|entries\/(?:expand|secrets)))/,
        minShareCount: 2,
        priority: 3,
      },
      { name: 'spawn', test: /src\/process\/(?:spawn|collect|end)\.ts/, priority: 2 },
      // What only the verbs of installing share is no part of any other start.
      {
        name: 'installing',
        test: /src\/(?:install\/(?!format\.ts|manifest\/(?:installed|tool-md|item-name)\.ts)|files\/lock\.ts|cli\/installing\.ts)/,
        priority: 1,
      },
      // Loaded with the first server that is started or logged in to.
      {
        name: 'upstream',
        test: /src\/upstream\/(?:connection|http|login|execute\/(?!executor)|catalog\/(?:keep-listing|tool-list|definition)|entries\/(?:expand|secrets))/,
        priority: 1,
      },
      { name: 'clients', test: /src\/(?:clients\/|cli\/(?:clients|consent)\.ts)/, priority: 1 },
    ],
  },
  minify: READABLE,
});
await bundle.close();

// A source with one character past Latin-1 is kept and scanned at two bytes a character.
const build = createHash('sha256');
for (const name of readdirSync(`${root}dist/cli`)) {
  const file = `${root}dist/cli/${name}`;
  const text = readFileSync(file, 'utf8').replace(/[^\0-\x7f]/g, escapeCharacter);
  if (/\bimport\(/.test(text)) throw new Error(`${name} imports, which code that was kept cannot`);
  writeFileSync(file, text);
  build.update(`${name} ${text}`);
}

// The first help never changes, so it is no chunk.
const help = `${root}dist/cli/help.cjs`;
const { formatHelp } = createRequire(import.meta.url)(help);
rmSync(help);

// What starts first knows the build of the chunks that it loads, since code that was compiled of them is kept by it.
const entry = await rolldown({
  input: `${root}src/cli/main.ts`,
  platform: 'node',
  transform: {
    define: {
      WIELD_VERSION: JSON.stringify(version),
      WIELD_HELP: JSON.stringify(formatHelp()),
      WIELD_BUILD: JSON.stringify(build.digest('hex').slice(0, 16)),
    },
  },
});
await entry.write({
  dir: `${root}dist/cli`,
  format: 'cjs',
  banner: '#!/usr/bin/env node',
  entryFileNames: 'wield.cjs',
  minify: READABLE,
});
await entry.close();
chmodSync(`${root}dist/cli/wield.cjs`, 0o755);

// The tool host, and the two packages that a lone module may import: loaded as a few files instead of a hundred, they
// take a third of the time.
const host = await rolldown({
  input: { main: `${root}src/executors/module/host/main.ts`, wield: `${root}src/index.ts`, zod: 'zod' },
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
  input: `${root}src/context/query/main.ts`,
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

function escapeCharacter(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
