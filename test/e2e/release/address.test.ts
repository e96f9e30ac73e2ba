// The address of the repository is the same everywhere; package.json has the one that counts.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../../support/documents.js';
import { spec } from '../../support/spec.js';

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

spec('PKG-1', 'all documents, scripts and hooks name the repository of the package', () => {
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
  const [, own] = /github\.com\/([\w-]+\/wield)\.git$/.exec(manifest.repository.url)!;
  const texts = files.filter((file) => /\.(?:md|json|ya?ml|sh|rb|m?[jt]s)$/.test(file) && existsSync(join(ROOT, file)));
  const named = texts.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/(?:github\.com\/|uses: )([\w-]+\/wield)\b(?!-)/g)].map(
      ([, name]) => ({ file, name }),
    ),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(({ name }) => name !== own)).toEqual([]);
});
