// Gate: which chunks the most frequent commands load, so that starts stay small.

import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { BINARY, wieldProcess as wield } from '../support/cli.js';
import { createWorkspace } from '../support/workspace.js';

const HOOK = fileURLToPath(new URL('../support/loaded-chunks.cjs', import.meta.url));
const KILOBYTE = 1024;

const HELLO = `#!/bin/sh
# @description Says hello.
# @param *name string Whom to greet.
echo "hello $WIELD_PARAM_NAME"
`;

test.each([
  { args: ['version'], atMost: 8 * KILOBYTE },
  { args: ['--help'], atMost: 8 * KILOBYTE },
  { args: ['list'], atMost: 380 * KILOBYTE },
  { args: ['call', 'hello', '--name', 'Ada'], atMost: 430 * KILOBYTE },
])('wield $args.0 loads few bytes of itself', async ({ args, atMost }) => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  const loaded = join(workspace.home, 'loaded');
  const run = await wield(workspace, args, {
    env: { NODE_OPTIONS: `--require ${HOOK}`, LOADED_CHUNKS: loaded },
  });
  expect(run).toMatchObject({ status: 0, stderr: '' });
  const names = readFileSync(loaded, 'utf8').split('\n');
  expect(names).toContain('wield.cjs');
  expect(names.filter((name) => /^(serve|installing|documents)/.test(name))).toEqual([]);
  const bytes = names.reduce((sum, name) => sum + statSync(join(dirname(BINARY), name)).size, 0);
  expect(bytes).toBeLessThan(atMost);
});
