// Ways around the lists of servers and sources that a company allows: spellings, names, entries, files and redirects.

import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../support/cli.js';
import { listen } from '../support/http.js';
import { createInstallWorkspace, DETECT, writeFiles } from '../support/install.js';
import { type ManagedWorkspace, withManaged } from '../support/managed.js';
import { spec } from '../support/spec.js';
import { configureServers, countedServer } from '../support/upstream-servers.js';
import { createWorkspace } from '../support/workspace.js';

const allow = (...rules: readonly string[]): string => `[mcp]\nallow = [${rules.join(', ')}]\n`;
const CORP = '{ url = "https://*.corp.example/*" }';
const NPX = '{ command = ["npx", "-y", "@corp/x@1.2.3"] }';
const ENTRY = { command: 'npx', args: ['-y', '@corp/x@1.2.3'] };

/** Returns the names of the servers that are not blocked. */
async function used(workspace: ManagedWorkspace, env?: Record<string, string>): Promise<string[]> {
  const { servers } = json(await wield(workspace, ['mcp', '--json'], { env }));
  return servers
    .filter(({ state }: { state: string }) => state !== 'blocked')
    .map(({ name }: { name: string }) => name);
}

/** Returns those of some entries that are not blocked by a managed list. */
async function usedOf(
  list: string,
  entries: Readonly<Record<string, object>>,
  env?: Record<string, string>,
): Promise<string[]> {
  let found: string[] = [];
  await withManaged(list, async (workspace) => {
    configureServers(workspace, entries);
    found = await used(workspace, env);
  });
  return found;
}

const urls = (list: readonly string[]): Record<string, object> => Object.fromEntries(list.map((url) => [url, { url }]));

describe.concurrent('URLs', () => {
  const cases: Readonly<Record<string, readonly [string, readonly string[], readonly string[]]>> = {
    'another host that contains the allowed one': [
      CORP,
      [
        'https://evilcorp.example/mcp',
        'https://corp.example/mcp',
        'https://a.corp.example.evil.example/mcp',
        'https://evil.example/a.corp.example/mcp',
        'https://evil.example/#a.corp.example/',
        'https://evil.example/?.corp.example/',
      ],
      ['https://a.corp.example/mcp', 'https://a.b.corp.example/mcp'],
    ],
    'the allowed host as a user name': [
      CORP,
      ['https://a.corp.example@evil.example/mcp', 'https://a.corp.example:x@evil.example/'],
      [],
    ],
    'a user name at the allowed host': [CORP, ['https://ada@a.corp.example/mcp'], []],
    'another scheme': [CORP, ['http://a.corp.example/mcp'], []],
    'another port': [CORP, ['https://a.corp.example:8443/mcp'], ['https://a.corp.example:443/mcp']],
    'a backslash': [CORP, ['https://evil.example\\.corp.example/mcp', 'https:\\\\evil.example\\a.corp.example/'], []],
    'letters that look the same': [
      CORP,
      ['https://a.c\u043erp.example/mcp', 'https://a.corp\u2024example.evil.example/'],
      ['https://A.CORP.example/mcp', 'https://a.corp.example./mcp'],
    ],
    'dot segments': [
      '{ url = "https://a.example/ok/*" }',
      [
        'https://a.example/ok/../evil',
        'https://a.example/ok/%2e%2e/evil',
        'https://a.example/ok/..%2fevil',
        'https://a.example/ok/%2e%2e%2fevil',
        'https://a.example/ok/..%5cevil',
        'https://a.example/ok/%252e%252e%252fevil',
        'https://a.example/OK/mcp',
      ],
      ['https://a.example/ok/mcp', 'https://a.example/evil/../ok/mcp'],
    ],
    'a query': [
      '{ url = "https://a.example/mcp" }',
      ['https://a.example/mcp?to=evil.example', 'https://a.example/mcp/', 'https://a.example/mcp/more'],
      ['https://a.example/mcp'],
    ],
    'characters of globs': [
      '{ url = "https://a.example/m?p" }',
      ['https://a.example/mcp', 'https://a.example/mXp'],
      ['https://a.example/m?p'],
    ],
  };
  for (const [what, [list, refused, allowed]] of Object.entries(cases))
    spec('POL-41', `${what} is not the allowed address`, async () => {
      expect(await usedOf(allow(list), urls([...refused, ...allowed]))).toEqual(allowed);
    });

  spec('POL-41', 'a host in other letters is compared as URLs have it', async () => {
    expect(
      await usedOf(
        allow('{ url = "https://b\u00fccher.example/*" }'),
        urls(['https://xn--bcher-kva.example/', 'https://bucher.example/']),
      ),
    ).toEqual(['https://xn--bcher-kva.example/']);
  });

  spec('POL-41', 'a variable does not lead to another host', async () => {
    const entries = { a: { url: 'https://${WHERE}.corp.example/mcp' } };
    expect(await usedOf(allow(CORP), entries, { WHERE: 'a' })).toEqual(['a']);
    expect(await usedOf(allow(CORP), entries, { WHERE: 'evil.example/?' })).toEqual([]);
    expect(await usedOf(allow(CORP), { a: { url: '${WHERE}' } }, {})).toEqual([]);
  });

  spec('POL-41', 'nor one of a workspace, whose variables are not expanded before its start', () =>
    withManaged('', async (workspace) => {
      const evil = await listen((_, response) => void response.end('{}'));
      workspace.manage('config.toml', allow('{ url = "http://*.corp.example/*" }'));
      workspace.write('.mcp.json', JSON.stringify({ mcpServers: { a: { url: 'http://${WHERE}.corp.example/mcp' } } }));
      const env = { WHERE: `${evil.origin.slice('http://'.length)}/?` };
      expect(await used(workspace, env)).toEqual(['a']);
      await wield(workspace, ['trust', '--yes']);
      const refused = json(await wield(workspace, ['mcp', 'refresh', 'a', '--json'], { env }));
      expect(refused.error).toMatchObject({ code: 'denied', message: expect.stringContaining('blocked') });
      expect(evil.requests).toEqual([]);
    }),
  );

  spec('POL-41', 'a redirect to an address that is not allowed is not followed', () =>
    withManaged('', async (workspace) => {
      const server = await listen((request, response) => {
        if (request.url!.startsWith('/ok')) response.writeHead(307, { location: '/evil/mcp' }).end();
        else response.end('{}');
      });
      workspace.manage('config.toml', allow(`{ url = "${server.origin}/ok/*" }`));
      configureServers(workspace, { a: { url: `${server.origin}/ok/mcp` } });
      const refused = json(await wield(workspace, ['mcp', 'refresh', 'a', '--json']));
      expect(refused.error.message).toContain('/evil/mcp');
      expect(server.requests.filter(({ url }) => url!.startsWith('/evil'))).toEqual([]);
    }),
  );
});

describe.concurrent('commands', () => {
  const refused: Readonly<Record<string, object>> = {
    'another registry by a flag': { command: 'npx', args: ['--registry=https://evil.example', '-y', '@corp/x@1.2.3'] },
    'a flag after the package': { command: 'npx', args: ['-y', '@corp/x@1.2.3', '--package=evil'] },
    'a missing flag': { command: 'npx', args: ['@corp/x@1.2.3'] },
    'another version': { command: 'npx', args: ['-y', '@corp/x@1.2.4'] },
    'one word instead of two': { command: 'npx', args: ['-y @corp/x@1.2.3'] },
    'a program of another directory': { command: '/tmp/npx', args: ENTRY.args },
    'a relative program': { command: './npx', args: ENTRY.args },
    'a program with a space': { command: 'npx ', args: ENTRY.args },
    'a wrapper': { command: 'env', args: ['npx', ...ENTRY.args] },
    'a shell': { command: 'sh', args: ['-c', 'npx -y @corp/x@1.2.3'] },
    'an empty argument': { command: 'npx', args: [...ENTRY.args, ''] },
    'a working directory': { ...ENTRY, cwd: '/tmp' },
    ...Object.fromEntries(
      [
        'NPM_CONFIG_REGISTRY',
        'npm_config_registry',
        'NODE_OPTIONS',
        'PATH',
        'HOME',
        'NODE_PATH',
        'LD_PRELOAD',
        'HTTPS_PROXY',
        'XDG_CONFIG_HOME',
      ].map((name) => [`the variable ${name}`, { ...ENTRY, env: { [name]: 'x' } }]),
    ),
  };
  spec('POL-41', 'a command line that differs in anything is not the allowed one', async () => {
    const all = { ...refused, plain: ENTRY, variable: { ...ENTRY, env: { CORP_MODE: 'fast' } } };
    expect(await usedOf(allow(NPX), all)).toEqual(['plain', 'variable']);
  });

  spec('POL-41', 'a relative program is that of a directory, whatever the list has', async () => {
    const entry = { command: './npx', args: ['x'] };
    expect(await usedOf(allow('{ command = ["./npx", "x"] }'), { entry })).toEqual([]);
  });

  spec('POL-41', 'nor one that the user passes such a variable to', () =>
    withManaged('', async (workspace) => {
      const server = countedServer(workspace, 'notes');
      const { command, args } = server.entry as { command: string; args: string[] };
      workspace.manage('config.toml', allow(`{ command = ${JSON.stringify([command, ...args])} }`));
      workspace.config('[env]\npass = ["NODE_OPTIONS"]\n');
      configureServers(workspace, { notes: server.entry });
      const run = (env: Record<string, string>) => wield(workspace, ['mcp', 'refresh', 'notes', '--json'], { env });
      const refusedRun = json(await run({ NODE_OPTIONS: '--no-warnings' }));
      expect(refusedRun.error).toMatchObject({ code: 'denied', message: expect.stringContaining('NODE_OPTIONS') });
      expect(server.starts()).toEqual([]);
      expect(json(await run({}))).toMatchObject({ ok: true });
    }),
  );

  spec('POL-41', 'a name, an own registry file and a forged record make no server an allowed one', () =>
    withManaged(allow('{ registry = "com.corp/*" }', NPX), async (workspace) => {
      configureServers(workspace, {
        'com.corp/x': { command: 'npx', args: ['-y', 'evil'] },
        '@corp/x@1.2.3': { command: 'npx', args: ['-y', 'evil'] },
      });
      expect(await used(workspace)).toEqual([]);
      const packages = [{ registryType: 'npm', identifier: 'evil', version: '1.0.0' }];
      workspace.write('server.json', JSON.stringify({ name: 'com.corp/x', version: '1.0.0', packages }));
      const added = await wield(workspace, ['mcp', 'add', './server.json', '--yes', '--unpinned', '--json']);
      expect(json(added).error.code).toBe('denied');
      // A record that others can write is not read.
      const record = join(workspace.env.WIELD_HOME!, 'registry.json');
      mkdirSync(dirname(record), { recursive: true, mode: 0o700 });
      writeFileSync(record, '{"version":1,"servers":{}}');
      chmodSync(record, 0o666);
      expect(await used(workspace)).toEqual([]);
    }),
  );
});

describe.concurrent('files', () => {
  spec('POL-41', 'servers of every file are blocked, and no other list or home allows one', () =>
    withManaged(allow(), async (workspace) => {
      const entry = { command: 'npx', args: ['x'] };
      const document = (name: string): string => JSON.stringify({ mcpServers: { [name]: entry } });
      configureServers(workspace, { own: entry });
      workspace.write('.mcp.json', document('shared'));
      workspace.write('.agents/mcp.json', document('local'));
      const table = (name: string): string =>
        `${allow('{ command = ["npx", "x"] }')}[mcpServers.${name}]\ncommand = "npx"\nargs = ["x"]\n`;
      workspace.config(table('configured'));
      workspace.write('.agents/config.toml', table('project'));
      const record = { entry, source: 'x', digest: 'd', accepted: 'd', files: [] };
      writeFileSync(
        join(workspace.env.WIELD_HOME!, 'servers.json'),
        JSON.stringify({ version: 1, servers: { plugin: record } }),
      );
      const { servers } = json(await wield(workspace, ['mcp', '--json']));
      expect(servers.map(({ name }: { name: string }) => name).sort()).toEqual([
        'configured',
        'local',
        'own',
        'plugin',
        'project',
        'shared',
      ]);
      expect(await used(workspace)).toEqual([]);
      const home = join(workspace.home, 'other');
      expect(
        await used(workspace, { WIELD_HOME: home, WIELD_CONFIG: home, WIELD_MANAGED: home, XDG_CONFIG_DIRS: home }),
      ).toEqual([]);
    }),
  );

  for (const [what, rules] of [
    ['a list', allow(CORP)],
    ['a disabled server', '[mcp]\ndisabled = ["counted"]\n'],
  ] as const)
    spec('POL-9 POL-41', `${what} in a file with a mistake starts no server`, async () => {
      for (const config of [`${rules}x = [\n`, rules.replace(' =', 's =')]) {
        const workspace = createWorkspace();
        const { entry, starts } = countedServer(workspace, 'counted');
        configureServers(workspace, { counted: entry });
        workspace.config(config);
        expect((await wield(workspace, ['list'])).stderr).toContain('1 problem');
        for (const args of [
          ['mcp', 'refresh', 'counted'],
          ['mcp', 'add', 'other', '--', 'other'],
          ['call', 'counted_echo'],
        ]) {
          const { error } = json(await wield(workspace, [args[0]!, '--json', ...args.slice(1)]));
          expect([args, error?.code, error?.message]).toEqual([
            args,
            'denied',
            expect.stringMatching(/the configuration is invalid \(\S+config\.toml:\d: /),
          ]);
        }
        expect(starts()).toEqual([]);
      }
    });

  spec('POL-40', 'a link of config.d is followed, and one to a file that others can write denies everything', () =>
    withManaged({ 'config.d/10-a.toml': '' }, async (workspace) => {
      workspace.script('x', '#!/bin/sh\n# @description X.\necho ran\n');
      const target = workspace.manage('elsewhere', '[trust]\nrules = ["x($deny)"]\n');
      symlinkSync(target, join(workspace.managed, 'config.d/20-b.toml'));
      const call = async () => json(await wield(workspace, ['call', 'x', '--json'])).error;
      expect(await call()).toMatchObject({ code: 'denied', message: expect.stringContaining('a rule denies it') });
      writeFileSync(target, '');
      expect(await call()).toBeUndefined();
      chmodSync(target, 0o662);
      expect(await call()).toMatchObject({ code: 'denied', message: expect.stringContaining('others can write') });
    }),
  );

  spec('POL-40', 'a project cannot name itself a managed layer', () =>
    withManaged('[trust]\nrules = ["x($deny)"]\n', async (workspace) => {
      workspace.script('x', '#!/bin/sh\n# @description X.\necho ran\n');
      workspace.write('.agents/config.d/00-first.toml', '[trust]\nrules = ["x($policy=allow)"]\n');
      workspace.write('.agents/config.toml', '[trust]\nrules = ["x($policy=allow)"]\n');
      workspace.config('[trust]\nrules = ["x($policy=allow)"]\n');
      expect(json(await wield(workspace, ['call', 'x', '--json'])).error).toMatchObject({ code: 'denied' });
    }),
  );
});

describe.concurrent('sources', () => {
  const REFUSED = [
    'https://github.com.evil.example/acme/x',
    'https://evil.example/github.com/acme/x',
    'https://github.com@evil.example/acme/x',
    'https://github.com:x@evil.example/acme/x',
    'https://github.com/acmeevil/x',
    'https://github.com/acme',
    'https://github.com/acme/../evil/x',
    'https://github.com/evil/../acme/x',
    'https://github.com/evil/%2e%2e/acme/x',
    'https://github.com//acme/x',
    'https://github.com/acme//x',
    'https://github.com/acme/./x',
    'https://github.com/acme/x?to=evil',
    'https://github.com/acme/x#evil',
    'https://github.com\\@evil.example/acme/x',
    'https://evil.example\\github.com/acme/x',
    'https://github.com:8443/acme/x',
    'https://g\u0456thub.com/acme/x',
    'ssh://git@github.com:2222/acme/x',
    'ssh://git@github.com/acme/../evil/x',
    'ssh://github.com@evil.example/acme/x',
    'git@evil.example:acme/x',
    'git@github.com:evil/x',
    'git@github.com:acme/../evil/x',
    'github.com@evil.example:acme/x',
    'acme-evil/x',
    'github:evil/x',
    'file:///tmp/github.com/acme/x',
    'https://evil.example/github.com/acme/x.mcpb',
  ];
  const ALLOWED = [
    'acme/x',
    'github:acme/x',
    'https://github.com/acme/x.git/',
    'https://GitHub.COM/acme/x',
    'https://ada@github.com/acme/x',
    'https://github.com:443/acme/x',
    'https://github.com./acme/x',
    'ssh://git@github.com/acme/x.git',
    'ssh://git@GITHUB.com:22/acme/x',
    'git@github.com:acme/x.git',
    'git@GitHub.com:/acme/x',
  ];

  spec('POL-42', 'an address is compared in one spelling', () =>
    withManaged('[sources]\nallow = ["GitHub.com/acme/*"]\n', async (workspace) => {
      // Without git, nothing is fetched of an address that is allowed.
      const env = { PATH: '/nowhere' };
      const code = async (source: string): Promise<string> =>
        json(await wield(workspace, ['add', source, '--yes', '--json'], { env })).error.code;
      const found = await Promise.all([...REFUSED, ...ALLOWED].map(async (source) => [source, await code(source)]));
      const passed = found.filter(([, one]) => one === 'unavailable').map(([source]) => source);
      expect(passed).toEqual(ALLOWED);
    }),
  );

  spec('POL-42', 'a directory that is named like an allowed address, or is a link, is a directory', () =>
    withManaged('', async (workspace) => {
      const skill = (path: string): void => {
        mkdirSync(join(path, 'skills/a'), { recursive: true });
        writeFileSync(join(path, 'skills/a/SKILL.md'), '---\nname: a\ndescription: A.\n---\nA.\n');
      };
      const [evil, ours] = [join(workspace.home, 'evil'), join(workspace.home, 'ours')];
      for (const path of [evil, join(workspace.dir, 'github.com/acme/x'), join(ours, 'a')]) skill(path);
      symlinkSync(evil, join(ours, 'link'));
      workspace.manage('config.toml', `[sources]\nallow = ["github.com/acme/*", "${ours}/*"]\n`);
      const add = async (source: string) => json(await wield(workspace, ['add', source, '--yes', '--json']));
      for (const source of ['github.com/acme/x', join(ours, 'link'), `${ours}/../evil`, `file://${ours}/link`])
        expect([source, (await add(source)).error?.code]).toEqual([source, 'denied']);
      expect(await add(join(ours, 'a'))).toMatchObject({ ok: true });
    }),
  );

  spec('POL-42', 'a download that leads elsewhere is refused', () =>
    withManaged('', async (workspace) => {
      const server = await listen((request, response) => {
        if (request.url!.startsWith('/ok')) response.writeHead(302, { location: '/evil/x.mcpb' }).end();
        else response.end('x');
      });
      workspace.manage('config.toml', `[sources]\nallow = ["127.0.0.1:${server.port}/ok/*"]\n`);
      const added = json(await wield(workspace, ['add', `${server.origin}/ok/x.mcpb`, '--yes', '--json']));
      expect(added.error).toMatchObject({ code: 'denied', message: expect.stringContaining('/evil/x.mcpb') });
      expect(server.requests.map(({ url }) => url)).toEqual(['/ok/x.mcpb']);
    }),
  );

  spec('POL-42', 'a nested source is one like any other', async () => {
    const workspace = createInstallWorkspace();
    const outer = workspace.source('outer', {
      'wield.toml': '[[discover.sources]]\nsource = "https://evil.example/a/b"\n',
      'skills/a/SKILL.md': '---\nname: a\ndescription: A.\n---\nA.\n',
    });
    workspace.config(`[sources]\nallow = ["${outer}"]\n`);
    expect(await workspace.fail('add', outer, '--yes')).toMatchObject({
      code: 'denied',
      message: expect.stringContaining('evil.example'),
    });
  });

  const MISTAKES = [
    'allow = "github.com/acme/*"',
    'signers = "x"',
    'signers = [1]',
    'signers = {}',
    'signerz = ["x"]',
    'alow = ["github.com/acme/*"]',
    'allow = ["github.com/acme/*"',
  ];
  const invalid = ['[source]\nallow = ["github.com/acme/*"]\n', ...MISTAKES.map((line) => `[sources]\n${line}\n`)];

  spec('POL-42 POL-9', 'a list with a mistake installs nothing and runs no hook, and hides nothing installed', () =>
    withManaged('', async (workspace) => {
      const skill = (name: string, files = {}): string => {
        writeFiles(join(workspace.home, name), { ...DETECT, ...files });
        return join(workspace.home, name);
      };
      const run = async (...args: readonly string[]) => json(await wield(workspace, [...args, '--json']));
      const ran = join(workspace.home, 'ran');
      const evil = skill('evil', { 'wield.toml': `[[hooks]]\nrun = "touch ${ran}"\n` });
      expect(await run('add', skill('ours'), '--yes')).toMatchObject({ ok: true });
      for (const text of invalid)
        for (const write of [workspace.config, (one: string) => workspace.manage('config.toml', one)]) {
          write(text);
          const message = expect.stringMatching(/^the configuration is invalid \(\/\S+config\.toml:\d/);
          for (const args of [['add', evil], ['install', '--all'], ['upgrade'], ['sync'], ['uninstall', 'detect']])
            expect([text, args, await run(...args, '--yes', '--run-hooks')]).toMatchObject([
              text,
              args,
              { ok: false, error: { code: 'denied', message } },
            ]);
          expect((await run('list', '--sources')).sources).toHaveLength(1);
          expect(await run('hooks', 'list')).toMatchObject({ ok: true });
          expect(await run('verify')).toMatchObject({ ok: true });
          write('');
        }
      expect(existsSync(ran)).toBe(false);
      expect(await run('add', evil, '--yes', '--run-hooks', '--register-only')).toMatchObject({ ok: true });
      expect(existsSync(ran)).toBe(true);
    }),
  );
});
