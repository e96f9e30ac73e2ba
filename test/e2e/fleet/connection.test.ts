// The connection of a fleet: addresses, authentication, and the key that seals what is sent.

import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { isToolError, type ToolError } from '../../../src/core/error.js';
import { begin, connect, parseFleetAddress } from '../../../src/fleet/connection.js';
import { createFleetKey, createKeyFile, loadFleetKey } from '../../../src/fleet/key.js';
import { toNames } from '../../../src/fleet/names.js';
import { freePort, hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { share } from '../../support/share.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const NONE = {};

async function failure(act: () => unknown): Promise<ToolError> {
  try {
    await act();
  } catch (error) {
    if (isToolError(error)) return error;
    throw error;
  }
  throw new Error('did not fail');
}

spec(
  'FLT-1',
  'an address names host, port, database, user and socket, and anything else is a usage error',
  async () => {
    expect(parseFleetAddress('redis://queue', NONE).options).toMatchObject({ host: 'queue', port: 6379, db: 0 });
    const full = parseFleetAddress('rediss://ada:s%40cret@[::1]:7000/3', NONE);
    expect(full.options).toMatchObject({
      host: '::1',
      port: 7000,
      db: 3,
      username: 'ada',
      password: 's@cret',
      tls: {},
    });
    expect(full.shown).toBe('rediss://[::1]:7000/3');
    expect(parseFleetAddress('redis://queue', { WIELD_FLEET_PASSWORD: 'hidden' }).options.password).toBe('hidden');
    expect(parseFleetAddress('redis+unix:///run/a%20b.sock', NONE).options.path).toBe('/run/a b.sock');
    const sockets = ['redis+unix://nope', 'redis+unix://tmp/redis.sock', 'redis+unix:///', 'redis+unix:redis.sock'];
    const others = ['queue:6379', 'http://queue', 'redis://', 'redis://queue/x', 'redis://:pass-1@q?a=1', ''];
    for (const text of [...sockets, ...others]) {
      const error = await failure(() => parseFleetAddress(text, NONE));
      expect(error.code).toBe('usage');
      expect(error.message + error.hint).not.toContain('pass-1');
    }
  },
);

describe('a server with a password', () => {
  const redis = hasRedis ? share(() => startRedis({ options: ['--requirepass', 'right-password'] })) : undefined;

  specIf(hasRedis, NO_REDIS, 'FLT-1', 'accepts the password of the address or the environment', async () => {
    const { port } = redis!();
    for (const [url, env] of [
      [`redis://:right-password@127.0.0.1:${port}`, NONE],
      [`redis://127.0.0.1:${port}`, { WIELD_FLEET_PASSWORD: 'right-password' }],
    ] as const) {
      const client = await connect(parseFleetAddress(url, env), { name: 'test' });
      expect(await client.ping()).toBe('PONG');
      client.disconnect();
    }
  });

  specIf(hasRedis, NO_REDIS, 'FLT-1', 'an error of the server or the network contains no password', async () => {
    const { port } = redis!();
    const wrong = parseFleetAddress(`redis://:wrong-password@127.0.0.1:${port}`, NONE);
    const refused = await failure(() => connect(wrong, { name: 'test' }));
    expect(refused).toMatchObject({ code: 'unavailable' });
    expect(refused.message).toContain('WRONGPASS');
    const none = await failure(() => connect(parseFleetAddress(`redis://127.0.0.1:${port}`, NONE), { name: 'test' }));
    expect(none.message).toContain('NOAUTH');
    expect(none.hint).toContain('WIELD_FLEET_PASSWORD');
    const nobody = parseFleetAddress(`redis://:wrong-password@127.0.0.1:${await freePort()}`, NONE);
    const gone = await failure(() => connect(nobody, { name: 'test' }));
    expect(gone.message).toContain('ECONNREFUSED');
    for (const { message, hint } of [refused, none, gone]) expect(message + hint).not.toContain('wrong-password');
  });
});

spec('FLT-2', 'what is sealed opens with the same key and purpose only', async () => {
  const [one, other] = [createFleetKey('a1'.repeat(32)), createFleetKey('b2'.repeat(32))];
  const value = { input: { text: 'ä € 😀' }, list: [1, null, true] };
  const sealed = one.seal('job 1', value);
  expect(one.open('job 1', sealed)).toEqual(value);
  expect(Buffer.from(sealed, 'base64').includes('input')).toBe(false);
  expect(one.fleet).not.toBe(other.fleet);
  expect(one.seal('job 1', value)).not.toBe(sealed);
  const bytes = Buffer.from(sealed, 'base64');
  for (let at = 0; at < bytes.length; at++) {
    const altered = Buffer.from(bytes);
    altered[at]! ^= 1;
    expect((await failure(() => one.open('job 1', altered.toString('base64')))).code).toBe('integrity');
  }
  for (const open of [
    () => one.open('job 2', sealed),
    () => other.open('job 1', sealed),
    () => one.open('job 1', ''),
    () => one.open('job 1', JSON.stringify(value)),
    () => one.open('job 1', bytes.subarray(0, 28).toString('base64')),
  ])
    expect((await failure(open)).code).toBe('integrity');
});

spec('FLT-2', 'the key is read from the environment or a private file, and created once', async () => {
  const { WIELD_HOME: home } = createWorkspace().env as { WIELD_HOME: string };
  expect((await failure(() => loadFleetKey(NONE, home))).hint).toContain('wield fleet key');
  expect(createKeyFile(home).isNew).toBe(true);
  const { fleet } = loadFleetKey(NONE, home);
  expect(createKeyFile(home)).toEqual({ file: join(home, 'fleet.key'), isNew: false });
  expect(loadFleetKey(NONE, home).fleet).toBe(fleet);
  const given = loadFleetKey({ WIELD_FLEET_KEY: 'c3'.repeat(32) }, home).fleet;
  expect(given).toBe(createFleetKey('c3'.repeat(32)).fleet);
  chmodSync(join(home, 'fleet.key'), 0o640);
  expect((await failure(() => loadFleetKey(NONE, home))).message).toContain('others can read');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'fleet.key'), 'short');
  chmodSync(join(home, 'fleet.key'), 0o600);
  const short = await failure(() => loadFleetKey(NONE, home));
  expect(short.message).toContain('64 hexadecimal digits');
  expect((await failure(() => createKeyFile(home))).message).toBe(short.message);
  expect((await failure(() => loadFleetKey({ WIELD_FLEET_KEY: 'secret-part' }, home))).message).not.toContain(
    'secret-part',
  );
});

specIf(hasRedis, NO_REDIS, 'FLT-92', 'a connection that is lost while a member starts is opened again', async () => {
  const address = parseFleetAddress((await startRedis()).url, NONE);
  const [client, other] = [
    await connect(address, { name: 'test', failsFast: true }),
    await connect(address, { name: 'other' }),
  ];
  const closed = once(client, 'close');
  await other.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await closed;
  expect(await begin([client], address, toNames('fleet'), () => client.ping())).toBe('PONG');
  for (const connection of [client, other]) connection.disconnect();
});
