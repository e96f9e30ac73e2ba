// Tests of servers that answer the version probe late, with an error or not at all, and of pinned versions.

import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { connectPerson, connectStdio } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { until } from '../../support/server.js';
import { finding, spec, specIf } from '../../support/spec.js';
import { type CountedServer, configureServers, countedServer, said } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SLOW = fileURLToPath(new URL('../../support/slow-server.mjs', import.meta.url));

type Mode = 'late' | 'strict' | 'deaf' | 'mute' | 'ignores' | 'refuses' | 'either';

function slowServer(
  mode: Mode,
  delayMs: number,
  fields: Readonly<Record<string, string>> = {},
): { workspace: Workspace; upstream: CountedServer } {
  const workspace = createWorkspace();
  const upstream = countedServer(workspace, 'far', { program: SLOW, args: [mode], more: [String(delayMs)] });
  // The probe waits for a third of the start timeout.
  configureServers(workspace, { far: { ...upstream.entry, startTimeout: '12s', ...fields } });
  return { workspace, upstream };
}

async function callOnce(workspace: Workspace): Promise<string> {
  const toolbox = workspace.toolbox();
  const result = await toolbox.call('far_echo', { text: 'hello' });
  await toolbox.close();
  return result.error === undefined ? said(result) : `${result.error.code}: ${result.error.message}`;
}

// They mostly wait.
describe.concurrent('a server that is slow to answer the version probe', () => {
  for (const [mode, what, version] of some(
    [
      ['late', 'answers it late and rejects initialize', '2026-07-28'],
      ['mute', 'answers it late and ignores initialize', '2026-07-28'],
      ['either', 'answers it late and is bound to the version of its first message', '2026-07-28'],
      ['ignores', 'never answers it', 'older'],
      ['refuses', 'answers it late with an error', 'older'],
    ] as const,
    1,
  ))
    finding('C2', `is used in its first process if it ${what}`, async () => {
      const { workspace, upstream } = slowServer(mode, 4_400);
      expect(await callOnce(workspace)).toBe(version);
      expect(upstream.starts()).toHaveLength(1);
      const before = upstream.log().length;
      expect(await callOnce(workspace)).toBe(version);
      expect(upstream.log().slice(before)).not.toContain('heard server/discover');
    });

  finding.thorough('C2', 'is used if it rejects initialize before it answers the probe', async () => {
    const { workspace, upstream } = slowServer('strict', 5_000);
    expect(await callOnce(workspace)).toBe('2026-07-28');
    expect(upstream.starts()).toHaveLength(1);
    const { workspace: other, upstream: deaf } = slowServer('deaf', 0, { startTimeout: '3s' });
    expect(await callOnce(other)).toContain('did not respond within 3 s of starting');
    expect(deaf.starts()).toHaveLength(1);
  });

  finding('C2', 'fails with its start timeout if it answers nothing', async () => {
    const { workspace, upstream } = slowServer('mute', 60_000, { startTimeout: '8s' });
    expect(await callOnce(workspace)).toContain('did not respond within 8 s of starting');
    expect(upstream.starts()).toHaveLength(1);
  });
});

describe.concurrent('a listing for a client of wield serve', () => {
  const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

  spec('UPS-108', 'waits for a server that was never listed', async () => {
    const { workspace } = slowServer('late', 6_000, { startTimeout: '30s' });
    expect(await names(await connectStdio(workspace, 'older'))).toContain('far_echo');
  });

  spec('UPS-108 UPS-12', 'waits no longer than limits.listing, and what comes later is announced', async () => {
    const { workspace } = slowServer('late', 3_000, { startTimeout: '30s' });
    workspace.config('[limits]\nlisting = "500ms"\n');
    let changes = 0;
    const options = { onListChanged: () => void changes++ };
    const client = await connectPerson(workspace, 'older', 'stdio', () => ({ action: 'cancel' }), options);
    expect(await names(client)).not.toContain('far_echo');
    await until(() => changes > 0, 'the change is announced');
    expect(await names(client)).toContain('far_echo');
  });
});

describe.concurrent('wield list', () => {
  specIf(hasPty, NO_PTY, 'CLI-40', 'shows at a terminal what is known while it waits for a server', async () => {
    const { workspace } = slowServer('late', 4_000, { startTimeout: '30s' });
    workspace.script('own', '#!/bin/sh\n# @description Of the project.\necho own\n');
    const { screen, status } = await wieldAtTerminal(workspace, ['list']);
    const [own, waiting, far] = ['own ', 'waiting for far … 2 s', 'far_echo'].map((text) => screen.indexOf(text));
    expect([own !== -1, waiting! > own!, far! > waiting!, status], screen).toEqual([true, true, true, 0]);
    expect(screen.lastIndexOf('own ')).toBe(own);
  });

  spec('UPS-108 UPS-115', 'does not wait as long again for a server that did not answer in time', async () => {
    const { workspace } = slowServer('mute', 60_000, { startTimeout: '60s' });
    workspace.config('[limits]\nlisting = "500ms"\n');
    expect((await wield(workspace, ['list'])).stderr).toContain('the server far has not answered yet');
    const [server] = json(await wield(workspace, ['mcp', 'list', '--json'])).servers;
    expect(server).toMatchObject({ state: 'failed' });
    expect(JSON.stringify(server)).toContain('the server far did not answer within 500 ms');
    // A call is not held back by it.
    const { workspace: other } = slowServer('late', 2_500, { startTimeout: '30s' });
    other.config('[limits]\nlisting = "500ms"\n');
    await wield(other, ['list']);
    expect(await callOnce(other)).toBe('2026-07-28');
  });
});

describe.concurrent('the field protocol of a server', () => {
  for (const [protocol, version, first] of some(
    [
      ['2025-11-25', 'older', 'initialize'],
      ['2026-07-28', '2026-07-28', 'server/discover'],
    ] as const,
    1,
  ))
    spec('UPS-23', `pins the version ${protocol}, however late the server answers`, async () => {
      const { workspace, upstream } = slowServer('either', 2_500, { protocol });
      expect(await callOnce(workspace)).toBe(version);
      expect(upstream.starts()).toHaveLength(1);
      const heard = upstream.log().filter((line) => /discover|initialize/.test(line));
      expect(heard).toContain(`heard ${first}`);
      expect(new Set(heard.filter((line) => !line.includes('notifications'))).size).toBe(1);
    });

  spec('UPS-23', 'tries no other version', async () => {
    const { workspace, upstream } = slowServer('refuses', 0, { protocol: '2026-07-28' });
    expect(await callOnce(workspace)).toContain('could not start the server far');
    expect(upstream.log()).not.toContain('heard initialize');
    const other = slowServer('late', 0, { protocol: '2025-11-25' });
    expect(await callOnce(other.workspace)).toContain('the server far answered with an error');
    expect(other.upstream.log()).not.toContain('heard server/discover');
  });

  spec('UPS-23', 'is accepted in every configuration shape and rejected with another value', async () => {
    const workspace = createWorkspace();
    const toml = (protocol: string): string =>
      `[[mcp.servers]]\nname = "a"\ncommand = "a"\nprotocol = "${protocol}"\n\n` +
      `[mcpServers.b]\nurl = "https://b.example/mcp"\nprotocol = "${protocol}"\n`;
    const read = async (text: string): Promise<{ shown: string[]; problems: string[] }> => {
      workspace.write('.agents/config.toml', text);
      const toolbox = workspace.toolbox();
      const { entries, problems } = toolbox.state.configuration();
      await toolbox.close();
      return {
        shown: entries()
          .map(({ shown }) => shown)
          .filter((one) => one.includes('protocol')),
        problems: problems.map(({ message }) => message).filter((one) => one.includes('protocol')),
      };
    };
    const good = await read(toml('2025-11-25'));
    expect(good.shown).toHaveLength(2);
    expect(good.problems).toEqual([]);
    const bad = await read(toml('2024-01-01'));
    expect(bad.shown).toEqual([]);
    expect(bad.problems).toHaveLength(2);
    expect(bad.problems[0]).toContain('must be "2025-11-25" or "2026-07-28"');
  });
});
