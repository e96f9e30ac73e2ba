// Tests that a script that changed between plan and run is not started.

import { chmodSync, existsSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createCallScope } from '../../../test/support/call-scope.js';
import { sleep } from '../../../test/support/processes.js';
import { shellScript } from '../../../test/support/shell-script.js';
import { spec, specIf } from '../../../test/support/spec.js';
import { createWorkspace } from '../../../test/support/workspace.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { ScriptAction } from '../../core/tool.js';
import { createProcessExecutor } from './index.js';
import { pinScript } from './pinned.js';

async function planned(workspace = createWorkspace(), text = shellScript('touch ran')) {
  const path = workspace.script('touch', text);
  const toolbox = workspace.toolbox();
  const executor = createProcessExecutor({ world: toolbox.machine.world, withVariables: async (plan) => plan });
  const { plan } = await toolbox.plan('touch', {});
  const scope = createCallScope(toolbox.state.snapshot());
  return {
    path,
    plan: plan as ProcessPlan,
    world: toolbox.machine.world,
    run: () => executor.run(plan as ProcessPlan, scope),
    ran: () => existsSync(join(workspace.dir, 'ran')),
  };
}

const CHANGES: Readonly<Record<string, (path: string) => void>> = {
  edited: (path) => writeFileSync(path, shellScript('touch ran; touch more')),
  'edited to the same length': (path) => writeFileSync(path, shellScript('touch nar')),
  replaced: (path) => {
    writeFileSync(`${path}.new`, shellScript('touch ran # other'), { mode: 0o755 });
    renameSync(`${path}.new`, path);
  },
  deleted: (path) => rmSync(path),
};

for (const [how, change] of Object.entries(CHANGES)) {
  spec('RUN-2 EXE-8', `F28 does not run a script ${how} between plan and run`, async () => {
    const { path, run, ran } = await planned();
    change(path);
    await expect(run()).rejects.toMatchObject({ code: 'integrity', hint: expect.stringMatching(/./) });
    expect(ran()).toBe(false);
  });
}

spec('RUN-2', 'runs a script if only its timestamps changed between plan and run', async () => {
  const { path, run, ran } = await planned();
  utimesSync(path, 1, 1);
  await run();
  expect(ran()).toBe(true);
});

spec('EXE-8', 'suggests chmod +x for a script that lost its execute bit between plan and run', async () => {
  const { path, run, ran } = await planned();
  chmodSync(path, 0o644);
  await expect(run()).rejects.toMatchObject({
    code: 'exec_failed',
    hint: expect.stringContaining('chmod +x'),
  });
  expect(ran()).toBe(false);
});

spec('RUN-2 POL-25', 'does not run a script whose interpreter was replaced between plan and run', async () => {
  const workspace = createWorkspace();
  const interpreter = join(workspace.home, 'speak');
  const write = (): void => writeFileSync(interpreter, '#!/bin/sh\nexec /bin/sh "$@"\n', { mode: 0o755 });
  write();
  const script = `#!${interpreter}\n# @description Made by a test.\ntouch ran\n`;
  const { run, ran } = await planned(workspace, script);
  rmSync(interpreter);
  write();
  await expect(run()).rejects.toMatchObject({ code: 'integrity', message: expect.stringContaining(interpreter) });
  expect(ran()).toBe(false);
  const again = await planned(workspace, script);
  await again.run();
  expect(again.ran()).toBe(true);
});

specIf(
  process.platform === 'linux',
  'not Linux',
  'RUN-2',
  'a program that is written to while it starts is noticed',
  async () => {
    for (const body of ['touch nar', 'touch ran; touch more']) {
      const { path, plan, world } = await planned();
      const action = { ...(plan.tool.action as ScriptAction), shebang: '' };
      const pinned = await pinScript({ ...plan, interpreter: undefined, identity: undefined }, action, world);
      onTestFinished(pinned.close);
      expect(() => pinned.verify!()).not.toThrow();
      // Two changes within a tick of the clock can have the same timestamp.
      await sleep(50);
      writeFileSync(path, shellScript(body));
      expect(() => pinned.verify!(), body).toThrow('was replaced while it was being started');
    }
  },
);
