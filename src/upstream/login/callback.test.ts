// Tests of the redirect of a login: Host, path, method and state are checked, and it is accepted once.

import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { listenForAnswer } from './callback.js';

const STATE = 'the-state-of-this-login';

function ask(url: string, path: string, { host = new URL(url).host, method = 'GET' } = {}): Promise<number> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers: { host } }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode!));
    });
    sent.once('error', reject);
    sent.end();
  });
}

test('a redirect is accepted once, with its state, at its path, from its own host', async () => {
  const callback = await listenForAnswer(STATE);
  onTestFinished(callback.close);
  const url = callback.redirectUrl;
  const good = `/callback?code=1&state=${STATE}`;
  for (const host of ['example.com', 'localhost', `localhost:${new URL(url).port}`, '127.0.0.1'])
    expect([host, await ask(url, good, { host })]).toEqual([host, 404]);
  for (const path of [`/?code=1&state=${STATE}`, `/other?state=${STATE}`, `/callback/x?state=${STATE}`])
    expect([path, await ask(url, path)]).toEqual([path, 404]);
  expect(await ask(url, good, { method: 'POST' })).toBe(404);
  for (const path of ['/callback?code=1', '/callback?code=1&state=', `/callback?code=1&state=${STATE}x`])
    expect([path, await ask(url, path)]).toEqual([path, 400]);
  expect(callback.accept(`${url}?code=1&state=other`)).toBe(false);
  expect(await ask(url, good)).toBe(200);
  expect((await callback.answered).get('code')).toBe('1');
  expect(await ask(url, `/callback?code=2&state=${STATE}`)).toBe(400);
  expect(callback.accept(`${url}?code=3&state=${STATE}`)).toBe(false);
});
