// The commands of the guide to fleets, as they are written there, and the table of the page about scale.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { wield } from '../../support/cli.js';
import { ROOT, readDocument } from '../../support/documents.js';
import { callFront, createMember, startHere } from '../../support/fleet.js';
import { hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { specIf } from '../../support/spec.js';

const GREET = '#!/bin/sh\n# @description Greet.\necho hello\n';
const DRAW = '#!/bin/sh\n# @description Draw.\n# @run-on gpu\necho drawn\n';

specIf(hasRedis, NO_REDIS, 'FLT-3 FLT-4 FLT-7', 'the commands of the guide start a fleet that runs calls', async () => {
  const { url } = await startRedis();
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(readDocument('docs/guides/fleet.md'))!;
  const lines = block
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('wield '))
    .map((line) => line.replace('redis://127.0.0.1:6379', url).replace(' 7070 ', ' 0 ').split(' ').slice(1));
  expect(lines.length).toBe(7);
  const member = createMember({ greet: GREET, draw: DRAW });
  const names: string[] = [];
  for (const line of lines) {
    if (line[0] === 'serve' || line[0] === 'worker') names.push((await startHere(member, line)).name);
    else expect((await wield(member, line)).status, line.join(' ')).toBe(0);
  }
  expect((await callFront(names[0]!, 'greet')).text).toBe('hello\n');
  expect((await callFront(names[0]!, 'draw')).text).toBe('drawn\n');
});

test('the page about scale shows what the simulation prints', () => {
  const printed = execFileSync(process.execPath, [join(ROOT, 'bench/fleet-scale.mjs'), '5'], { encoding: 'utf8' });
  expect(readDocument('docs/concepts/scale.md')).toContain(printed.trim());
});
