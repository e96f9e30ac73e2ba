// Bundles (.mcpb): installing, values that a person configures, hashes, and archives that are refused.

import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { listen } from '../../support/http.js';
import { createInstallWorkspace, type InstallWorkspace } from '../../support/install.js';
import { SERVER } from '../../support/plugins.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';
import { makeZip, type ZipFile } from '../../support/zip.js';

const manifest = (more: object = {}, config: object = {}) => ({
  manifest_version: '0.3',
  name: 'notes',
  version: '1.0.0',
  description: 'Notes.',
  author: { name: 'Ada' },
  server: {
    type: 'node',
    entry_point: 'server/index.mjs',
    mcp_config: { command: 'node', args: ['${__dirname}/server/index.mjs'], ...config },
  },
  ...more,
});
const bundle = (document: object = manifest(), ...more: readonly ZipFile[]): Buffer =>
  makeZip([
    { path: 'manifest.json', content: JSON.stringify(document) },
    { path: 'server/', mode: 0o040755 },
    { path: 'server/index.mjs', content: SERVER, mode: 0o100755 },
    ...more,
  ]);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function write(workspace: InstallWorkspace, bytes: Buffer, name = 'notes.mcpb'): string {
  const path = join(workspace.dir, name);
  writeFileSync(path, bytes);
  return path;
}

/** Returns the path of the only secret. */
function secretOf({ wieldHome }: InstallWorkspace): string {
  const [name] = readdirSync(join(wieldHome, 'secrets'));
  expect(name).toMatch(/^installed\.notes\.api_key\.[0-9a-f]{12}$/);
  return join(wieldHome, 'secrets', name!);
}

const OPTIONS = {
  user_config: {
    api_key: { type: 'string', title: 'API key', description: 'Of your account', sensitive: true, required: true },
    roots: {
      type: 'directory',
      title: 'Roots',
      description: 'Readable',
      multiple: true,
      default: ['${HOME}/Documents'],
    },
    limit: { type: 'number', title: 'Limit', description: 'Of notes', min: 1, max: 9, default: 3 },
    theme: { type: 'string', title: 'Theme', description: 'A colour' },
  },
};
const CONFIGURED = manifest(OPTIONS, {
  args: [
    '${__dirname}/server/index.mjs',
    '${user_config.roots}',
    '--limit=${user_config.limit}',
    '--theme=${user_config.theme}',
  ],
  env: { CONFIG: 'key ${user_config.api_key}', THEME: '${user_config.theme}', LITERAL: '${NOT_OURS}' },
  platform_overrides: { win32: { command: 'node.exe' } },
});

describe('bundles', () => {
  spec('INS-67', 'installs the server of a bundle, upgrades and removes it', async () => {
    const workspace = createInstallWorkspace();
    expect(await workspace.fail('add', 'missing.mcpb')).toMatchObject({ message: '"missing.mcpb" was not found' });
    const path = write(workspace, bundle());
    const { source, installed } = await workspace.json('add', path, '--yes');
    expect(source).toMatchObject({ kind: 'bundle', commit: sha256(bundle()) });
    expect(installed.map(({ kind, effective }: Record<string, string>) => `${kind} ${effective}`).sort()).toEqual([
      'plugin notes',
      'server notes',
    ]);
    expect(await workspace.fail('call', 'notes_where')).toMatchObject({ code: 'needs_trust' });
    const shown = await workspace.run('mcp', 'accept', 'notes', '--yes');
    expect(shown.stdout).toMatch(/command {2}node .*store\/plugin\/notes\/server\/index\.mjs\n/);
    const { cwd } = JSON.parse((await workspace.run('call', 'notes_where')).stdout);
    expect(cwd).toBe(
      join(
        workspace.wieldHome,
        'objects',
        readdirSync(join(workspace.wieldHome, 'objects')).find((name) => cwd.endsWith(name))!,
      ),
    );
    // Another archive is another version, which is accepted again.
    write(workspace, bundle(manifest({ version: '1.1.0' })));
    expect((await workspace.json('outdated')).items.length).toBeGreaterThan(0);
    await workspace.json('upgrade', '--yes');
    expect((await workspace.json('mcp', 'list')).servers[0]).toMatchObject({ name: 'notes', state: 'untrusted' });
    await workspace.json('remove-source', 'notes', '--yes');
    expect(Object.keys(workspace.snapshot())).toEqual(['.wield/installed.json']);
    expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
  });

  spec('INS-67 INS-30', 'fetches a bundle, checks its hash, and reproduces it from the lock', async () => {
    const workspace = createInstallWorkspace();
    let bytes = bundle();
    const server = await listen((request, response) => {
      if (request.url === '/old/notes.mcpb') response.writeHead(302, { location: '/notes.mcpb' }).end();
      else response.end(bytes);
    });
    const url = `${server.origin}/old/notes.mcpb`;
    const wrong = await workspace.fail('add', url, '--yes', '--pin', '0'.repeat(64));
    expect(wrong).toMatchObject({ code: 'integrity', message: expect.stringContaining(sha256(bytes)) });
    expect((await workspace.fail('add', url, '--pin', 'v1')).code).toBe('usage');
    expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
    await workspace.json('add', url, '--yes', '--pin', sha256(bytes));
    const other = createInstallWorkspace();
    copyFileSync(join(workspace.wieldHome, 'wield.lock'), join(other.dir, 'wield.lock'));
    await other.json('install', '--yes', '--frozen');
    expect((await other.json('mcp', 'list')).servers[0].name).toBe('notes');
    bytes = bundle(manifest({ version: '2.0.0' }));
    const third = createInstallWorkspace();
    copyFileSync(join(workspace.wieldHome, 'wield.lock'), join(third.dir, 'wield.lock'));
    expect((await third.fail('install', '--yes', '--frozen')).code).toBe('integrity');
    expect((await third.json('list', '--installed')).items).toEqual([]);
  });

  spec(
    'INS-67',
    'refuses archives that lie, lead out of themselves or unpack to too much, and leaves nothing',
    async () => {
      const workspace = createInstallWorkspace();
      const zeros = Buffer.alloc(4 * 1024 * 1024);
      const cases: [string, Buffer, string, RegExp][] = [
        ['parent', bundle(manifest(), { path: '../evil' }), 'path_escape', /"\.\.\/evil" is not allowed/],
        ['inner parent', bundle(manifest(), { path: 'a/../../evil' }), 'path_escape', /not allowed/],
        ['absolute', bundle(manifest(), { path: '/tmp/evil' }), 'path_escape', /not allowed/],
        ['backslash', bundle(manifest(), { path: '..\\evil' }), 'path_escape', /not allowed/],
        ['drive', bundle(manifest(), { path: 'C:/evil' }), 'path_escape', /not allowed/],
        [
          'link',
          bundle(manifest(), { path: 'link', content: '/etc/passwd', mode: 0o120777 }),
          'invalid_definition',
          /link/,
        ],
        ['device', bundle(manifest(), { path: 'pipe', mode: 0o010644 }), 'invalid_definition', /special file/],
        ['bomb', bundle(manifest(), { path: 'bomb', content: zeros }), 'invalid_definition', /200 times its size/],
        [
          'small size',
          bundle(manifest(), { path: 'bomb', content: zeros, size: 10 }),
          'invalid_definition',
          /larger than it says/,
        ],
        ['crc', bundle(manifest(), { path: 'x', content: 'x', crc: 1 }), 'invalid_definition', /not what it says/],
        [
          'huge',
          makeZip(
            Array.from({ length: 3 }, (_, at) => ({ path: `${at}`, content: 'x', size: 2 ** 31 - 1, method: 0 })),
          ),
          'invalid_definition',
          /200 times|1 GiB/,
        ],
        [
          'shared',
          bundle(manifest(), { path: 'server/index.mjs2', localPath: 'x', sharedWith: 0 }),
          'invalid_definition',
          /shares its data|another name/,
        ],
        ['twice', bundle(manifest(), { path: 'server/INDEX.mjs', content: 'x' }), 'invalid_definition', /twice/],
        ['below a file', bundle(manifest(), { path: 'server/index.mjs/x' }), 'invalid_definition', /below a file/],
        ['two names', bundle(manifest(), { path: 'a', localPath: 'b' }), 'invalid_definition', /another name/],
        ['encrypted', bundle(manifest(), { path: 'a', flags: 1 }), 'invalid_definition', /encrypted/],
        [
          'unknown compression',
          bundle(manifest(), { path: 'a', method: 12 }),
          'invalid_definition',
          /unknown compression/,
        ],
        ['deep', bundle(manifest(), { path: `${'a/'.repeat(300)}b` }), 'invalid_definition', /deeper than/],
        ['truncated', bundle().subarray(0, 300), 'invalid_definition', /not a zip archive/],
        ['no archive', Buffer.from('text'), 'invalid_definition', /not a zip archive/],
        ['no manifest', makeZip([{ path: 'a' }]), 'invalid_definition', /no manifest\.json/],
      ];
      const before = workspace.snapshot();
      for (const [name, bytes, code, message] of cases) {
        const failed = await workspace.fail('add', write(workspace, bytes), '--yes');
        expect([name, failed]).toEqual([
          name,
          expect.objectContaining({ code, message: expect.stringMatching(message) }),
        ]);
      }
      expect(workspace.snapshot()).toEqual(before);
      expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
      expect(existsSync(join(workspace.dir, 'evil'))).toBe(false);
    },
  );

  spec('INS-67', 'reads the variants of manifests, and says why one cannot be used', async () => {
    const workspace = createInstallWorkspace();
    const uv = {
      manifest_version: '0.4',
      name: 'My Notes',
      version: '1',
      server: { type: 'uv', entry_point: 'src/a.py' },
    };
    await workspace.json('add', write(workspace, bundle(uv), 'uv.dxt'), '--yes');
    const { runs } = json(await wield(workspace, ['mcp', 'accept', 'My-Notes', '--dry-run', '--json']));
    expect(runs[0].text).toMatch(/^uv run --directory \S+plugin\/My-Notes src\/a\.py$/);
    // Hooks and items of other manifests in a bundle are not read.
    const mixed = bundle(manifest(), {
      path: 'wield.toml',
      content: '[[hooks]]\nevent = "install"\nrun = "touch owned"\n',
    });
    const added = await workspace.json('add', write(workspace, mixed), '--register-only', '--run-hooks');
    expect([added.source.hooks, added.source.items.length]).toEqual(['none', 1]);
    const secret = {
      ...OPTIONS,
      server: {
        type: 'node',
        entry_point: 'a',
        mcp_config: { command: 'node', args: ['--key=${user_config.api_key}'] },
      },
    };
    const cases: [object, RegExp][] = [
      [manifest({ manifest_version: 3 }), /unknown version of its manifest: 3/],
      [manifest({ name: '' }), /name must be a non-empty string/],
      [manifest({ compatibility: { platforms: ['win32'] } }), /is for win32, and this is/],
      [manifest({ server: { type: 'node', entry_point: '../a' } }), /entry_point/],
      [manifest({ server: { type: 'node', entry_point: 'a' } }), /without mcp_config/],
      [manifest({ user_config: { a: { type: 'secret' } } }), /user_config\.a\.type must be "string"/],
      [manifest({}, { args: 'x' }), /server\.mcp_config\.args must be an array of strings/],
      [manifest(secret), /would show the secret "api_key" in the process list/],
    ];
    for (const [document, message] of cases)
      expect((await workspace.fail('add', write(workspace, bundle(document), 'bad.mcpb'), '--yes')).message).toMatch(
        message,
      );
  });

  spec('INS-69', 'asks for the values that a server needs, and keeps secrets in private files', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', write(workspace, bundle(CONFIGURED)), '--yes');
    const accept = (...args: readonly string[]) => workspace.fail('mcp', 'accept', 'notes', '--yes', ...args);
    expect(await accept()).toMatchObject({
      code: 'usage',
      data: { missing: ['api_key'] },
      hint: expect.stringContaining('--set api_key=VALUE'),
    });
    expect((await accept('--set', 'api_key=k', '--set', 'limit=10')).message).toBe('limit must be from 1 to 9');
    expect((await accept('--set', 'odd=k')).message).toBe('notes has no option "odd"');
    expect((await accept('--set', 'api_key=a', '--set', 'api_key=b')).message).toBe('api_key takes one value');
    expect(existsSync(join(workspace.wieldHome, 'secrets'))).toBe(false);
    const secret = 'k-5d1f0c2ab94e';
    mkdirSync(join(workspace.dir, 'a'));
    await workspace.json(
      'mcp',
      'accept',
      'notes',
      '--yes',
      '--set',
      `api_key=${secret}`,
      '--set',
      'roots=a',
      '--set',
      'roots=~/b',
    );
    const file = secretOf(workspace);
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([secret, 0o600]);
    expect(readFileSync(join(workspace.wieldHome, 'servers.json'), 'utf8')).not.toContain(secret);
    const run = await workspace.run('call', 'notes_where', '--json');
    // The value arrives, and is hidden where it is shown.
    expect(json(run).content[0].text).toContain('"CONFIG":"[redacted]"');
    const text = JSON.parse(json(run).content[0].text);
    expect(text.argv).toEqual([join(workspace.dir, 'a'), join(workspace.home, 'b'), '--limit=3']);
    // A reference is kept as it is; the server is accepted with its new values only.
    await workspace.json('mcp', 'accept', 'notes', '--yes', '--set', 'api_key=${NOTES_KEY}', '--set', 'theme=dark');
    expect((await workspace.fail('call', 'notes_where')).message).toContain('NOTES_KEY');
    const { runs } = json(
      await wield(workspace, ['mcp', 'accept', 'notes', '--set', 'limit=4', '--dry-run', '--json']),
    );
    expect(runs.map(({ text }: { text: string }) => text)).toEqual(
      expect.arrayContaining(['CONFIG=key ${NOTES_KEY}', 'THEME=dark', 'LITERAL=$${NOT_OURS}']),
    );
    await workspace.json('uninstall', 'notes', '--yes');
    expect(readdirSync(join(workspace.wieldHome, 'secrets'))).toEqual([]);
  });

  specIf(hasPty, NO_PTY, 'INS-69', 'asks at the terminal, without showing a secret', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', write(workspace, bundle(CONFIGURED)), '--yes');
    const { screen, status } = await wieldAtTerminal(workspace, ['mcp', 'accept', 'notes'], {
      answers: [
        ['api_key: ', 'k-5d1f0c2ab94e\r'],
        ['theme (optional): ', '\n'],
        ['[y/N]', 'y\n'],
      ],
    });
    expect([status, screen.includes('k-5d1f0c2ab94e'), screen.includes('API key: Of your account')]).toEqual([
      0,
      false,
      true,
    ]);
    expect(readFileSync(secretOf(workspace), 'utf8')).toBe('k-5d1f0c2ab94e');
  });

  spec('INS-68', 'starts a server only with the files that were accepted', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', write(workspace, bundle()), '--yes');
    await workspace.json('mcp', 'accept', 'notes', '--yes');
    expect((await workspace.run('call', 'notes_where')).status).toBe(0);
    const root = join(workspace.wieldHome, 'store/plugin/notes');
    const changes: (() => void)[] = [
      () => writeFileSync(join(root, 'server/index.mjs'), `${SERVER}// changed\n`),
      () => writeFileSync(join(root, 'server/added.mjs'), 'added'),
    ];
    for (const change of changes) {
      change();
      const failed = await workspace.fail('call', 'notes_where');
      expect(failed).toMatchObject({ code: 'integrity', hint: expect.stringContaining('wield mcp accept notes') });
      const { stdout } = await workspace.run('mcp', 'accept', 'notes', '--yes');
      expect(stdout).toMatch(/changed {2}files in \S+plugin\/notes\n/);
      // The tools of a server that changed are approved by themselves.
      await workspace.run('mcp', 'refresh', 'notes');
      await workspace.run('mcp', 'accept', 'notes', '--yes');
      expect(await workspace.run('call', 'notes_where')).toMatchObject({ status: 0, stderr: '' });
    }
    expect((await workspace.json('verify')).ok).toBe(true);
  });

  spec('UPS-92', 'installs a bundle of a registry entry with the hash that the entry names', async () => {
    const workspace = createInstallWorkspace();
    const bytes = bundle();
    const files = await listen((_, response) => response.end(bytes));
    const add = (item: object) => {
      const entry = { name: 'io.github.acme/notes', version: '1.0.0', packages: [{ registryType: 'mcpb', ...item }] };
      workspace.write('server.json', JSON.stringify(entry));
      return workspace.run('mcp', 'add', '--yes', './server.json', '--json');
    };
    const identifier = `${files.origin}/notes.mcpb`;
    const other = json(await add({ identifier, fileSha256: 'a'.repeat(64) }));
    expect(other.error).toMatchObject({ code: 'integrity' });
    expect(json(await add({ identifier })).error.message).toMatch(/no fileSha256/);
    expect(
      json(await add({ identifier: 'http://169.254.169.254/x.mcpb', fileSha256: sha256(bytes) })).error.message,
    ).toMatch(/no https/);
    expect(
      json(await add({ registryType: 'npm', identifier: 'a', version: '1.0.0', fileSha256: sha256(bytes) })).error
        .message,
    ).toMatch(/names a hash, which its runner cannot check/);
    expect(json(await add({ identifier, fileSha256: sha256(bytes) }))).toMatchObject({ ok: true, written: true });
    expect((await workspace.json('mcp', 'list')).servers[0]).toMatchObject({ name: 'notes', state: 'untrusted' });
  });
});
