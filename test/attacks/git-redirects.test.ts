// A git server that sends clients elsewhere: only to https addresses no nearer than its own.

import { spawn } from 'node:child_process';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { createCertificate } from '../support/certificate.js';
import { json } from '../support/cli.js';
import { listen } from '../support/http.js';
import { createInstallWorkspace, DETECT, wrapGit } from '../support/install.js';
import { onEnd } from '../support/share.js';
import { spec } from '../support/spec.js';

/** Serves the repositories of a directory; what `moved` has is redirected. */
async function serve(root: string, certificates: string, moved: (origin: string) => Record<string, string>) {
  const { key, cert } = createCertificate(certificates);
  const server = createServer({ key, cert }, (request, response) => {
    const [path = '', query = ''] = request.url!.split('?');
    const [, name = ''] = path.split('/');
    const target = moved(origin)[name];
    if (target !== undefined) {
      response.writeHead(301, { location: target + request.url!.slice(name.length + 1) }).end();
      return;
    }
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
    });
    request.pipe(backend.stdin);
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    backend.on('close', () => {
      const whole = Buffer.concat(chunks);
      const end = whole.indexOf('\r\n\r\n');
      const headers = whole
        .toString('latin1', 0, end)
        .split('\r\n')
        .map((line) => line.split(': ') as [string, string]);
      const status = headers.find(([header]) => header === 'Status')?.[1] ?? '200';
      response.writeHead(Number.parseInt(status, 10), Object.fromEntries(headers)).end(whole.subarray(end + 4));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => void server.close());
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return origin;
}

spec('INS-78 INS-7', 'a repository that has moved is followed to addresses that may be reached only', async () => {
  const workspace = createInstallWorkspace();
  workspace.repository('new', DETECT);
  const asked: string[] = [];
  const plain = await listen((request, response) => {
    asked.push(request.url!);
    response.writeHead(404).end();
  });
  const origin = await serve(join(dirname(workspace.dir), 'sources'), workspace.dir, (own) => ({
    old: `${own}/older`,
    older: `${own.replace('127.0.0.1', 'localhost')}/new`,
    plain: `${plain.origin}/new`,
    metadata: 'https://169.254.169.254/new',
    credentials: `${own.replace('https://', 'https://ada:x@')}/new`,
    login: `${own}/login?next=`,
    circle: `${own}/circle`,
  }));
  const env = wrapGit(workspace, 'export GIT_SSL_NO_VERIFY=1');
  const add = async (name: string) => json(await workspace.runWith({ env }, 'add', `${origin}/${name}`, '--json'));
  const before = workspace.snapshot();
  const refused = {
    plain: 'which is not encrypted',
    metadata: 'which is a cloud metadata address',
    credentials: 'which has credentials in it',
    login: 'which is not a repository',
    circle: 'returned error: 301',
  };
  for (const [name, why] of Object.entries(refused))
    expect([name, (await add(name)).error?.message]).toEqual([name, expect.stringContaining(why)]);
  expect([asked, workspace.snapshot()]).toEqual([[], before]);
  const added = await add('old');
  expect(added).toMatchObject({ ok: true });
  // The address that was given is recorded, so that the next move is followed as well.
  expect(JSON.stringify(added)).toContain(`${origin}/old`);
});

spec('POL-42', 'a repository that has moved to an address that is not allowed is not followed', async () => {
  const workspace = createInstallWorkspace();
  workspace.repository('new', DETECT);
  const origin = await serve(join(dirname(workspace.dir), 'sources'), workspace.dir, (own) => ({ old: `${own}/new` }));
  const env = wrapGit(workspace, 'export GIT_SSL_NO_VERIFY=1');
  const add = async () => json(await workspace.runWith({ env }, 'add', `${origin}/old`, '--json'));
  const allow = (...names: string[]): void =>
    workspace.config(`[sources]\nallow = ${JSON.stringify(names.map((name) => `${new URL(origin).host}/${name}`))}\n`);
  allow('old');
  expect((await add()).error).toMatchObject({ code: 'denied', message: expect.stringContaining('/new') });
  allow('old', 'new');
  expect(await add()).toMatchObject({ ok: true });
});
