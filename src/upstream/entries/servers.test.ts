// Tests of the server list: precedence, unreadable files and changes.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { DEFAULT_SETTINGS, type Settings } from '../../core/settings.js';
import type { World } from '../../core/snapshot.js';
import type { ServerEntry } from '../../core/upstream.js';
import { createServerList } from './servers.js';

const mcp = (...names: string[]): string =>
  JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: name }])) });

function createPlaces(settings: Partial<Settings> = {}, { inHome = false } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'wield-servers-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const home = join(root, 'home');
  const work = join(root, 'work');
  for (const directory of [home, work]) mkdirSync(join(directory, '.agents'), { recursive: true });
  let now = Date.now();
  const world: World = {
    env: {},
    home,
    platform: 'linux',
    now: () => now,
    monotonic: () => now,
    debug: () => {},
    debugging: false,
  };
  const held: Settings = { ...DEFAULT_SETTINGS, ...settings };
  const list = createServerList({ workdir: inHome ? home : work, wieldHome: join(home, '.wield'), world });
  const read = () => list.read(held);
  return {
    read,
    files: list.files,
    own: join(home, '.agents/mcp.json'),
    shared: join(work, '.mcp.json'),
    local: join(work, '.agents/mcp.json'),
    later: (milliseconds: number) => {
      now += milliseconds;
    },
    names: () => read().servers.map(({ name, owner }) => `${owner} ${name}`),
  };
}

const configured = (name: string, owner: ServerEntry['owner']): ServerEntry => ({
  kind: 'stdio',
  name,
  owner,
  position: { file: `/${owner}/config.toml`, pointer: null, line: 3 },
  command: 'x',
  args: [],
  env: {},
});

describe('installed servers', () => {
  const record = { source: 's', entry: { command: 'x' }, digest: 'd', accepted: 'd', files: [] };
  const readRecord = (changed: object) => {
    const places = createPlaces();
    const file = places.files.find((one) => one.endsWith('servers.json'))!;
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify({ version: 1, servers: { a: { ...record, ...changed } } }), { mode: 0o600 });
    const { servers, problems } = places.read();
    return {
      accepted: servers.map(({ installed }) => installed?.accepted),
      problems: problems.map((one) => one.message),
    };
  };

  spec('INS-62', 'count as accepted only with the digest that was accepted', () => {
    expect(readRecord({})).toEqual({ accepted: [true], problems: [] });
    expect(readRecord({ accepted: null })).toEqual({ accepted: [false], problems: [] });
    expect(readRecord({ accepted: 'other' })).toEqual({ accepted: [false], problems: [] });
  });

  spec('INS-62', 'of an invalid record are not used', () => {
    expect(readRecord({ digest: undefined, accepted: undefined })).toEqual({
      accepted: [],
      problems: ['is not valid: servers.a.digest is missing'],
    });
    expect(readRecord({ files: undefined })).toEqual({
      accepted: [],
      problems: ['is not valid: servers.a.files is missing'],
    });
    expect(readRecord({ files: [{ path: '/x' }] })).toEqual({
      accepted: [],
      problems: ['is not valid: servers.a.files[0].hash is missing'],
    });
  });
});

describe('servers', () => {
  spec('UPS-1', 'merges files by precedence and reports shadowed names', () => {
    const places = createPlaces({
      servers: [configured('a', 'user'), configured('p', 'workspace'), configured('d', 'workspace')],
    });
    writeFileSync(places.own, mcp('b', 'a'));
    writeFileSync(places.shared, mcp('c', 'b'));
    writeFileSync(places.local, mcp('d', 'c'));
    expect(places.names()).toEqual(['user a', 'user b', 'workspace c', 'workspace d', 'workspace p']);
    expect(places.read().problems.map(({ path, message }) => [path, message])).toEqual([
      [places.own, expect.stringContaining('/user/config.toml:3')],
      [places.shared, expect.stringContaining(places.own)],
      [places.local, expect.stringContaining(places.shared)],
      ['/workspace/config.toml', expect.stringMatching(/^line 3: server "d" is not used: .*\.agents\/mcp\.json/)],
    ]);
    expect(places.read().problems.every(({ severity }) => severity === 'warning')).toBe(true);
  });

  test('a disabled server still reserves its name', () => {
    const places = createPlaces({ disabledServers: ['b'] });
    writeFileSync(places.own, '{"mcpServers":{"a":{"command":"x","disabled":true}}}');
    writeFileSync(places.shared, mcp('a', 'b', 'c'));
    expect(places.names()).toEqual(['workspace c']);
    expect(places.read().disabled.map(({ name, owner }) => `${owner} ${name}`)).toEqual(['user a', 'workspace b']);
  });

  test('in the home directory all servers are the user\u2019s and no file is read twice', () => {
    const places = createPlaces({}, { inHome: true });
    writeFileSync(places.own, mcp('a'));
    expect(places.names()).toEqual(['user a']);
    expect(places.read().problems).toEqual([]);
    expect(places.files).toHaveLength(3);
  });

  test('returns the same object until a file changes', () => {
    const places = createPlaces();
    expect(places.names()).toEqual([]);
    writeFileSync(places.shared, mcp('a'));
    expect(places.names()).toEqual(['workspace a']);
    writeFileSync(places.shared, mcp('b'));
    expect(places.names()).toEqual(['workspace b']);
    places.later(60_000);
    const before = places.read();
    expect(places.read()).toBe(before);
    writeFileSync(places.shared, mcp('b', 'c'));
    expect(places.names()).toEqual(['workspace b', 'workspace c']);
    rmSync(places.shared);
    expect(places.names()).toEqual([]);
  });

  spec('UPS-1', 'reports an unreadable file and keeps the others', () => {
    const faults: [string, (file: string) => void, RegExp][] = [
      ['too large', (file) => writeFileSync(file, ' '.repeat(1024 * 1024 + 1)), /larger than 1 MiB/],
      ['a link to nothing', (file) => symlinkSync('nowhere', file), /link to a missing file/],
      ['a pipe', (file) => execFileSync('mkfifo', [file]), /not a regular file/],
      ['a directory', (file) => mkdirSync(file), /not a regular file/],
      ['no JSON', (file) => writeFileSync(file, '{'), /not valid JSON/],
    ];
    if (process.getuid?.() !== 0) {
      faults.push([
        'not readable',
        (file) => {
          writeFileSync(file, mcp('z'));
          chmodSync(file, 0o000);
        },
        /denied/,
      ]);
    }
    for (const [, make, message] of faults) {
      const places = createPlaces();
      writeFileSync(places.own, mcp('a'));
      expect(places.names()).toEqual(['user a']);
      make(places.shared);
      expect(places.names()).toEqual(['user a']);
      expect(places.read().problems).toEqual([
        expect.objectContaining({
          severity: 'error',
          path: places.shared,
          message: expect.stringMatching(message),
        }),
      ]);
    }
  });
});
