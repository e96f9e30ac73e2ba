// wield search over the tools of a workspace.

import { expect, test } from 'vitest';
import { json, wield } from '../support/cli.js';
import { createWorkspace } from '../support/workspace.js';

test('ranks visible tools, an exact name first, and hides what is hidden', async () => {
  const workspace = createWorkspace();
  workspace.script(
    'deploy',
    '#!/bin/sh\n# @description Publish the site to staging.\n# @param branch string Branch\n',
  );
  workspace.script('status', '#!/bin/sh\n# @description Tell whether the deployed site is up.\n');
  workspace.script('secret', '#!/bin/sh\n# @description Deploy in secret.\n# @hidden\n');
  const found = json(await wield(workspace, ['search', 'deploy', '--json']));
  expect(found).toMatchObject({
    ok: true,
    query: 'deploy',
    results: [{ name: 'deploy' }, { name: 'status' }],
  });
  expect(found.results).toHaveLength(2);
  expect((await wield(workspace, ['search', 'which', 'branch'])).stdout).toContain('deploy');
  expect((await wield(workspace, ['search', 'zebra'])).stdout).toContain('No tool fits');
  expect((await wield(workspace, ['search'])).status).toBe(2);
  expect((await wield(workspace, ['search', 'x', '--limit', 'many'])).status).toBe(2);
});
