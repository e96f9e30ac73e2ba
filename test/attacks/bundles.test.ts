// Bundles and entries of a registry: what their authors write stays text, and their archives unpack to what they say.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createCertificate } from '../support/certificate.js';
import { json, wield, wieldProcess } from '../support/cli.js';
import { listen } from '../support/http.js';
import { createInstallWorkspace, type InstallWorkspace } from '../support/install.js';
import { SERVER } from '../support/plugins.js';
import { onEnd } from '../support/share.js';
import { finding, spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';
import { makeZip, type ZipFile } from '../support/zip.js';

interface Parts {
  readonly name?: string;
  readonly options?: object;
  readonly config?: object;
}

const bundle = ({ name = 'notes', options = {}, config = {} }: Parts = {}, ...more: readonly ZipFile[]): Buffer =>
  makeZip([
    {
      path: 'manifest.json',
      content: JSON.stringify({
        manifest_version: '0.3',
        name,
        version: '1.0.0',
        user_config: options,
        server: {
          type: 'node',
          entry_point: 'index.mjs',
          mcp_config: { command: 'node', args: ['${__dirname}/index.mjs'], ...config },
        },
      }),
    },
    { path: 'index.mjs', content: SERVER },
    ...more,
  ]);

function write(workspace: InstallWorkspace, bytes: Buffer, name = 'notes.mcpb'): string {
  const path = join(workspace.dir, name);
  writeFileSync(path, bytes);
  return path;
}

describe('an archive', () => {
  finding('B15 INS-67', 'that unpacks to far more than its size in many small files is refused', async () => {
    const workspace = createInstallWorkspace();
    const content = Buffer.alloc(1024 * 1024);
    const files = Array.from({ length: 24 }, (_, at) => ({ path: `part-${at}`, content }));
    const refused = await workspace.fail('add', write(workspace, bundle({}, ...files)), '--yes');
    expect(refused).toMatchObject({
      code: 'invalid_definition',
      message: expect.stringContaining('200 times its size'),
    });
    expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
  });

  spec('INS-70', 'with names that no file can have is refused by name', async () => {
    const workspace = createInstallWorkspace();
    const cases: [string, readonly ZipFile[], RegExp][] = [
      [
        'a file and a directory',
        [{ path: 'a' }, { path: 'a/', mode: 0o040755 }, { path: 'a/b' }],
        /twice|below a file/,
      ],
      ['a directory and a file', [{ path: 'a/', mode: 0o040755 }, { path: 'a' }], /twice/],
      ['two forms of a letter', [{ path: '\u00e9' }, { path: 'e\u0301/b' }], /below a file/],
      ['a long name', [{ path: 'n'.repeat(300) }], /too long/],
      ['a long path', [{ path: `${'n'.repeat(200)}/`.repeat(30).slice(0, -1) }], /too long/],
      ['a control character', [{ path: 'a\u009b31mb' }], /not allowed/],
    ];
    for (const [what, files, message] of cases) {
      const refused = await workspace.fail('add', write(workspace, bundle({}, ...files)), '--yes');
      expect([what, refused.code, refused.message]).toEqual([
        what,
        expect.stringMatching(/^(?:invalid_definition|path_escape)$/),
        expect.stringMatching(message),
      ]);
      expect([what, existsSync(join(workspace.wieldHome, 'sources'))]).toEqual([what, false]);
    }
  });
});

describe('the manifest of a bundle', () => {
  spec('INS-71', 'cannot refer to a variable or file of this machine, whatever its parts are', async () => {
    const workspace = createInstallWorkspace();
    const option = (text: string) => ({ type: 'string', title: 'T', description: 'D', default: text });
    const cases: Parts[] = [
      { config: { env: { A: 'file:~/.aws/credentials' } } },
      { options: { a: option('{GITHUB_TOKEN}') }, config: { env: { A: '$${user_config.a}' } } },
      { options: { a: option('$'), b: option('{X}') }, config: { env: { A: '${user_config.a}${user_config.b}' } } },
      { options: { a: option('file:/etc/passwd') }, config: { env: { A: '${user_config.a}' } } },
      { options: { a: option('e:/etc/passwd') }, config: { env: { A: 'fil${user_config.a}' } } },
      { options: { a: option('{X}') }, config: { args: ['--x=$${user_config.a}'] } },
      { config: { platform_overrides: { linux: { env: { A: 'file:~/.netrc' } } } } },
    ];
    for (const parts of cases) {
      const refused = await workspace.fail('add', write(workspace, bundle(parts)), '--yes');
      expect([parts, refused]).toEqual([
        parts,
        expect.objectContaining({
          code: 'invalid_definition',
          message: expect.stringContaining('read from this machine'),
        }),
      ]);
    }
    // Neither does the value of a person turn into one.
    const options = { a: { type: 'string', title: 'T', description: 'D' } };
    const path = write(
      workspace,
      bundle({ options, config: { env: { A: '$${user_config.a}', B: '${user_config.a}' } } }),
    );
    await workspace.json('add', path, '--yes');
    for (const text of ['{HOME}', 'file:/etc/passwd']) {
      const refused = await workspace.fail('mcp', 'accept', 'notes', '--yes', '--set', `a=${text}`);
      expect([text, refused.code, refused.message]).toEqual([
        text,
        'invalid_definition',
        expect.stringContaining('read from this machine'),
      ]);
    }
    await workspace.json('mcp', 'accept', 'notes', '--yes', '--set', 'a=${HOME}');
    expect((await workspace.json('mcp', 'list')).servers[0]).toMatchObject({ name: 'notes', state: 'unknown' });
  });

  spec('INS-72', 'cannot use names of built-in properties', async () => {
    const option = { type: 'string', title: 'T', description: 'D' };
    for (const key of ['constructor', '__proto__', 'prototype']) {
      const workspace = createInstallWorkspace();
      const options = JSON.parse(`{${JSON.stringify(key)}: ${JSON.stringify(option)}}`);
      const config = { args: ['${__dirname}/index.mjs', `--x=\${user_config.${key}}`] };
      const refused = await workspace.fail('add', write(workspace, bundle({ options, config })), '--yes');
      expect([key, refused.code]).toEqual([key, 'invalid_definition']);
    }
    // Others are ordinary names: absent until a person gives a value.
    const workspace = createInstallWorkspace();
    const options = { toString: option, valueOf: { ...option, required: true } };
    const args = ['${__dirname}/index.mjs', '--a=${user_config.toString}', '--b=${user_config.valueOf}'];
    await workspace.json('add', write(workspace, bundle({ options, config: { args } })), '--yes');
    expect((await workspace.fail('mcp', 'accept', 'notes', '--yes')).data.missing).toEqual(['valueOf']);
    const { runs } = await workspace.json('mcp', 'accept', 'notes', '--yes', '--set', 'valueOf=1');
    expect(runs[0].text).toMatch(/index\.mjs --b=1$/);
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const own = createInstallWorkspace();
      await own.json('add', write(own, bundle({ name })), '--yes');
      await own.json('mcp', 'accept', name, '--yes');
      expect((await own.json('mcp', 'list')).servers.map((one: { name: string }) => one.name)).toEqual([name]);
    }
  });

  spec('INS-73', 'cannot replace the secret of another server', async () => {
    const workspace = createInstallWorkspace();
    const secret = (...keys: string[]) =>
      Object.fromEntries(
        keys.map((key) => [key, { type: 'string', title: 'T', description: 'D', sensitive: true, multiple: true }]),
      );
    const env = (...keys: string[]) => ({
      env: Object.fromEntries(keys.map((key, at) => [`V${at}`, `\${user_config.${key}}`])),
    });
    const bundles: [string, Parts, string[]][] = [
      [
        'a',
        { name: 'a', options: secret('b.c', 'b.c.2'), config: env('b.c', 'b.c.2') },
        ['b.c=one', 'b.c=two', 'b.c.2=three'],
      ],
      ['a.b', { name: 'a.b', options: secret('c'), config: env('c') }, ['c=four']],
    ];
    for (const [name, parts, values] of bundles) {
      await workspace.json('add', write(workspace, bundle(parts), `${name}.mcpb`), '--yes');
      await workspace.json('mcp', 'accept', name, '--yes', ...values.flatMap((value) => ['--set', value]));
    }
    const directory = join(workspace.wieldHome, 'secrets');
    const kept = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    expect(kept.sort()).toEqual(['four', 'one', 'three', 'two']);
  });
});

describe('the download of a bundle', () => {
  spec('INS-74', 'follows redirects to another host over https, and to no other address without it', async () => {
    const workspace = createInstallWorkspace();
    const bytes = bundle();
    const { key, cert, file } = createCertificate(workspace.dir);
    const plain = await listen((_, response) => void response.end(bytes));
    const tls = createServer({ key, cert }, (request, response) => {
      const to: Record<string, string> = {
        '/down.mcpb': `${plain.origin}/notes.mcpb`,
        '/other.mcpb': `https://localhost:${(tls.address() as AddressInfo).port}/notes.mcpb`,
      };
      const location = to[request.url!];
      if (location === undefined) response.end(bytes);
      else response.writeHead(302, { location }).end();
    });
    await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve));
    onEnd(() => void tls.close());
    const secure = `https://127.0.0.1:${(tls.address() as AddressInfo).port}`;
    const add = async (url: string) =>
      json(await wieldProcess(workspace, ['add', url, '--yes', '--json'], { env: { NODE_EXTRA_CA_CERTS: file } }));
    expect((await add(`${secure}/down.mcpb`)).error.message).toContain('not followed');
    const other = await listen(
      (_, response) => void response.writeHead(302, { location: `${plain.origin}/x.mcpb` }).end(),
    );
    expect((await workspace.fail('add', `${other.origin}/notes.mcpb`, '--yes')).message).toContain('not followed');
    expect((await add(`${secure}/other.mcpb`)).ok).toBe(true);
  });
});

describe('an entry of a registry', () => {
  const remote = (more: object) => ({
    name: 'io.github.acme/notes',
    version: '1.2.3',
    remotes: [{ type: 'streamable-http', url: 'https://mcp.example.com/', ...more }],
  });
  const npm = (more: object) => ({
    name: 'io.github.acme/notes',
    version: '1.2.3',
    packages: [{ registryType: 'npm', identifier: 'notes', version: '1.2.3', ...more }],
  });

  spec('UPS-93', 'cannot refer to a variable or file that it does not list', async () => {
    const workspace = createWorkspace();
    const cases: object[] = [
      remote({ headers: [{ name: 'X-A', value: 'file:~/.config/token' }] }),
      remote({ headers: [{ name: 'X-A', default: 'file:/etc/hostname' }] }),
      remote({ url: 'https://mcp.example.com/${v}', variables: { v: { default: '{GITHUB_TOKEN}' } } }),
      remote({ headers: [{ name: 'X-A', value: 'a ${v}', variables: { v: { default: '{file:~/.netrc}' } } }] }),
      remote({
        headers: [{ name: 'X-A', value: '{d}{v}', variables: { d: { default: '$' }, v: { default: '{HOME}' } } }],
      }),
      npm({ environmentVariables: [{ name: 'A', value: 'file:~/.netrc' }] }),
      npm({ environmentVariables: [{ name: 'A', value: '${v}', variables: { v: { value: '{GITHUB_TOKEN}' } } }] }),
    ];
    for (const document of cases) {
      workspace.write('server.json', JSON.stringify(document));
      const refused = await wield(workspace, ['mcp', 'add', '--yes', './server.json', '--unpinned', '--json']);
      expect([document, json(refused).error]).toEqual([
        document,
        expect.objectContaining({
          code: 'invalid_definition',
          message: expect.stringContaining('read from this machine'),
        }),
      ]);
    }
    // What a person passes is theirs.
    workspace.write('server.json', JSON.stringify(npm({ environmentVariables: [{ name: 'A', isSecret: true }] })));
    const own = ['mcp', 'add', '--yes', './server.json', '--unpinned', '--env', 'A=file:~/token', '--json'];
    expect(json(await wield(workspace, own))).toMatchObject({ ok: true, variables: [] });
  });

  spec('UPS-94', 'of a public registry cannot name an address of this machine or its network', async () => {
    const { toServerEntry } = await import('../../src/upstream/registry/entry.js');
    const add = (document: object, local: boolean) => () =>
      toServerEntry(JSON.parse(JSON.stringify(document)), { values: {}, hasProgram: () => true, local });
    const mcpb = (identifier: string) => ({
      name: 'io.github.acme/notes',
      version: '1.2.3',
      packages: [{ registryType: 'mcpb', identifier, fileSha256: '0'.repeat(64) }],
    });
    const hosts = [
      '127.0.0.1',
      'localhost',
      'admin.localhost',
      '2130706433',
      '0x7f.1',
      '[::1]',
      '[::ffff:10.0.0.1]',
      '10.0.0.1',
      '192.168.1.1',
      'router',
      'nas.local',
      '169.254.169.254',
      'metadata.google.internal',
    ];
    for (const host of hosts) {
      expect(add(remote({ url: `https://${host}:8443/mcp` }), false), host).toThrow(/this machine or its network/);
      expect(add(mcpb(`https://${host}/notes.mcpb`), false), host).toThrow(/this machine or its network/);
    }
    const filled = remote({ url: 'https://{host}/mcp', variables: { host: { default: '127.0.0.1' } } });
    expect(add(filled, false)).toThrow(/this machine or its network/);
    expect(add(remote({ url: 'https://127.0.0.1:8443/mcp' }), true)).not.toThrow();
    expect(add(remote({ url: 'https://mcp.example.com/mcp' }), false)).not.toThrow();
    expect(add(mcpb('http://127.0.0.1:80@evil.example/notes.mcpb'), true)).toThrow(/no https/);
  });
});
