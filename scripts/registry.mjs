// A registry on loopback, for tries of publishing and installing: verdaccio, which takes what it does not have from the
// registry of npm's configuration.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

// The last one that runs on all supported versions of Node.
const VERDACCIO = 'verdaccio@6.5.2';
const LIMIT_MS = 60_000;

/** Starts an empty registry in a directory. */
export async function startRegistry(directory) {
  mkdirSync(directory, { recursive: true });
  // A tag in its dependencies, which copies of the registry may not have.
  writeFileSync(join(directory, 'package.json'), '{ "private": true, "overrides": { "node-fetch": "2.7.0" } }');
  const install = ['install', '--silent', '--ignore-scripts', '--no-audit', '--no-fund', VERDACCIO];
  execFileSync('npm', install, { cwd: directory, stdio: 'inherit' });
  const uplink = execFileSync('npm', ['config', 'get', 'registry'], { cwd: directory, encoding: 'utf8' }).trim();
  const settings = {
    storage: join(directory, 'storage'),
    auth: { htpasswd: { file: join(directory, 'users') } },
    uplinks: { outside: { url: uplink, timeout: '60s', max_fails: 10 } },
    packages: {
      wield: { access: '$all', publish: '$authenticated' },
      '**': { access: '$all', proxy: 'outside' },
    },
    log: { type: 'stdout', level: 'warn' },
  };
  const file = join(directory, 'config.yaml');
  writeFileSync(file, JSON.stringify(settings));
  const host = `127.0.0.1:${await freePort()}`;
  const program = join(directory, 'node_modules/verdaccio/bin/verdaccio');
  const child = spawn(process.execPath, [program, '--config', file, '--listen', host], { stdio: 'inherit' });
  const address = `http://${host}/`;
  const user = { name: 'ada', password: 'for tries on loopback only' };
  const token = await login(`${address}-/user/org.couchdb.user:${user.name}`, user);
  const npmrc = join(directory, 'npmrc');
  writeFileSync(npmrc, `//${host}/:_authToken=${token}\n`);
  return {
    address,
    publish(tarball) {
      const flags = ['--silent', '--ignore-scripts', '--registry', address, '--userconfig', npmrc];
      execFileSync('npm', ['publish', ...flags, tarball], { stdio: 'inherit' });
    },
    close: () => child.kill(),
  };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// Also waits until the registry listens.
async function login(address, user) {
  const request = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(user) };
  for (const end = Date.now() + LIMIT_MS; ; await wait(200)) {
    const answer = await fetch(address, request).catch(() => undefined);
    if (answer?.ok) return (await answer.json()).token;
    if (Date.now() > end) throw new Error(`the registry did not start: ${answer?.status ?? 'no answer'}`);
  }
}
