// The build, for tests of the binary, of the package and of start-up. All other tests run the sources.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

let isChecked = false;

/** Returns the path of a file or folder in `dist/`. Throws if `dist/` is missing or older than the sources. */
export function built(name: string): string {
  if (!isChecked) checkBuild();
  isChecked = true;
  return join(ROOT, 'dist', name);
}

/** Returns the path of the built command. */
export function binary(): string {
  return built('cli/wield.cjs');
}

function checkBuild(): void {
  const dist = statSync(join(ROOT, 'dist/cli/wield.cjs'), { throwIfNoEntry: false });
  if (dist === undefined) throw new Error('this test uses dist/, which is missing; run: npm run build');
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:tsx?|css|html)$/.test(name) && !name.endsWith('.test.ts'))
    .map((name) => join('src', name));
  const newer = sources.find((file) => statSync(join(ROOT, file)).mtimeMs > dist.mtimeMs);
  if (newer !== undefined) throw new Error(`this test uses dist/, which is older than ${newer}; run: npm run build`);
}
