// Builds the package: the library (ES modules with types), the binary (CommonJS, with modules that are evaluated on first use), the tool host
// (ES modules), the query program, the engine of programs, the process helper and the thread of documents (one file each), the page (static files).

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { minifySync } from 'rolldown/utils';
import { chooseFiles, findUsed, isOwn } from './files-of-binary.mjs';
import { packModules, toModules } from './lazy-modules.mjs';
import { licenses, writeLicenses } from './licenses.mjs';
import { READABLE, writePrograms } from './programs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
// Files that can do a command, or begin it, without the others.
const BEGINNINGS = { kept: 'show-list', 'kept-completion': 'completion', first: 'answer-first' };
// Loaded by name.
const STABLE = new Set(
  ['run', 'complete', 'help', 'save-compile-cache', ...Object.keys(BEGINNINGS)].map((name) => `${name}.cjs`),
);
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

// `--bundles` keeps the library, for the mutation tests.
const onlyBundles = process.argv.includes('--bundles');
for (const name of onlyBundles
  ? ['dist/cli', 'dist/host', 'dist/query', 'dist/helper', 'dist/openapi', 'dist/ui/page.js']
  : ['dist'])
  rmSync(`${root}${name}`, { recursive: true, force: true });
if (!onlyBundles) {
  // `--checked` for those who check the types themselves.
  const flags = process.argv.includes('--checked') ? ['--noCheck'] : [];
  const compiler = `${root}node_modules/typescript/bin/tsc`;
  execFileSync(process.execPath, [compiler, '-p', `${root}tsconfig.build.json`, ...flags], { stdio: 'inherit' });
  await bundleSdk(['upstream/sdk']);
}

await writePrograms(`${root}dist`);

// The binary. Every module of src/ and every package is a chunk, and few files contain them all.
const bundle = await rolldown({
  input: {
    run: `${root}src/cli/run.ts`,
    help: `${root}src/cli/help.ts`,
    complete: `${root}src/cli/complete.ts`,
    'save-compile-cache': `${root}src/cli/save-compile-cache.ts`,
  },
  platform: 'node',
  external: ['@swc/wasm-typescript'],
  plugins: [licenses],
  preserveEntrySignatures: 'allow-extension',
  transform: { define: { WIELD_VERSION: JSON.stringify(version) } },
  experimental: { chunkOptimization: { mergeCommonChunks: false } },
});
const { output: chunks } = await bundle.generate({
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  // Code from the compile cache cannot use import() on Node 20.
  dynamicImportInCjs: false,
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [{ name: nameChunk, debugName: 'modules', test: /./ }],
  },
});
await bundle.close();
const modules = toModules(chunks, isOwn);
const entries = chunks
  .filter(({ isEntry, fileName }) => isEntry && !fileName.startsWith('src.'))
  .map(({ fileName }) => fileName);
await writeBinary(() => 'all', { isTraced: true });
await writeBinary(chooseFiles(onlyBundles ? [] : findUsed(`${root}dist/cli/wield.cjs`)));
if (!onlyBundles) writeLicenses(`${root}dist/licenses.txt`);

/** Replaces modules that export parts of the SDK by a bundle. Nothing that the package exports has its types. */
async function bundleSdk(names) {
  const sdk = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, `${root}src/${name}.ts`])),
    platform: 'node',
    external: ['zod', /^zod\//],
    plugins: [licenses],
  });
  await sdk.write({ dir: `${root}dist`, format: 'esm', chunkFileNames: 'sdk/[name].js', minify: READABLE });
  await sdk.close();
  for (const name of names) {
    const file = `${root}dist/${name}.d.ts`;
    const exported = [...readFileSync(file, 'utf8').matchAll(/^export (type )?\{([^}]+)\}/gm)];
    const lines = exported.flatMap(([, onlyType, list]) =>
      list.match(/\w+/g).map((one) => {
        const type = `export type ${one} = any;`;
        return onlyType === undefined ? `${type} export declare const ${one}: any;` : type;
      }),
    );
    writeFileSync(file, `${lines.join('\n')}\n`);
  }
}

/** Names the chunk of a module of src/ by its path, and that of any other one by its package. */
function nameChunk(id) {
  if (id.startsWith(`${root}src/`)) return `src.${id.slice(`${root}src/`.length).replaceAll('/', '.')}`;
  const inPackage = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id);
  return inPackage === null ? undefined : `npm.${inPackage[1].replace('@', '').replace('/', '.')}`;
}

/** Writes the files of the binary. A traced binary reports the modules that it evaluates. */
async function writeBinary(fileOf, { isTraced = false } = {}) {
  const directory = `${root}dist/cli`;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const texts = packModules(modules, {
    fileOf,
    entries,
    onEvaluate: ({ fileName }) => (isTraced ? `globalThis.wieldEvaluated?.add(${JSON.stringify(fileName)});` : ''),
  });
  for (const [name, file] of Object.entries(BEGINNINGS))
    texts.set(`${name}.cjs`, await bundleFile(`src/cli/kept/${file}.ts`));
  const build = createHash('sha256');
  for (const [name, text] of texts) build.update(`${name} ${text}`);
  const hash = build.digest('hex').slice(0, 16);
  for (const [name, text] of texts) {
    // Running commands must not load files of another build.
    const stamped = text.replace(/require\("\.\/([^"]+)\.cjs"\)/g, (_call, required) => {
      if (!texts.has(`${required}.cjs`)) throw new Error(`${name} requires ${required}.cjs, which is not written`);
      return `require("./${required}-${hash.slice(0, 8)}.cjs")`;
    });
    const file = STABLE.has(name) ? name : name.replace('.cjs', `-${hash.slice(0, 8)}.cjs`);
    writeFileSync(`${directory}/${file}`, toAscii(isTraced ? stamped : minify(name, stamped)));
  }
  // The first help never changes, so it is not a file.
  const { formatHelp, formatShortHelp } = createRequire(import.meta.url)(`${directory}/help.cjs`);
  rmSync(`${directory}/help.cjs`);
  // The entry contains the build hash, which names the files of the compile cache.
  const entry = await bundleFile('src/cli/main.ts', {
    WIELD_VERSION: JSON.stringify(version),
    WIELD_HELP: JSON.stringify(formatHelp()),
    WIELD_SHORT_HELP: JSON.stringify(formatShortHelp()),
    WIELD_BUILD: JSON.stringify(hash),
  });
  writeFileSync(`${directory}/wield.cjs`, `#!/usr/bin/env node\n${minify('wield.cjs', entry)}`, { mode: 0o755 });
}

/** Bundles a source and everything that it imports into one text. */
async function bundleFile(file, define = {}) {
  const one = await rolldown({ input: `${root}${file}`, platform: 'node', transform: { define }, plugins: [licenses] });
  const { output } = await one.generate({ format: 'cjs', generatedCode: { symbols: false } });
  await one.close();
  return output[0].code;
}

function minify(name, text) {
  const { code, errors } = minifySync(name, text, READABLE);
  if (errors.length > 0) throw new Error(`${name}: ${errors[0].message}`);
  if (/\bimport\(/.test(code)) throw new Error(`${name} uses import(), which does not work from the compile cache`);
  return code;
}

// V8 stores and scans a source with other characters at two bytes per character.
function toAscii(text) {
  return text.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
