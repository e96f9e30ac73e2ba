// A git server that sends clients elsewhere: only to https addresses no nearer than its own.

import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { createCertificate } from '../support/certificate.js';
import { json } from '../support/cli.js';
import { answerGit } from '../support/git-server.js';
import { listen } from '../support/http.js';
import { createInstallWorkspace, DETECT, wrapGit } from '../support/install.js';
import { onEnd } from '../support/share.js';
import { spec } from '../support/spec.js';

/** Serves the repositories of a directory; what `moved` has is redirected. */
async function serve(root: string, certificates: string, moved: (origin: string) => Record<string, string>) {
  const { key, cert } = createCertificate(certificates);
  const server = createServer({ key, cert }, (request, response) => {
    const [, name = ''] = request.url!.split(/[/?]/);
    const target = moved(origin)[name];
    if (target !== undefined) {
      response.writeHead(301, { location: target + request.url!.slice(name.length + 1) }).end();
      return;
    }
    answerGit(root, request, response);
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
