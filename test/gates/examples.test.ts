// Gate: every example runs to its end, and `npm start` does what it says.

import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ROOT, readDocument } from '../support/documents.js';
import { spec } from '../support/spec.js';

const run = promisify(execFile);
const examples = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

function createHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'wield-example-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

// Uses a temporary home: an example must not depend on the tools of the user, nor leave files behind.
async function runNode(file: string): Promise<string> {
  const home = createHome();
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' };
  return (await run(process.execPath, [join(ROOT, file)], { env, cwd: home })).stdout;
}

describe('examples', () => {
  for (const name of examples) {
    test(`${name} ends with 0`, async () => {
      expect(existsSync(join(ROOT, 'examples', name, 'run.mjs'))).toBe(true);
      expect(await runNode(`examples/${name}/run.mjs`)).not.toBe('');
    }, 180_000);
  }

  test('there is at least one, and the list names each', () => {
    expect(examples.length).toBeGreaterThan(0);
    const list = readDocument('examples/README.md');
    for (const name of examples) expect(list).toContain(`(${name}/run.mjs)`);
  });

  spec('SRV-13', 'npm start prints the address, serves the example, names what to try and stops cleanly', async () => {
    const home = createHome();
    const env = { PATH: process.env.PATH, HOME: home, PORT: '0' };
    const server = spawn(process.execPath, [join(ROOT, 'scripts/start.mjs')], { env, cwd: home });
    const ended = new Promise((resolve) => server.once('exit', resolve));
    onTestFinished(() => void server.kill('SIGKILL'));
    let printed = '';
    await new Promise<void>((resolve) => {
      server.stdout.on('data', (chunk: Buffer) => {
        printed += chunk;
        if (printed.includes('Ctrl-C')) resolve();
      });
    });
    const url = /^http:\/\/127\.0\.0\.1:\d+\/mcp$/m.exec(printed)?.[0];
    expect(await (await fetch(new URL('/', url))).text()).toContain('2 tools: greet, sum');
    expect(/Try next.*\n((?: {2}.*\n)+)/.exec(printed)?.[1]?.trim().split('\n')).toHaveLength(3);
    server.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});
