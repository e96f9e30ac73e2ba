// Gate: every example runs to its end; in `npm test` the first one only, in `npm run gates` all.

import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { copyCompiledCode } from '../support/compiled-code.js';
import { ROOT, readDocument } from '../support/documents.js';
import { testThorough } from '../support/spec.js';

const run = promisify(execFile);
const examples = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

function createHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'wield-example-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  copyCompiledCode(join(home, '.wield'));
  return home;
}

// Uses a temporary home: an example must not depend on the tools of the user, nor leave files behind.
async function runNode(file: string): Promise<string> {
  const home = createHome();
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' };
  return (await run(process.execPath, [join(ROOT, file)], { env, cwd: home })).stdout;
}

describe('examples', () => {
  for (const [at, name] of examples.entries())
    (at === 0 ? test : testThorough)(`${name} ends with 0`, async () => {
      expect(existsSync(join(ROOT, 'examples', name, 'run.mjs'))).toBe(true);
      expect(await runNode(`examples/${name}/run.mjs`)).not.toBe('');
    });

  test('there is at least one, and the list names each', () => {
    expect(examples.length).toBeGreaterThan(0);
    const list = readDocument('examples/README.md');
    for (const name of examples) expect(list).toContain(`(${name}/run.mjs)`);
  });
});
