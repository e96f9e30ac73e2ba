// Gate: every example runs to its end, and `npm start` does what it says.

import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ROOT, readDocument } from '../support/documents.js';

const run = promisify(execFile);
const examples = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

// A home of its own: an example must not see the tools of whoever runs it, nor leave anything with them.
async function runNode(file: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'wield-example-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' };
  return (await run(process.execPath, [join(ROOT, file)], { env, cwd: home })).stdout;
}

describe('examples', () => {
  for (const name of examples) {
    test(`${name} ends with 0`, async () => {
      expect(existsSync(join(ROOT, 'examples', name, 'run.mjs'))).toBe(true);
      expect(await runNode(`examples/${name}/run.mjs`)).not.toBe('');
    });
  }

  test('there is at least one, and the list names each', () => {
    expect(examples.length).toBeGreaterThan(0);
    const list = readDocument('examples/README.md');
    for (const name of examples) expect(list).toContain(`(${name}/run.mjs)`);
  });

  test('npm start shows the tools, calls them and names what to try', async () => {
    const printed = await runNode('scripts/start.mjs');
    expect(printed).toContain('Bonjour, Ada !');
    expect(printed).toContain('{"total":6.5,"count":3}');
    expect(printed.slice(printed.indexOf('Try next')).trim().split('\n')).toHaveLength(4);
  });
});
