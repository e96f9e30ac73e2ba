// Tests of the sandbox of a server as its entry writes it: it counts as one of a project, which only narrows.

import { expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import type { SandboxSettings } from '../../core/sandbox.js';
import { readServers } from './file.js';
import { serverProfiles } from './sandbox.js';

function boxed(sandbox: object) {
  const box = { command: 'x', sandboxEnabled: true, sandbox };
  const { entries, problems } = readServers(JSON.stringify({ mcpServers: { box } }), {
    file: 'mcp.json',
    owner: 'user',
  });
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  return entries[0]!;
}

spec('EXE-10', 'the table of an entry is a profile of its server, which no rule of the user can mean', () => {
  const settings: SandboxSettings = { profiles: new Map(), rules: [] };
  const entry = boxed({ filesystem: { allowWrite: ['./out/**'], denyRead: ['${userHome}/.ssh'] } });
  const { applied, sandboxes } = serverProfiles(entry, settings);
  expect(applied).toEqual([expect.objectContaining({ profile: 'server box', required: true, by: 'tool' })]);
  expect([...sandboxes.profiles]).toEqual([
    ['server box', [{ write: ['.', './out'], deny: ['~/.ssh'], network: false, byProject: true }]],
  ]);
  expect(settings.profiles.size).toBe(0);
  expect(serverProfiles({ name: 'plain', sandbox: undefined }, settings)).toEqual({ applied: [], sandboxes: settings });
});
