// The source files and their imports, for the gates.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Source {
  /** Relative to `src`. */
  readonly file: string;
  readonly text: string;
  /** Files of ours that it imports, relative to `src`; `import type` left out where `values` is asked for. */
  readonly imports: readonly { readonly file: string; readonly typeOnly: boolean; readonly lazy: boolean }[];
  /** Packages and built-in modules that it imports. */
  readonly packages: readonly string[];
}

const STATIC = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gms;
const DYNAMIC = /\bimport\(\s*'([^']+)'\s*\)/g;

export function readSources(): Source[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
    .sort()
    .map((file) => {
      const text = readFileSync(join(ROOT, 'src', file), 'utf8');
      const found = [
        ...[...text.matchAll(STATIC)].map(([, type, to]) => ({
          to: to!,
          typeOnly: type !== undefined,
          lazy: false,
        })),
        ...[...text.matchAll(DYNAMIC)].map(([, to]) => ({ to: to!, typeOnly: false, lazy: true })),
      ];
      return {
        file,
        text,
        imports: found
          .filter(({ to }) => to.startsWith('.'))
          .map(({ to, typeOnly, lazy }) => ({
            file: toSource(normalize(join(dirname(file), to))),
            typeOnly,
            lazy,
          })),
        packages: found.filter(({ to }) => !to.startsWith('.')).map(({ to }) => to),
      };
    });
}

// The source of an imported file.
function toSource(file: string): string {
  const source = file.replace(/\.js$/, '.ts');
  return existsSync(join(ROOT, 'src', source)) ? source : `${source}x`;
}
