// Row identity: what a verified token of an identity provider adds to a call over HTTP, against a shared token.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createModernClient, startHttpServer } from '../support/http-client.mjs';
import { differences, measureRounds, sized, spread } from '../support/measure.mjs';
import { serverCommand } from '../support/servers.mjs';

const TARGET = { of: 'value', atMost: 0.15, unit: 'ms' };
const ROUNDS = 40;
const CALLS = sized(100, 3);
const WARM_UP = sized(1500, 3);
const PROBED = { probed: true };
const INPUT = { name: 'Ada', count: 3 };

export const row = {
  id: 'identity',
  title: 'HTTP tools/call with a verified JSON Web Token, after the first, against a shared token',
  async run() {
    const provider = await startProvider();
    const start = (...args) => startHttpServer(serverCommand('wield-users-http.mjs', [10, ...args], PROBED), PROBED);
    const servers = [await start(), await start(provider.issuer)];
    const tokens = ['a-token-of-the-benchmark', await provider.sign()];
    const names = ['a shared token', 'a token of an identity provider'];
    const cases = Object.fromEntries(
      servers.map(({ port, cpu }, at) => [
        names[at],
        { call: createModernClient(port, { authorization: `Bearer ${tokens[at]}` }), cpu },
      ]),
    );
    for (const { call } of Object.values(cases)) {
      const { text } = await call('tool-0009', INPUT);
      if (!/Ada 3\b/.test(text)) throw new Error(`the tool did not run: ${text}`);
      for (let at = 0; at < WARM_UP; at++) await call('tool-0009', INPUT);
    }
    const measure = (time) =>
      measureRounds(Object.fromEntries(Object.entries(cases).map(([name, one]) => [name, () => time(one)])), ROUNDS);
    const [wall, cpu] = [await measure(timeCalls), await measure(cpuOfCalls)];
    for (const server of servers) await server.stop();
    provider.stop();
    return [...toCases(wall, ''), ...toCases(cpu, 'CPU of the server: ')];
  },
};

function toCases(samples, prefix) {
  const [floor, verified] = Object.values(samples);
  // On a busy machine, wall time says little about so small a difference.
  const target = prefix === '' ? {} : { target: TARGET };
  return [
    ...Object.entries(samples).map(([name, values]) => ({ case: prefix + name, value: spread(values), unit: 'ms' })),
    { case: `${prefix}what the second adds`, value: differences(verified, floor), unit: 'ms', ...target },
  ];
}

async function startProvider() {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256', use: 'sig' }];
  const server = createServer((request, response) => {
    const isKeys = request.url === '/keys';
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isKeys ? { keys } : { issuer, jwks_uri: `${issuer}/keys` }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const claims = { sub: 'ada', groups: ['ops'], iss: issuer, aud: 'bench' };
  const sign = () =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'key', typ: 'at+jwt' })
      .setExpirationTime('1h')
      .sign(privateKey);
  return { issuer, sign, stop: () => server.closeAllConnections() || server.close() };
}

async function timeCalls({ call }) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await call('tool-0009', INPUT);
  return (performance.now() - began) / CALLS;
}

async function cpuOfCalls({ call, cpu }) {
  const before = await cpu();
  for (let at = 0; at < CALLS; at++) await call('tool-0009', INPUT);
  return ((await cpu()) - before) / 1000 / CALLS;
}
