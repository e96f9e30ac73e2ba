// A PATH in which optional programs are missing, and the test files for which that can make a difference.

import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MACHINE = join(ROOT, 'test/support/machine.ts');
const PACKAGES = JSON.parse(readFileSync(join(ROOT, 'test/support/optional-programs.json'), 'utf8'));

/** Names of the optional programs. */
export const OPTIONAL = Object.keys(PACKAGES);

// Other programs of the same kind, which would be used instead.
const SAME = { chromium: ['chromium-browser', 'google-chrome'], python3: ['python'] };

/** Returns a PATH with links to all programs but some, which are beside others in the directories of the system. */
export function createPath(directory, without) {
  const missing = new Set(without.flatMap((name) => [name, ...(SAME[name] ?? [])]));
  const places = process.env.PATH.split(delimiter).filter((place) => existsSync(place));
  return places
    .map((place, at) => {
      const links = join(directory, `${at}`);
      mkdirSync(links, { recursive: true });
      for (const name of readdirSync(place)) if (!missing.has(name)) symlinkSync(join(place, name), join(links, name));
      return links;
    })
    .join(delimiter);
}

/**
 * Returns the test files that depend on optional programs: those that name one, or a sandbox, or that import
 * `machine.ts`, also through other files of test/. Commands in documents and examples may need one too.
 */
export function findAffected() {
  // Names that are also words of tests.
  const words = [...OPTIONAL.filter((name) => !['script', 'pass'].includes(name)), 'sandbox', 'examples', 'documents'];
  const pattern = new RegExp(`\\b(?:${words.join('|')})\\b`);
  return ['src', 'test']
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => {
      const path = join(ROOT, file);
      return pattern.test(readFileSync(path, 'utf8')) || importsOf(path, new Set()).has(MACHINE);
    });
}

function importsOf(file, found) {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/ from '(\.[^']*)\.js'/g)) {
    const imported = join(dirname(file), `${name}.ts`);
    if (imported.startsWith(join(ROOT, 'test/')) && existsSync(imported)) importsOf(imported, found);
  }
  return found;
}
