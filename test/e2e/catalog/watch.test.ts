// Tests of watching: every change of the next listing is reported.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { NodeToolbox } from '../../../src/node.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const SCRIPT = '#!/bin/sh\n# @description Hi.\necho hi\n';
const SKILL = '---\nname: notes\ndescription: Notes.\n---\nRead them.\n';

/** Waits for a waking after `change`; fails where none comes. */
async function wakes(toolbox: NodeToolbox, change: () => void): Promise<void> {
  let stop = (): void => {};
  const woken = new Promise<string>((resolve) => {
    stop = toolbox.catalog.watch(() => resolve('woken'));
  });
  change();
  const late = new Promise<string>((resolve) => setTimeout(resolve, 60_000, 'nothing came'));
  expect(await Promise.race([woken, late])).toBe('woken');
  stop();
}

spec(
  'SRV-4',
  'notifies watchers of changes to scripts, skills and their files, also in directories created later',
  async () => {
    const workspace = createWorkspace();
    const toolbox = workspace.toolbox();
    await wakes(toolbox, () => workspace.script('hi', SCRIPT));
    await wakes(toolbox, () => workspace.script('hi', SCRIPT.replace('Hi.', 'Ho.')));
    await wakes(toolbox, () => workspace.write('.agents/skills/notes/SKILL.md', SKILL));
    await wakes(toolbox, () => workspace.write('.agents/skills/notes/tools.json', '[]'));
    await wakes(toolbox, () => rmSync(join(workspace.dir, '.agents/tools'), { recursive: true }));
  },
);

spec('SRV-4', 'watches a directory again after it was removed and recreated', async () => {
  const workspace = createWorkspace();
  workspace.script('hi', SCRIPT);
  const toolbox = workspace.toolbox();
  const tools = join(workspace.dir, '.agents/tools');
  let wakings = 0;
  const stop = toolbox.catalog.watch(() => wakings++);
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300));
  rmSync(tools, { recursive: true });
  await expect.poll(() => wakings).toBeGreaterThan(0);
  await settle();
  mkdirSync(tools);
  await settle();
  const before = wakings;
  writeFileSync(join(tools, 'ho'), SCRIPT, { mode: 0o755 });
  await expect.poll(() => wakings).toBeGreaterThan(before);
  stop();
});
