// The commands of README and the guide on typed tools work with a checkout, before the package is published.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/wasm-typescript';
import { expect } from 'vitest';
import { finding } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

finding(
  'N15',
  'the program of README runs in a project that installed a checkout',
  () => {
    const workspace = createWorkspace();
    const { dir } = workspace;
    workspace.write('package.json', '{ "name": "site", "private": true }');
    const flags = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    execFileSync('npm', ['install', ...flags, ROOT], { cwd: dir, stdio: 'pipe' });
    const [, program = ''] =
      /```ts\n(\/\/ greet\.ts\n[\s\S]*?)```/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? [];
    expect(program).toContain('defineTool');
    // What `tsx` does: types are removed, nothing else.
    writeFileSync(join(dir, 'greet.mjs'), transformSync(program, { mode: 'strip-only' }).code);
    const output = execFileSync(process.execPath, ['greet.mjs'], { cwd: dir, encoding: 'utf8' });
    expect(output).toBe('Hello, Ada!\ndid you mean name? greet takes name\n');
  },
  120_000,
);
