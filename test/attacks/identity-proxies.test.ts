// Attacks through a proxy: forged addresses, hosts and users in headers.

import { describe, expect } from 'vitest';
import { json, wield } from '../support/cli.js';
import { serveUrl } from '../support/serve.js';
import { spec } from '../support/spec.js';
import { asUser, callRaw, createTeam } from '../support/team.js';
import type { Workspace } from '../support/workspace.js';

const TEAM = { ada: ['ops'] };
const serve = (proxies: string) => `[serve]\ntrusted-proxies = ${proxies}\n`;

// Calls with each of the headers, and returns the addresses of the audit log.
async function addressesOf(config: string, attempts: readonly Record<string, string>[]): Promise<readonly unknown[]> {
  const workspace = createTeam(TEAM, config);
  const url = await serveUrl(workspace, []);
  for (const [at, headers] of attempts.entries())
    await callRaw(url, { ...asUser('ada'), ...headers }, 'hello', { text: String(at) });
  return recordsOf(workspace);
}

async function recordsOf(workspace: Workspace): Promise<readonly unknown[]> {
  const { records } = json(await wield(workspace, ['audit', '--tool', 'hello', '--json']));
  return records.map(({ address }: { address?: string }) => address);
}

const xff = (value: string) => ({ 'x-forwarded-for': value });
const forwarded = (value: string) => ({ forwarded: value });

describe.concurrent('headers of a proxy', () => {
  spec('IDN-14 IDN-8', 'are ignored from connections that are not of a trusted one', async () => {
    const real = { 'x-real-ip': '203.0.113.9' };
    const forged: readonly Record<string, string>[] = [{}, xff('203.0.113.9'), forwarded('for=203.0.113.9'), real];
    const own = forged.map(() => '127.0.0.1');
    expect(await addressesOf('', forged)).toEqual(own);
    expect(await addressesOf(serve('["10.0.0.0/8", "::1", "127.0.0.2", "126.0.0.0/8"]'), forged)).toEqual(own);
    expect(await addressesOf(serve('[]'), forged)).toEqual(own);
  });

  spec('IDN-14', 'name the last address that no trusted proxy has, whatever the client wrote before it', async () => {
    const cases: readonly (readonly [Record<string, string>, string])[] = [
      [{}, '127.0.0.1'],
      [xff('203.0.113.9'), '203.0.113.9'],
      [xff('198.51.100.1, 203.0.113.9'), '203.0.113.9'],
      [xff('10.1.1.1, 203.0.113.9, 10.2.2.2'), '203.0.113.9'],
      [xff('203.0.113.9:4711, 127.0.0.1:80'), '203.0.113.9'],
      [xff('10.1.1.1, 10.2.2.2'), '10.1.1.1'],
      [xff('2001:db8::7'), '2001:db8::7'],
      [xff('[2001:DB8::7]:443'), '2001:db8::7'],
      [xff('::ffff:203.0.113.9'), '203.0.113.9'],
      [xff('203.0.113.9, ::ffff:10.0.0.1'), '203.0.113.9'],
      [forwarded('for=203.0.113.9;proto=https;by=10.0.0.1'), '203.0.113.9'],
      [forwarded('for=198.51.100.1, For="[2001:db8::7]:443"'), '2001:db8::7'],
      [forwarded('for=198.51.100.1, for=203.0.113.9, for=10.0.0.9'), '203.0.113.9'],
    ];
    const found = await addressesOf(
      serve('["127.0.0.0/8", "10.0.0.0/8"]'),
      cases.map(([headers]) => headers),
    );
    expect(found).toEqual(cases.map(([, address]) => address));
  });

  spec('IDN-14', 'that are invalid, or of both forms, do not count', async () => {
    const forged: readonly Record<string, string>[] = [
      xff('203.0.113.9, unknown'),
      xff('203.0.113.9,'),
      xff('203.0.113.9, 10.0.0.1/8'),
      xff('203.0.113.9, 0x7f.1'),
      xff('203.0.113.9 10.0.0.1'),
      xff('{"$user":"root"}'),
      forwarded('for=unknown'),
      forwarded('for=_hidden'),
      forwarded('for="203.0.113.9, for=198.51.100.1"'),
      forwarded('for=10.0.0.1;by="x, for=203.0.113.9;proto="'),
      forwarded('for=203.0.113.9;for=198.51.100.1'),
      forwarded('203.0.113.9'),
      { ...xff('203.0.113.9'), ...forwarded('for=198.51.100.1') },
      { ...xff('203.0.113.9'), ...forwarded('') },
    ];
    expect(await addressesOf(serve('["127.0.0.1", "10.0.0.0/8"]'), forged)).toEqual(forged.map(() => '127.0.0.1'));
  });

  spec('IDN-14 IDN-8', 'of a trusted one change neither the user, nor the host, nor what is asked', async () => {
    const workspace = createTeam(TEAM, `${serve('["127.0.0.1"]')}[limits]\ncalls-per-minute = 3\n`);
    const url = await serveUrl(workspace, ['--public-url', 'https://wield.example.com/mcp']);
    const forged = { 'x-forwarded-user': 'root', 'x-forwarded-email': 'root', 'remote-user': 'root', 'x-user': 'root' };
    expect((await callRaw(url, forged, 'hello')).status).toBe(401);
    for (const origin of ['https://evil.example.com'])
      expect(
        (await callRaw(url, { ...asUser('ada'), origin, 'x-forwarded-host': 'evil.example.com' }, 'hello')).status,
      ).toBe(403);
    // A new address per call evades no limit.
    const calls = [];
    for (let at = 1; at <= 5; at++)
      calls.push((await callRaw(url, { ...asUser('ada'), ...forged, ...xff(`203.0.113.${at}`) }, 'hello')).isError);
    expect(calls).toEqual([false, false, false, true, true]);
    const { records } = json(await wield(workspace, ['audit', '--tool', 'hello', '--json']));
    expect(new Set(records.map(({ user }: { user: string }) => user))).toEqual(new Set(['ada']));
    expect((await recordsOf(workspace)).at(-1)).toBe('203.0.113.5');
  });

  spec('IDN-14', 'count for addresses and ranges that are valid, of the configuration of the user', async () => {
    for (const wrong of [
      '10.0.0.0/33',
      '10.0.0.0/0',
      '::/0',
      'proxy.example.com',
      '10.0.0.0/8/8',
      '10.0.0/8',
      '',
      '::1%eth0',
    ]) {
      const workspace = createTeam(TEAM, serve(JSON.stringify([wrong])));
      const { problems } = workspace.toolbox().state.configuration();
      expect(JSON.stringify(problems), wrong).toContain('must be an address or a range');
    }
    const workspace = createTeam(TEAM);
    workspace.write('.agents/config.toml', serve('["127.0.0.1"]'));
    expect((await wield(workspace, ['doctor'])).stdout).toContain('a project cannot set serve.trusted-proxies');
  });
});
