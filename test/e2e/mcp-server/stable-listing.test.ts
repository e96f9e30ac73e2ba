// Lists of tools that keep the prompt cache of a model: what changes in the catalog changes no other bytes.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { connectStdio, connectUrl } from '../../support/clients.js';
import { rounds, SAMPLED, SEED, sample } from '../../support/effort.js';
import { serveHere, serveUrl } from '../../support/serve.js';
import { until } from '../../support/server.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const EDITS = rounds(12, 1000);
const CROSSINGS = rounds(4, 1000);
const LARGE = ['large-a', 'large-b', 'large-c', 'large-d'];
const LARGE_SCRIPT = `#!/bin/sh\n# @description ${'Many words about it. '.repeat(500)}\necho\n`;

// Adds, changes or removes a tool; returns its name.
function edit(workspace: Workspace, files: Map<string, string>, at: number): string {
  const random = Math.imul(SEED + at + 1, 2654435761) >>> 0;
  const name = `tool-${random % 7}`;
  const known = files.get(name);
  if (known !== undefined && random % 3 === 0) {
    rmSync(known);
    files.delete(name);
  } else files.set(name, workspace.script(name, shellScript('echo a', `@param p${at} string Part ${at}`)));
  return name;
}

// Not from the cache of the client.
const listNow = (client: Client) => client.listTools({}, { cacheMode: 'refresh' });

describe.concurrent('the list of tools', () => {
  for (const mode of ['search', 'code'])
    spec('SRV-99', `has the same bytes in ${mode} mode whatever changes${SAMPLED}`, async () => {
      const workspace = createWorkspace();
      const client = await connectStdio(workspace, 'older', ['--trust', '--mode', mode]);
      const before = JSON.stringify(await client.listTools());
      const files = new Map<string, string>();
      for (let at = 0; at < EDITS; at++) {
        edit(workspace, files, at);
        expect(JSON.stringify(await client.listTools())).toBe(before);
      }
    });

  spec('SRV-99', `changes only by the tool that changed, in the same order${SAMPLED}`, async () => {
    const workspace = createWorkspace();
    const client = await connectStdio(workspace, 'older', ['--trust']);
    const list = async (): Promise<string[]> => (await client.listTools()).tools.map((tool) => JSON.stringify(tool));
    const files = new Map<string, string>();
    const without = (tools: readonly string[], name: string) =>
      tools.filter((text) => !text.includes(`"name":"${name}"`));
    let before = await list();
    let changes = 0;
    for (let at = 0; at < EDITS; at++) {
      const name = edit(workspace, files, at);
      const now = await list();
      expect(without(now, name)).toEqual(without(before, name));
      if (JSON.stringify(now) !== JSON.stringify(before)) changes++;
      before = now;
    }
    expect(changes).toBeGreaterThan(EDITS / 2);
  });

  for (const [transport, protocol] of sample(
    [
      ['stdio', 'older'],
      ['stdio', 'newer'],
      ['http', 'newer'],
      ['http', 'older'],
    ] as const,
    2,
  ))
    spec(
      'SRV-100 SRV-25',
      `keeps the mode that auto was at first (${transport}, ${protocol} protocol)${SAMPLED}`,
      async () => {
        const begin = async (isLarge: boolean) => {
          const workspace = createWorkspace();
          workspace.config('mode = "auto"\n');
          const url = transport === 'http' ? await serveUrl(workspace, ['--trust']) : '';
          const connect = () =>
            url === '' ? connectStdio(workspace, protocol, ['--trust']) : connectUrl(url, protocol);
          const files = new Map<string, string>();
          // Four tools that have more tokens than search mode begins with.
          const toggle = (): void => {
            for (const name of LARGE) {
              const known = files.get(name);
              if (known === undefined) files.set(name, workspace.script(name, LARGE_SCRIPT));
              else rmSync(known);
              if (known !== undefined) files.delete(name);
            }
          };
          if (isLarge) toggle();
          const client = await connect();
          return { workspace, files, toggle, connect, client, first: JSON.stringify(await listNow(client)) };
        };
        const searched = await begin(true);
        const all = await begin(false);
        expect([searched.first, all.first].map((text) => text.includes('"name":"call_tool"'))).toEqual([true, false]);
        for (let at = 0; at < CROSSINGS; at++) {
          for (const one of [searched, all]) {
            one.toggle();
            edit(one.workspace, one.files, at);
          }
          expect(JSON.stringify(await listNow(searched.client))).toBe(searched.first);
          const now = (await listNow(all.client)).tools.map(({ name }) => name);
          expect(now).not.toContain('call_tool');
          for (const name of all.files.keys()) expect(now).toContain(name);
        }
        if (searched.files.has(LARGE[0]!)) searched.toggle();
        const next = JSON.stringify(await (await searched.connect()).listTools());
        // Without sessions, the clients of a user share one.
        expect(next.includes('"name":"call_tool"')).toBe(transport === 'http' && protocol === 'newer');
      },
      20 * 60_000,
    );

  spec('SRV-99', 'is announced as changed after the call that its session makes', async () => {
    const workspace = createWorkspace();
    workspace.script('wait', shellScript(': > begun; until [ -e go ]; do sleep 0.05; done'));
    const url = await serveUrl(workspace, ['--trust']);
    const events: string[] = [];
    const [busy, idle] = await Promise.all(
      ['busy', 'idle'].map((name) => connectUrl(url, 'older', () => events.push(name))),
    );
    await Promise.all([busy!.listTools(), idle!.listTools()]);
    const call = busy!.callTool({ name: 'wait', arguments: {} }).then(() => events.push('answer'));
    await until(() => existsSync(join(workspace.dir, 'begun')), 'the call has begun');
    workspace.script('added', shellScript('echo added'));
    await until(() => events.includes('idle'), 'another session is told');
    expect(events).toEqual(['idle']);
    workspace.write('go', '');
    await call;
    await until(() => events.includes('busy'), 'the session is told');
    expect(events.filter((name) => name !== 'idle')).toEqual(['answer', 'busy']);
  });

  spec('SRV-99', 'belongs to instructions that stay the same within a session', async () => {
    const workspace = createWorkspace();
    const server = serveHere(workspace);
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const ask = async (id: number) => (await server.request(id, 'server/discover', { _meta })).result.instructions;
    const first = await ask(1);
    workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: Find notes.\n---\nText.\n');
    expect((await ask(2)) ?? '').toBe(first ?? '');
  });
});
