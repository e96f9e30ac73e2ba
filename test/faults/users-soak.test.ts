// The soak of users in a short form: nothing of one user reaches another.

import { mkdirSync } from 'node:fs';
import { expect } from 'vitest';
import { createUsers, soakUsers, writeSetup } from '../../scripts/users-soak.mjs';
import { wield } from '../support/cli.js';
import { serveUrl } from '../support/serve.js';
import { spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

spec('IDN-3 IDN-4', 'answers, results, tasks, lists, sessions and approvals of many users stay apart', async () => {
  const workspace = createWorkspace();
  const users = createUsers(6);
  mkdirSync(workspace.env.WIELD_HOME!, { recursive: true, mode: 0o700 });
  writeSetup({ dir: workspace.dir, home: workspace.home, users });
  const url = await serveUrl(workspace, ['--trust']);
  const approve = (id: string) => wield(workspace, ['approvals', 'approve', id]);
  const { faults, calls, lists } = await soakUsers({ url, users, clients: 4, seconds: 3, approve });
  expect(faults).toEqual([]);
  expect(Math.min(calls, lists)).toBeGreaterThan(0);
});
