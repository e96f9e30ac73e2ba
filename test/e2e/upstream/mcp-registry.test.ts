// Entries of the MCP registry: packages, remotes, inputs, and what is refused.

import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { listen } from '../../support/http.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const NAME = 'io.github.acme/notes';
const npm = (more: object = {}) => ({
  registryType: 'npm',
  identifier: '@acme/notes',
  version: '1.2.3',
  transport: { type: 'stdio' },
  ...more,
});
const server = (more: object) => ({ name: NAME, description: 'Notes.', version: '1.2.3', ...more });

async function addFile(workspace: Workspace, document: object, ...args: readonly string[]) {
  workspace.write('server.json', JSON.stringify(document));
  const run = await wield(workspace, ['mcp', 'add', './server.json', '--force', '--json', ...args]);
  const entries =
    run.status === 0 ? JSON.parse(readFileSync(join(workspace.home, '.agents/mcp.json'), 'utf8')).mcpServers : {};
  return { run, document: json(run), entry: entries.notes };
}

spec('UPS-90', 'adds packages of npm, PyPI and OCI with their version, and remotes', async () => {
  const workspace = createWorkspace();
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin);
  workspace.env.PATH = bin;
  const oci = {
    registryType: 'oci',
    identifier: 'ghcr.io/acme/notes',
    version: '1.2.3',
    environmentVariables: [{ name: 'TOKEN', isSecret: true }],
  };
  const remote = {
    type: 'streamable-http',
    url: 'https://{tenant}.example.com/mcp',
    variables: { tenant: { default: 'eu' } },
    headers: [{ name: 'Authorization', value: 'Bearer {token}', variables: { token: { isSecret: true } } }],
  };
  expect((await addFile(workspace, server({ packages: [npm()] }))).entry).toEqual({
    command: 'npx',
    args: ['-y', '@acme/notes@1.2.3'],
  });
  const pypi = {
    registryType: 'pypi',
    identifier: 'acme-notes',
    version: '2.0',
    packageArguments: [
      { type: 'positional', value: 'serve' },
      { type: 'named', name: '--mode', default: 'fast' },
    ],
  };
  expect((await addFile(workspace, server({ packages: [pypi] }))).entry).toEqual({
    command: 'uvx',
    args: ['acme-notes==2.0', 'serve', '--mode', 'fast'],
  });
  // Without a container engine the remote is used.
  expect((await addFile(workspace, server({ packages: [oci], remotes: [remote] }))).entry).toEqual({
    type: 'http',
    url: 'https://eu.example.com/mcp',
    headers: { Authorization: 'Bearer ${TOKEN}' },
  });
  writeFileSync(join(bin, 'podman'), '#!/bin/sh\n');
  chmodSync(join(bin, 'podman'), 0o755);
  expect((await addFile(workspace, server({ packages: [oci] }))).entry).toEqual({
    command: 'podman',
    args: ['run', '--rm', '-i', '-e', 'TOKEN', 'ghcr.io/acme/notes:1.2.3'],
    env: { TOKEN: '${TOKEN}' },
  });
});

spec('UPS-91', 'writes references for what is required or secret, and lists the variables', async () => {
  const workspace = createWorkspace();
  const environmentVariables = [
    { name: 'API_KEY', isSecret: true, isRequired: true, description: 'The key' },
    { name: 'REGION', default: 'eu' },
    { name: 'ROOT', isRequired: true },
    { name: 'OPTIONAL' },
    { name: 'ODD', value: '${HOME}' },
  ];
  const added = await addFile(workspace, server({ packages: [npm({ environmentVariables })] }), '--env', 'ROOT=/srv');
  expect(added.entry.env).toEqual({ API_KEY: '${API_KEY}', REGION: 'eu', ROOT: '/srv', ODD: '$${HOME}' });
  expect(added.document.variables).toEqual([{ name: 'API_KEY', description: 'The key' }]);
  const secret = 'sk-live-0123456789abcdef0123456789';
  const refused = await addFile(
    workspace,
    server({ packages: [npm({ environmentVariables })] }),
    '--env',
    `API_KEY=${secret}`,
  );
  expect([refused.run.status, refused.run.stdout.includes(secret)]).toEqual([2, false]);
});

spec('UPS-90 UPS-91', 'refuses entries without a fixed version, and identifiers that are options', async () => {
  const workspace = createWorkspace();
  const cases: [object, RegExp][] = [
    [server({ packages: [npm({ version: 'latest' })] }), /no fixed version/],
    [server({ packages: [npm({ version: '^1.0.0' })] }), /no fixed version/],
    [server({ packages: [npm({ identifier: '--eval=x' })] }), /no valid identifier/],
    [server({ packages: [npm({ identifier: 'a b' })] }), /no valid identifier/],
    [server({ packages: [npm({ transport: { type: 'sse' } })] }), /transport "sse"/],
    [server({ packages: [npm({ registryType: 'nuget' })] }), /"nuget" are not supported/],
    [server({ remotes: [{ type: 'sse', url: 'https://x.example' }] }), /transport "sse"/],
    [server({ remotes: [{ type: 'streamable-http', url: 'http://169.254.169.254/' }] }), /no https/],
    [server({}), /no packages and no remotes/],
    [{ name: '../x', version: '1.0.0', packages: [npm()] }, /no valid name/],
  ];
  for (const [document, message] of cases) {
    const { run } = await addFile(workspace, document);
    expect(json(run).error).toMatchObject({ code: 'invalid_definition', message: expect.stringMatching(message) });
  }
});

spec('UPS-90', 'asks a registry for a version, and refuses another answer', async () => {
  const workspace = createWorkspace();
  let answer: object = server({ packages: [npm()] });
  const registry = await listen((request, response) => {
    if (request.url?.includes('missing')) response.writeHead(404).end();
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ server: answer, _meta: {} }));
  });
  const add = async (place: string, ...args: readonly string[]) =>
    json(await wield(workspace, ['mcp', 'add', place, '--registry', registry.origin, '--json', ...args]));
  expect(await add(`registry:${NAME}`)).toMatchObject({ ok: true, server: 'notes', written: true });
  expect(registry.requests[0]!.url).toBe('/v0.1/servers/io.github.acme%2Fnotes/versions/latest');
  expect(await add(`registry:${NAME}@1.2.3`, '--name', 'mine')).toMatchObject({ ok: true, server: 'mine' });
  expect((await add(`registry:${NAME}@9.9.9`)).error.code).toBe('integrity');
  answer = { ...answer, name: 'io.github.evil/notes' };
  expect((await add(`registry:${NAME}`)).error.code).toBe('integrity');
  expect((await add('registry:io.github.acme/missing')).error.code).toBe('not_found');
  expect((await add('registry:../../x')).error.code).toBe('usage');
  const plain = await wield(workspace, [
    'mcp',
    'add',
    `registry:${NAME}`,
    '--registry',
    'http://registry.example',
    '--json',
  ]);
  expect(json(plain).error.code).toBe('usage');
});
