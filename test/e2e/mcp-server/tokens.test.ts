// Tests of the tokens of the HTTP server: several, changed while it runs, and SIGHUP.

import { rmSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { createIo, runCommand, wield } from '../../support/cli.js';
import { onEnd } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const OLD = 'old-token-0123456789abcdef';
const NEW = 'new-token-0123456789abcdef';

async function serve(text: string) {
  const workspace = createWorkspace();
  const file = workspace.write('token', text, 0o600);
  let announce: (url: string) => void = () => {};
  const url = new Promise<string>((resolve) => {
    announce = resolve;
  });
  const onOutput = (chunk: Uint8Array): void => announce(Buffer.from(chunk).toString('utf8').trim());
  const { io, signal, stderr } = createIo(workspace, { onOutput });
  const ended = runCommand(['serve', '--http', '0', '--token-file', 'token'], io);
  onEnd(async () => {
    signal('SIGTERM');
    await ended;
  });
  const page = new URL('/metrics', await url).href;
  const statusOf = async (token: string): Promise<number> =>
    (await fetch(page, { headers: { authorization: `Bearer ${token}` } })).status;
  return { file, statusOf, signal, stderr };
}

spec('SRV-95', 'every line of the file is a token', async () => {
  const { statusOf } = await serve(`# of Ada\n${OLD}\n\n${NEW}\r\n`);
  expect([await statusOf(OLD), await statusOf(NEW)]).toEqual([200, 200]);
  for (const wrong of [`${OLD}\n${NEW}`, '', '# of Ada', OLD.slice(1), `${OLD}x`])
    expect([wrong, await statusOf(encodeURIComponent(wrong))]).toEqual([wrong, 401]);
});

spec(
  'SRV-95',
  'a changed file counts from the next request on, and one without tokens lets nobody in until it has some',
  async () => {
    const { file, statusOf, stderr } = await serve(OLD);
    writeFileSync(file, `${NEW}\n`);
    expect([await statusOf(OLD), await statusOf(NEW)]).toEqual([401, 200]);
    for (const text of ['', 'short', `${OLD} ${OLD}`]) {
      writeFileSync(file, text);
      expect([text, await statusOf(NEW), await statusOf(OLD), await statusOf('')]).toEqual([text, 401, 401, 401]);
    }
    expect(stderr()).toContain('it lets nobody in');
    writeFileSync(file, NEW);
    expect(await statusOf(NEW)).toBe(200);
    rmSync(file);
    expect([await statusOf(NEW), await statusOf('')]).toEqual([401, 401]);
    expect(stderr()).not.toContain(OLD);
  },
);

spec('SRV-95', 'SIGHUP reads the file again, and the server goes on', async () => {
  const { file, statusOf, signal, stderr } = await serve(OLD);
  for (let time = 0; time < 3; time++) signal('SIGHUP');
  writeFileSync(file, `${OLD}\n${NEW}\n`);
  signal('SIGHUP');
  expect(stderr()).toContain('read 2 tokens from');
  expect([await statusOf(OLD), await statusOf(NEW)]).toEqual([200, 200]);
});

spec('SRV-95', 'tokens that cannot be used are an error at the start, without the token', async () => {
  const workspace = createWorkspace();
  for (const [text, message] of [
    [`${OLD}\nshort-one\n`, 'the token in line 2 of'],
    ['two words in one line', 'contains a space'],
    ['\n', 'no token in'],
  ] as const) {
    workspace.write('token', text, 0o600);
    const run = await wield(workspace, ['serve', '--http', '0', '--token-file', 'token']);
    expect([run.status === 0, run.stderr]).toEqual([false, expect.stringContaining(message)]);
    expect(run.stderr).not.toMatch(/short-one|two words/);
  }
  const missing = await wield(workspace, ['serve', '--http', '0', '--token-file', 'nosuch']);
  expect(missing.stderr).toMatch(/file not found: \S+nosuch\n/);
});
