// Resolves the imports of a module: built-in modules, files, and packages.

import { builtinModules } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { resolveImport } from '../../../files/closure.js';

export interface Resolved {
  readonly url: string;
  /** Whether our loader compiles it; everything else is loaded by Node. */
  readonly ours: boolean;
}

// Packages that a standalone file may import without installing them (MOD-7); bundles of the first two are beside
// this file in the build.
const OWN = /^(?:wield|zod)(?:\/|$)/;
const OWN_BUNDLES = new Set(['wield', 'zod']);
const BUILTIN = new Set(builtinModules);

// Resolved packages by importing directory: a failed lookup walks up the whole tree.
const packages = new Map<string, Resolved>();

export function resolveUrl(specifier: string, from: string): Resolved {
  if (specifier.startsWith('node:') || BUILTIN.has(specifier))
    return { url: specifier.startsWith('node:') ? specifier : `node:${specifier}`, ours: false };
  if (specifier === 'bun' || specifier.startsWith('bun:'))
    throw new Error(`${specifier} is a module of Bun, and tools run in Node; use a module of Node or a package`);
  const path = resolveFile(specifier, from);
  if (path !== undefined) return { url: pathToFileURL(path).href, ours: !path.includes('/node_modules/') };
  const key = `${dirname(from)}\n${specifier}`;
  const known = packages.get(key) ?? { url: resolvePackage(specifier, from), ours: false };
  packages.set(key, known);
  return known;
}

function resolvePackage(specifier: string, from: string): string {
  try {
    return import.meta.resolve(specifier, pathToFileURL(from).href);
  } catch (error) {
    if (OWN_BUNDLES.has(specifier)) return new URL(`./${specifier}.js`, import.meta.url).href;
    if (OWN.test(specifier)) return import.meta.resolve(specifier);
    const { message, code } = error as NodeJS.ErrnoException;
    throw Object.assign(new Error(message.split('\n')[0], { cause: error }), {
      missingPackage: code === 'ERR_MODULE_NOT_FOUND' ? packageName(specifier) : undefined,
    });
  }
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function resolveFile(specifier: string, from: string): string | undefined {
  if (!/^(?:\.\.?\/|\/|file:)/.test(specifier)) return undefined;
  const wanted = specifier.startsWith('file:') ? fileURLToPath(specifier) : specifier;
  const found = resolveImport(wanted, from);
  if (found === undefined) throw new Error(`file not found: ${wanted}, imported by ${from}`);
  return found;
}
