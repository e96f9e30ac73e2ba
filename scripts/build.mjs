// Builds the package: the library (ES modules with types), the binary (CommonJS bundle with lazy chunks), the tool host
// (ES modules), the query program and the process helper (one file each).

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { synchronousJsonata } from './jsonata.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
// Function and class names are preserved for stack traces.
const READABLE = {
  compress: true,
  mangle: { keepNames: { function: true, class: true } },
  codegen: { removeWhitespace: true },
};
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

// `--bundles` keeps the library, for the mutation tests.
const onlyBundles = process.argv.includes('--bundles');
for (const name of onlyBundles ? ['dist/cli', 'dist/host', 'dist/query', 'dist/helper'] : ['dist'])
  rmSync(`${root}${name}`, { recursive: true, force: true });
if (!onlyBundles) {
  execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.build.json`], {
    stdio: 'inherit',
  });
}

// Loading a file takes 0.4 ms whatever its size, so code shared by several verbs is one chunk, except for these: files
// and folders of src/ that few commands load together. A `!` removes a file again.
const CHUNKS = {
  // The first call of a script or command.
  spawn: ['process/spawn.ts', 'process/collect.ts', 'executors/process/run.ts', 'executors/process/pinned.ts'],
  installing: [
    'install/',
    '!install/format.ts',
    '!install/manifest/installed.ts',
    '!install/manifest/tool-md.ts',
    '!install/manifest/item-name.ts',
    'files/lock.ts',
    'cli/installing.ts',
  ],
  // The first use of an upstream server.
  upstream: [
    'upstream/connection/',
    'net/',
    'upstream/login/',
    'upstream/execute/run.ts',
    'upstream/catalog/parse-listing.ts',
    'upstream/entries/expand.ts',
    'upstream/entries/secrets.ts',
  ],
  // The first call of a tool with a sandbox.
  sandbox: ['process/sandbox/', 'executors/shared/sandbox.ts'],
  clients: ['clients/', 'cli/clients.ts', 'cli/consent.ts'],
  // Search, and search mode.
  search: ['builtin/search-functions.ts', 'builtin/signature.ts', 'runtime/forward.ts', 'catalog/search/'],
  // The server, and its part that needs the SDK.
  serving: [
    'mcp-server/',
    '!mcp-server/server.ts',
    '!mcp-server/offers.ts',
    '!mcp-server/sdk-stdio.ts',
    '!mcp-server/sdk-http.ts',
  ],
  'mcp-sdk': ['mcp-server/server.ts', 'mcp-server/offers.ts', 'mcp-server/sdk-stdio.ts', 'mcp-server/sdk-http.ts'],
  // Large results and documents.
  results: [
    'builtin/query-stored.ts',
    'builtin/read-stored.ts',
    'context/query/',
    '!context/query/main.ts',
    'context/store/search-terms.ts',
    'context/tools/answer.ts',
    'context/tools/query.ts',
  ],
};
// With whatever imports them.
const UNSHARED = [
  'process/companion.ts',
  'policy/binding.ts',
  'cli/shells.ts',
  'cli/verbs/call.ts',
  'cli/profile.ts',
  'mcp-server/listing.ts',
  'adapters/',
];
const sources = readdirSync(`${root}src`, { recursive: true }).filter((file) => file.endsWith('.ts'));
const chunks = Object.entries(CHUNKS).map(([name, patterns]) => ({ name, files: selectSources(patterns) }));
const apart = new Set([...selectSources(UNSHARED), ...chunks.flatMap(({ files }) => [...files])]);

const bundle = await rolldown({
  input: {
    run: `${root}src/cli/run.ts`,
    help: `${root}src/cli/help.ts`,
    complete: `${root}src/cli/complete.ts`,
    'save-compile-cache': `${root}src/cli/save-compile-cache.ts`,
  },
  platform: 'node',
  transform: { define: { WIELD_VERSION: JSON.stringify(version) } },
  // Otherwise the bundler's helpers are merged into the largest chunk that uses one, and every call loads the server.
  experimental: { chunkOptimization: { mergeCommonChunks: false } },
});
await bundle.write({
  dir: `${root}dist/cli`,
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name]-[hash].cjs',
  // Code from the compile cache cannot use import() on Node 20.
  dynamicImportInCjs: false,
  codeSplitting: {
    groups: [
      { name: 'verbs', test: (id) => sourceOf(id) === 'cli/verbs.ts', priority: 3 },
      {
        name: 'shared',
        test: (id) => sourceOf(id) !== undefined && !apart.has(sourceOf(id)),
        minShareCount: 2,
        priority: 2,
      },
      ...chunks.map(({ name, files }) => ({ name, test: (id) => files.has(sourceOf(id)), priority: 1 })),
    ],
  },
  minify: READABLE,
});
await bundle.close();

// Kept listings are shown without any of these chunks.
const kept = await rolldown({ input: `${root}src/cli/kept.ts`, platform: 'node' });
await kept.write({ dir: `${root}dist/cli`, format: 'cjs', entryFileNames: 'kept.cjs', minify: READABLE });
await kept.close();

// Escapes non-ASCII characters: V8 stores and scans a source with others at two bytes per character.
const build = createHash('sha256');
for (const name of readdirSync(`${root}dist/cli`)) {
  const file = `${root}dist/cli/${name}`;
  const text = readFileSync(file, 'utf8').replace(/[^\0-\x7f]/g, escapeCharacter);
  if (/\bimport\(/.test(text)) throw new Error(`${name} uses import(), which does not work from the compile cache`);
  writeFileSync(file, text);
  build.update(`${name} ${text}`);
}

// The first help never changes, so it is no chunk.
const help = `${root}dist/cli/help.cjs`;
const { formatHelp, formatShortHelp } = createRequire(import.meta.url)(help);
rmSync(help);

// The entry contains the build hash, which names the files of the compile cache.
const entry = await rolldown({
  input: `${root}src/cli/main.ts`,
  platform: 'node',
  transform: {
    define: {
      WIELD_VERSION: JSON.stringify(version),
      WIELD_HELP: JSON.stringify(formatHelp()),
      WIELD_SHORT_HELP: JSON.stringify(formatShortHelp()),
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

// The tool host, and the two packages that a standalone module may import. A few files load three times faster than a
// hundred.
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

// The query program, started for every query.
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

// The helper process of a server.
const helper = await rolldown({ input: `${root}src/process/helper-main.ts`, platform: 'node' });
await helper.write({ dir: `${root}dist/helper`, format: 'cjs', entryFileNames: 'main.cjs', minify: READABLE });
await helper.close();

function escapeCharacter(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Returns the path of a module below src/; undefined for others. */
function sourceOf(id) {
  return id.startsWith(`${root}src/`) ? id.slice(`${root}src/`.length) : undefined;
}

/** Returns the sources that patterns name. Throws if a pattern names none. */
function selectSources(patterns) {
  const selected = new Set();
  for (const pattern of patterns) {
    const path = pattern.replace('!', '');
    const named = sources.filter((file) => (path.endsWith('/') ? file.startsWith(path) : file === path));
    if (named.length === 0) throw new Error(`scripts/build.mjs: no source matches "${pattern}"`);
    for (const file of named) selected[pattern === path ? 'add' : 'delete'](file);
  }
  return selected;
}
