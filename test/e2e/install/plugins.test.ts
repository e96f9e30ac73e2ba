// Plugins and marketplaces: what is found, installed, accepted, upgraded and removed.

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json } from '../../support/cli.js';
import { createInstallWorkspace, type Files, writeFiles } from '../../support/install.js';
import { ALPHA, below, SERVER, serveGit, skill } from '../../support/plugins.js';
import { spec } from '../../support/spec.js';

const SCHEMAS = 'https://agent-plugins.org/schemas/1.0.0';
const AGENT_PLUGIN = {
  'plugin.json': JSON.stringify({ $schema: `${SCHEMAS}/plugin.schema.json`, name: 'acme.tools', odd: 1 }),
  'skills/greet/SKILL.md': skill('greet'),
  'skills/deep/inner/SKILL.md': skill('inner'),
  'bin/server.mjs': SERVER,
  'mcp.json': JSON.stringify({
    $schema: `${SCHEMAS}/mcp.schema.json`,
    mcpServers: {
      local: { type: 'stdio', command: 'node', args: ['./bin/server.mjs', '${PLUGIN_DATA}/x', '${HOME}'] },
      remote: { type: 'streamable-http', url: 'https://deploy.example.com/mcp', headers: { 'X-Tenant': '${HOME}' } },
      old: { type: 'sse', url: 'https://old.example.com/sse' },
      escape: { type: 'stdio', command: '../bin/server' },
      reserved: { type: 'stdio', command: 'node', env: { PLUGIN_ROOT: '/' } },
      plain: { type: 'streamable-http', url: 'http://deploy.example.com/mcp' },
    },
  }),
};
const names = (items: readonly { kind: string; effective: string }[]): string[] =>
  items.map(({ kind, effective }) => `${kind} ${effective}`).sort();

describe('plugins', () => {
  spec('INS-61 EXE-10', 'a server keeps the sandbox that its plugin or the file of it asks for', async () => {
    const workspace = createInstallWorkspace();
    const sandbox = { filesystem: { denyRead: ['~/private'] } };
    const mcpServers = {
      own: { command: 'node', sandbox: 'read-only' },
      shared: { command: 'node', sandboxEnabled: true },
      open: { command: 'node' },
    };
    const url = workspace.repository('repo', {
      '.claude-plugin/plugin.json': '{"name":"boxed"}',
      '.mcp.json': JSON.stringify({ mcpServers, sandbox }),
    });
    await workspace.json('add', url, '--yes');
    const entryOf = (name: string) =>
      JSON.parse(readFileSync(join(workspace.env.WIELD_HOME!, 'store/server', `boxed:${name}`, 'server.json'), 'utf8'));
    expect(entryOf('own')).toMatchObject({ sandbox: 'read-only' });
    expect(entryOf('shared')).toMatchObject({ sandboxEnabled: true, sandbox });
    expect(entryOf('open')).not.toHaveProperty('sandbox');
  });

  spec(
    'INS-4 INS-61',
    'installs skills, agents and servers of a plugin under its name, and names the rest',
    async () => {
      const workspace = createInstallWorkspace();
      const url = workspace.repository('repo', ALPHA);
      const { source, installed } = await workspace.json('add', url, '--yes');
      expect(source.plugins).toEqual([{ name: 'alpha', description: 'The first plugin.', path: '' }]);
      expect(names(source.items)).toEqual([
        'agent alpha:reviewer',
        'command alpha:deploy',
        'server alpha:db',
        'skill alpha:one',
        'skill alpha:two',
      ]);
      expect(source.skipped).toEqual([
        {
          what: 'hook',
          reason: 'wield does not run hooks of an agent',
          paths: ['alpha: PostToolUse: touch /tmp/owned'],
        },
      ]);
      // The directory of the plugin is installed, because others refer to it; commands only by name.
      expect(names(installed)).toEqual([
        'agent alpha:reviewer',
        'plugin alpha',
        'server alpha:db',
        'skill alpha:one',
        'skill alpha:two',
      ]);
      const home = join(workspace.home, '.claude');
      for (const link of ['skills/alpha-one/SKILL.md', 'agents/reviewer.md'])
        expect(existsSync(join(home, link))).toBe(true);
      expect(existsSync(join(home, 'commands'))).toBe(false);
      await workspace.json('install', '--yes', 'command:alpha:deploy');
      expect(readFileSync(join(home, 'commands/alpha:deploy.md'), 'utf8')).toContain('Deploy it.');
      const shown = await workspace.run('show-source', 'repo');
      expect(shown.stdout).toMatch(/skipped {2}1 hook: wield does not run hooks[\s\S]*PostToolUse: touch \/tmp\/owned/);
    },
  );

  spec('INS-4', 'names what it cannot read as it is written', async () => {
    const workspace = createInstallWorkspace();
    const manifest = {
      name: 'alpha',
      outputStyles: [{ at: 'styles' }],
      mcpServers: [['x']],
      hooks: { Stop: [{ hooks: [{ command: { run: 'touch' } }] }] },
    };
    const files = { ...ALPHA, '.claude-plugin/plugin.json': JSON.stringify(manifest) };
    await workspace.json('add', workspace.source('alpha', files), '--yes');
    const { stdout } = await workspace.run('show-source', 'alpha');
    expect(stdout).not.toContain('[object');
    for (const written of ['{"at":"styles"}', '{"run":"touch"}']) expect(stdout).toContain(written);
  });

  spec('INS-63', 'expands the directory of the plugin in Markdown', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('alpha', ALPHA), '--yes');
    const text = workspace.stored('skill/alpha:one/SKILL.md');
    expect(text).toContain('`~/.wield/store/plugin/alpha/scripts/run.sh`');
    expect(text).toContain('{{path:nothing}}');
    expect(workspace.stored('plugin/alpha/scripts/run.sh')).toContain('echo run');
    const { items } = await workspace.json('list', '--installed');
    expect(items.find(({ kind }: { kind: string }) => kind === 'skill').references).toEqual([
      { kind: 'plugin', name: 'alpha', value: join(workspace.wieldHome, 'store/plugin/alpha') },
    ]);
  });

  spec('INS-85', 'links agents of plugins by their own names, and a second one with its prefix', async () => {
    const workspace = createInstallWorkspace();
    const agents = join(workspace.home, '.claude/agents');
    const agent = (name: string): string => `---\nname: ${name}\ndescription: An agent.\n---\nWork.\n`;
    const plugin = (name: string, ...names: string[]): Files => ({
      '.claude-plugin/plugin.json': JSON.stringify({ name }),
      ...Object.fromEntries(names.map((one) => [`agents/${one}.md`, agent(one)])),
    });
    writeFiles(agents, { 'mine.md': 'mine' });
    await workspace.json('add', workspace.source('first', plugin('first', 'dev', 'mine')), '--yes');
    const both = { ...below('a', plugin('a', 'Dev', 'ops')), ...below('b', plugin('b', 'ops')) };
    await workspace.json('add', workspace.source('both', both), '--yes');
    const linked = ['a:Dev.md', 'b:ops.md', 'dev.md', 'first:mine.md', 'mine.md', 'ops.md'];
    expect(readdirSync(agents).sort()).toEqual(linked);
    expect(readFileSync(join(agents, 'mine.md'), 'utf8')).toBe('mine');
    // Nothing moves unless a name becomes free.
    await workspace.json('upgrade', '--yes');
    expect(readdirSync(agents).sort()).toEqual(linked);
    await workspace.json('uninstall', 'agent:first:dev', '--yes');
    await workspace.json('upgrade', '--yes');
    expect(readdirSync(agents).sort()).toEqual(['Dev.md', 'b:ops.md', 'first:mine.md', 'mine.md', 'ops.md']);
  });

  spec('INS-86', 'expands tokens in Markdown of plugins that refer to its items, and no others', async () => {
    const workspace = createInstallWorkspace();
    const body = 'Ask {{ns:scribe}}, not {{ns:p}}; see {{self}}/notes.md, {{ path:skill:other }}, {{path:p}}.';
    const others = '{{ns:nobody}} {{tools:none}} {{path:plugin:p}} {{name}} {{{self}}}';
    await workspace.json(
      'add',
      workspace.source('p', {
        '.claude-plugin/plugin.json': '{"name":"p"}',
        'agents/scribe.md': '---\nname: scribe\ndescription: Writes.\n---\nFrom {{self}}.\n',
        'skills/p/SKILL.md': skill('p', `${body}\n${others}\n`),
        'skills/p/page.html': '{{self}}',
        'skills/other/SKILL.md': skill('other'),
        'skills/foreign/SKILL.md': skill('foreign').replace('\n---', '\nrequires: [python3, skill:other]\n---'),
      }),
    );
    // What a skill refers to is installed with it.
    const { items } = await workspace.json('install', '--yes', 'skill:p:p');
    expect(names(items)).toEqual(['agent p:scribe', 'skill p:other', 'skill p:p']);
    const store = '~/.wield/store/skill';
    expect(workspace.stored('skill/p:p/SKILL.md').split('\n').slice(-3, -1)).toEqual([
      `Ask scribe, not p:p; see ${store}/p:p/notes.md, ${store}/p:other, ${store}/p:p.`,
      others,
    ]);
    expect(workspace.stored('skill/p:p/page.html')).toBe('{{self}}');
    expect(workspace.stored('agent/p:scribe/scribe.md')).toContain('From ~/.wield/store/agent/p:scribe.');
    // Programs and packages are not items.
    expect(names((await workspace.json('install', '--yes', 'skill:p:foreign')).items)).toContain('skill p:foreign');
  });

  spec('INS-62 INS-63', 'starts a server of a plugin only after a person accepted it as it is', async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', ALPHA);
    await workspace.json('add', url, '--yes');
    const [server] = (await workspace.json('mcp', 'list')).servers;
    expect(server).toMatchObject({ name: 'alpha:db', owner: 'package', state: 'untrusted' });
    expect(await workspace.fail('call', 'alpha_db_where')).toMatchObject({
      code: 'needs_trust',
      message: expect.stringContaining('have not accepted'),
    });
    expect(await workspace.fail('mcp', 'refresh', 'alpha:db')).toMatchObject({ code: 'needs_trust' });
    expect((await workspace.run('mcp', 'accept', 'alpha:db')).status).toBe(5);
    const shown = await workspace.run('mcp', 'accept', 'alpha:db', '--yes');
    expect(shown.stdout).toMatch(/command {2}node .*store\/plugin\/alpha\/server\.mjs --fast\n/);
    expect(shown.stdout).toMatch(/env {6}CONFIG=.*plugin\/alpha\/c\.json\n/);
    const answer = JSON.parse((await workspace.run('call', 'alpha_db_where')).stdout);
    const root = join(workspace.wieldHome, 'store/plugin/alpha');
    expect(answer).toMatchObject({ CLAUDE_PLUGIN_ROOT: root, CONFIG: `${root}/c.json`, argv: ['--fast'] });
    // Other bytes are another server.
    writeFiles(url.slice('file://'.length), { 'server.mjs': `${SERVER}// changed\n` });
    workspace.git('repo', 'commit', '--quiet', '--all', '--message', 'Change');
    await workspace.json('upgrade', '--yes');
    expect((await workspace.json('mcp', 'list')).servers[0].state).toBe('untrusted');
    expect(await workspace.fail('call', 'alpha_db_where')).toMatchObject({ code: 'needs_trust' });
  });

  spec('INS-64', 'takes away what an upgrade does not have any more, and everything on uninstall', async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', ALPHA);
    const before = workspace.snapshot();
    await workspace.json('add', url, '--yes');
    workspace.git('repo', 'rm', '--quiet', '-r', '.mcp.json', 'skills/two');
    workspace.git('repo', 'commit', '--quiet', '--message', 'Remove');
    const { removed } = await workspace.json('upgrade', '--yes');
    expect(names(removed)).toEqual(['server alpha:db', 'skill alpha:two']);
    expect((await workspace.json('mcp', 'list')).servers).toEqual([]);
    expect(existsSync(join(workspace.wieldHome, 'servers.json'))).toBe(false);
    // The directory goes with the last item that needs it.
    expect(names((await workspace.json('uninstall', '--yes', 'alpha:one')).removed)).toEqual([
      'plugin alpha',
      'skill alpha:one',
    ]);
    await workspace.json('install', '--yes', 'alpha');
    expect(names((await workspace.json('list', '--installed')).items)).toEqual([
      'agent alpha:reviewer',
      'plugin alpha',
      'skill alpha:one',
    ]);
    expect(names((await workspace.json('uninstall', 'alpha', '--yes')).removed)).toHaveLength(3);
    await workspace.json('remove-source', 'repo', '--yes');
    const after = workspace.snapshot();
    delete after['.wield/installed.json'];
    expect(after).toEqual(before);
  });

  spec('INS-4 INS-63', 'reads Agent Plugins 1.0: fixed places, closed fields, variables', async () => {
    const workspace = createInstallWorkspace();
    const { source } = await workspace.json('add', workspace.source('acme', AGENT_PLUGIN), '--yes');
    expect(names(source.items)).toEqual([
      'server acme.tools:local',
      'server acme.tools:remote',
      'skill acme.tools:greet',
    ]);
    expect(source.warnings.map(({ message }: { message: string }) => message)).toEqual([
      expect.stringContaining('"odd"'),
    ]);
    const skipped = source.skipped.flatMap(({ paths, reason }: { paths: string[]; reason: string }) =>
      paths.map((path) => `${path}: ${reason}`),
    );
    expect(skipped.sort()).toEqual([
      'acme.tools:escape: its command is outside the plugin',
      'acme.tools:old: type must be "stdio" or "streamable-http", got a string',
      'acme.tools:plain: url must be an https:// URL, got a string',
      'acme.tools:reserved: env.PLUGIN_ROOT is reserved',
      'skills/deep/inner/SKILL.md: not one of the skills of a plugin',
    ]);
    const remote = JSON.parse(workspace.stored('server/acme.tools:remote/server.json'));
    expect(remote.headers).toEqual({ 'X-Tenant': '$${HOME}' });
    await workspace.run('mcp', 'accept', 'acme.tools:local', '--yes');
    const answer = JSON.parse((await workspace.run('call', 'acme_tools_local_where')).stdout);
    const [root, data] = [
      join(workspace.wieldHome, 'store/plugin/acme.tools'),
      join(workspace.wieldHome, 'plugin-data/acme.tools'),
    ];
    expect(answer).toMatchObject({ PLUGIN_ROOT: root, PLUGIN_DATA: data, argv: [`${data}/x`, '${HOME}'] });
    expect(existsSync(join(answer.cwd, 'plugin.json'))).toBe(true);
    expect(existsSync(data)).toBe(true);
  });

  spec('INS-87', 'reads listed skills by directory, by file and by the directory that contains them', async () => {
    const workspace = createInstallWorkspace();
    const listed = ['./guides/one/SKILL.md', './guides/two', './packs', './docs', './docs/text.md'];
    const files = {
      '.claude-plugin/plugin.json': JSON.stringify({ name: 'listed', skills: listed }),
      'guides/one/SKILL.md': skill('one'),
      'guides/one/references/more.md': 'more\n',
      'guides/two/SKILL.md': skill('two'),
      'packs/three/SKILL.md': skill('three'),
      'docs/text.md': 'text\n',
    };
    const { source } = await workspace.json('add', workspace.source('listed', files), '--yes');
    expect(names(source.items)).toEqual(['skill listed:one', 'skill listed:three', 'skill listed:two']);
    expect(workspace.stored('skill/listed:one/references/more.md')).toBe('more\n');
    expect(source.skipped).toEqual([
      { what: 'skill', reason: 'contains no skills', paths: ['listed:./docs', 'listed:./docs/text.md'] },
    ]);
    const single = { '.claude-plugin/plugin.json': '{"name":"single","skills":"./SKILL.md"}', 'SKILL.md': skill('it') };
    const added = await workspace.json('add', workspace.source('single', single), '--yes');
    expect(names(added.source.items)).toEqual(['skill single:single']);
  });

  spec('INS-90', 'offers the skills of a source whose marketplace or manifest lists nothing that exists', async () => {
    const workspace = createInstallWorkspace();
    const skills = { 'web/one/SKILL.md': skill('one'), 'web/one/notes.md': 'x', 'agents/two/SKILL.md': skill('two') };
    const marketplaces = ['{"name":"m"}', '{"name":"m","plugins":[]}', '{"name":"m","plugins":{}}'];
    for (const [at, marketplace] of marketplaces.entries()) {
      const files = { ...skills, '.claude-plugin/marketplace.json': marketplace };
      const { source } = await workspace.json('add', workspace.source(`plain${at}`, files), '--register-only');
      expect(names(source.items)).toEqual(['skill one', 'skill two']);
      expect(source.skipped).toEqual([
        { what: 'marketplace', reason: 'lists no plugins', paths: ['.claude-plugin/marketplace.json'] },
      ]);
    }
    for (const [at, listed] of ['"skills/"', '["./skills/a","./skills/b"]', '"./docs"'].entries()) {
      const files = {
        ...skills,
        'docs/text.md': 'text',
        '.claude-plugin/marketplace.json': '{"name":"m"}',
        '.claude-plugin/plugin.json': `{"name":"kit","skills":${listed},"agents":"agents/"}`,
      };
      const { source } = await workspace.json('add', workspace.source(`kit${at}`, files), '--register-only');
      expect(names(source.items)).toEqual(['skill kit:one', 'skill kit:two']);
      const reasons = source.skipped.map(({ what, reason }: Record<string, string>) => `${what}: ${reason}`);
      expect(reasons).toContain('marketplace: lists no plugins');
      expect(reasons.join()).toMatch(/skill: (?:the file does not exist|contains no skills)/);
    }
  });

  spec('INS-88', 'counts files of instructions among agents and commands', async () => {
    const workspace = createInstallWorkspace();
    const files = {
      '.claude-plugin/plugin.json': '{"name":"docs"}',
      'agents/AGENTS.md': 'Instructions.\n',
      'agents/helper.md': '---\nname: helper\ndescription: Helps.\n---\nHelp.\n',
      'commands/claude.md': 'Instructions.\n',
      'commands/README.md': 'About the commands.\n',
    };
    const added = await workspace.json('add', workspace.source('docs', files), '--yes');
    expect(names(added.installed)).toEqual(['agent docs:helper']);
    expect(added.source.skipped).toEqual([
      { what: 'agent', reason: 'its name is reserved', paths: ['docs:agents/AGENTS.md'] },
      { what: 'command', reason: 'its name is reserved', paths: ['docs:commands/claude.md'] },
    ]);
  });

  spec('INS-76', 'offers what is right in a plugin, and counts the rest with its reason', async () => {
    const workspace = createInstallWorkspace();
    const manifest = {
      name: 'half',
      skills: [7, './own/../more'],
      agents: './own',
      commands: ['./gone.md'],
      mcpServers: [1],
    };
    const { source } = await workspace.json(
      'add',
      workspace.source('half', {
        '.claude-plugin/plugin.json': `\ufeff${JSON.stringify(manifest)}`,
        'skills/a/SKILL.md': skill('a'),
        'more/b/SKILL.md': skill('b'),
        'own/c.md': '---\nname: c\ndescription: C\n---\n',
        'agents/d.md': '---\nname: d\ndescription: D\n---\n',
        'commands/e.md': 'E',
      }),
    );
    expect(names(source.items)).toEqual(['agent half:c', 'skill half:a', 'skill half:b']);
    expect(source.skipped).toEqual([
      { what: 'skill', reason: 'is not a path', paths: ['half:7'] },
      { what: 'agent', reason: 'its manifest lists others', paths: ['half:agents/d.md'] },
      { what: 'command', reason: 'the file does not exist', paths: ['half:./gone.md'] },
      { what: 'command', reason: 'its manifest lists others', paths: ['half:commands/e.md'] },
      { what: 'server', reason: 'is neither a table nor a path', paths: ['half:1'] },
    ]);
    const loose = workspace.source('loose', {
      'plugin.json': '{"name":"loose"}',
      'skills/a/SKILL.md': skill('a'),
      'mcp.json': '{"mcpServers":{"web":{"url":"https://web.example/mcp"}}}',
    });
    expect(names((await workspace.json('add', loose)).source.items)).toEqual(['server loose:web', 'skill loose:a']);
  });

  spec('INS-4', 'rejects a plugin.json that Agent Plugins 1.0 does not allow', async () => {
    const workspace = createInstallWorkspace();
    const cases: [string, Record<string, unknown>, RegExp][] = [
      [
        'version',
        { $schema: 'https://agent-plugins.org/schemas/2.0.0/plugin.schema.json', name: 'a' },
        /unsupported version/,
      ],
      ['name', { $schema: `${SCHEMAS}/plugin.schema.json` }, /name is missing/],
      [
        'upper',
        { $schema: `${SCHEMAS}/plugin.schema.json`, name: 'Has-Upper' },
        /name must be a name as Agent Plugins allows it/,
      ],
      [
        'dots',
        { $schema: `${SCHEMAS}/plugin.schema.json`, name: 'a..b' },
        /name must be a name as Agent Plugins allows it/,
      ],
      [
        'author',
        { $schema: `${SCHEMAS}/plugin.schema.json`, name: 'a', author: { age: 1 } },
        /unknown key "author.age"/,
      ],
    ];
    for (const [name, manifest, message] of cases) {
      const directory = workspace.source(name, { ...AGENT_PLUGIN, 'plugin.json': JSON.stringify(manifest) });
      expect(await workspace.fail('add', directory, '--yes')).toMatchObject({
        code: 'invalid_definition',
        message: expect.stringMatching(message),
      });
    }
    expect((await workspace.json('list', '--available')).items).toEqual([]);
    // A manifest of another program.
    const other = workspace.source('other', {
      'plugin.json': '{"type":"panel","id":"x"}',
      'skills/a/SKILL.md': skill('a'),
    });
    expect(names((await workspace.json('add', other)).source.items)).toEqual(['skill a']);
  });
});

describe('marketplaces', () => {
  const MARKET = {
    '.claude-plugin/marketplace.json': JSON.stringify({
      name: 'market',
      metadata: { pluginRoot: './plugins' },
      plugins: [
        { name: 'alpha', source: 'alpha' },
        {
          name: 'docs',
          source: './',
          strict: false,
          skills: ['./shared/pdf', './shared/docx'],
          mcpServers: { web: { url: 'https://x.example/mcp' } },
        },
        {
          name: 'remote',
          source: { source: 'git-subdir', url: 'https://git.test/remote', path: 'packages/it', ref: 'main' },
        },
        {
          name: 'plain',
          source: { source: 'url', url: 'https://git.test/remote', ref: 'main' },
          strict: false,
          skills: './extra',
        },
        { name: 'npm', source: { source: 'npm', package: 'x' } },
        { name: 'docs', source: './plugins/alpha' },
        { name: 'out', source: '../../elsewhere' },
        { name: 'gone', source: './plugins/gone' },
        { name: 'local', source: { source: 'url', url: 'file:///etc' } },
        { name: 'bad\u0007name', source: './plugins/alpha' },
      ],
    }),
    ...below('plugins/alpha', ALPHA),
    'shared/pdf/SKILL.md': skill('pdf'),
    'shared/docx/SKILL.md': skill('docx'),
    'shared/other/SKILL.md': skill('other'),
  };
  const REMOTE = {
    ...below('packages/it', { '.claude-plugin/plugin.json': '{"name":"it"}', 'skills/far/SKILL.md': skill('far') }),
    'extra/near/SKILL.md': skill('near'),
    'skills/unlisted/SKILL.md': skill('unlisted'),
  };

  spec('INS-60 INS-65', 'reads plugins in directories and in other repositories', async () => {
    const workspace = createInstallWorkspace();
    const env = serveGit(workspace, workspace.repository('remote', REMOTE));
    const market = workspace.source('market', MARKET);
    const added = json(await workspace.runWith({ env }, 'add', market, '--yes', '--json'));
    expect(names(added.installed)).toEqual([
      'agent alpha:reviewer',
      'plugin alpha',
      'server alpha:db',
      'server docs:web',
      'skill alpha:one',
      'skill alpha:two',
      'skill docs:docx',
      'skill docs:pdf',
      'skill plain:near',
      'skill remote:far',
    ]);
    const skipped = added.source.skipped.filter(({ what }: { what: string }) => what === 'plugin' || what === 'skill');
    expect(skipped).toEqual([
      { what: 'plugin', reason: 'its source "npm" is not supported', paths: ['npm'] },
      { what: 'plugin', reason: 'another plugin has the same name', paths: ['docs'] },
      { what: 'plugin', reason: 'its path is outside the source', paths: ['out'] },
      { what: 'plugin', reason: 'its name contains characters that are not allowed', paths: ['bad\u0007name'] },
      { what: 'plugin', reason: 'its directory does not exist', paths: ['gone'] },
      { what: 'skill', reason: 'not one of the skills of a plugin', paths: ['shared/other/SKILL.md'] },
    ]);
    expect(added.skipped).toEqual([
      { source: 'file:///etc', reason: 'fetch_failure', message: expect.stringContaining('local nested source') },
    ]);
    const printed = await workspace.runWith({ env }, 'add', market);
    expect(printed.stdout + printed.stderr).not.toContain('\u0007');
    expect(printed.stdout).toContain(
      'plugins  alpha (2 skills, 1 agent, 1 server, 1 command), docs (2 skills, 1 server)',
    );
    await workspace.json('remove-source', 'market', '--yes');
    expect((await workspace.json('list', '--installed')).items).toEqual([]);
    expect((await workspace.json('list', '--available')).items).toEqual([]);
  });

  spec('INS-60', 'takes its own repository for its own directory', async () => {
    const workspace = createInstallWorkspace();
    const plugins = [
      { name: 'alpha', source: { source: 'url', url: 'https://git.test/self.git' } },
      { name: 'other', source: { source: 'url', url: 'https://git.test/self', ref: 'main' } },
    ];
    const files = { ...ALPHA, '.claude-plugin/marketplace.json': JSON.stringify({ name: 'm', plugins }) };
    const env = serveGit(workspace, workspace.repository('self', files));
    const added = json(await workspace.runWith({ env }, 'add', 'https://git.test/self', '--yes', '--json'));
    expect(names(added.installed)).toContain('skill alpha:one');
    expect(added.skipped).toEqual([
      { source: 'other', reason: 'other_commit', message: 'its repository is used at another commit' },
    ]);
  });

  spec.thorough('INS-60', 'follows the commit that a marketplace lists', async () => {
    const workspace = createInstallWorkspace();
    const env = serveGit(workspace, workspace.repository('remote', REMOTE));
    const list = (sha: string) => ({
      '.agents/plugins/marketplace.json': JSON.stringify({
        plugins: [{ name: 'far', source: { source: 'url', url: 'https://git.test/remote', path: 'packages/it', sha } }],
      }),
    });
    const commit = (): string => workspace.git('remote', 'rev-parse', 'HEAD').trim();
    const first = commit();
    const market = workspace.source('market', list(first));
    await workspace.runWith({ env }, 'add', market, '--yes');
    writeFiles(join(market, '../remote'), { 'packages/it/skills/far/SKILL.md': skill('far', 'New.\n') });
    workspace.git('remote', 'commit', '--quiet', '--all', '--message', 'Change');
    expect(json(await workspace.runWith({ env }, 'upgrade', '--yes', '--json')).items).toEqual([]);
    writeFiles(market, list(commit()));
    const { items } = json(await workspace.runWith({ env }, 'upgrade', '--yes', '--json'));
    expect(items.map(({ effective, commit: at }: { effective: string; commit: string }) => [effective, at])).toEqual([
      ['far:far', commit()],
    ]);
    expect(workspace.stored('skill/far:far/SKILL.md')).toContain('New.');
  });

  spec('INS-60', 'fetches from a large marketplace only the plugins that are named', async () => {
    const workspace = createInstallWorkspace();
    const env = serveGit(workspace, workspace.repository('remote', REMOTE));
    const others = Array.from({ length: 30 }, (_, at) => ({
      name: `p${at}`,
      source: { source: 'github', repo: `nobody/p${at}` },
    }));
    const market = workspace.source('market', {
      '.claude-plugin/marketplace.json': JSON.stringify({
        plugins: [
          ...others,
          { name: 'far', source: { source: 'git-subdir', url: 'https://git.test/remote', path: 'packages/it' } },
        ],
      }),
    });
    const all = await workspace.runWith({ env }, 'add', market, '--yes');
    expect([all.status, all.stderr]).toEqual([
      0,
      expect.stringMatching(
        /31 plugins in other repositories were not fetched \(p0, p1, p2, …\); fetch one: wield add .* --plugin NAME/,
      ),
    ]);
    const one = json(await workspace.runWith({ env }, 'add', market, '--plugin', 'far', '--yes', '--json'));
    expect(names(one.installed)).toEqual(['skill far:far']);
    expect(await workspace.fail('add', market, '--plugin', 'fat')).toMatchObject({
      code: 'not_found',
      hint: 'did you mean far?',
    });
  });

  spec('INS-60', 'lets a person choose another prefix, or directories instead of plugins', async () => {
    const workspace = createInstallWorkspace();
    const alpha = workspace.source('alpha', ALPHA);
    expect(names((await workspace.json('add', alpha, '--namespace', 'mine')).source.items)).toContain('skill mine:one');
    expect(names((await workspace.json('add', alpha, '--root', '.', '--namespace', '')).source.items)).toEqual([
      'agent reviewer',
      'skill one',
      'skill two',
    ]);
    const { '.claude-plugin/marketplace.json': list, ...rest } = MARKET;
    const market = workspace.source('two', {
      ...rest,
      '.claude-plugin/marketplace.json': list.replace(/,\{"name":"remote".*\]/, ']'),
    });
    expect(names((await workspace.json('add', market, '--namespace', 'x')).source.items)).toEqual(
      expect.arrayContaining(['skill x-alpha:one', 'skill x-docs:pdf']),
    );
    // Directories with a manifest need no marketplace.
    rmSync(join(market, '.claude-plugin'), { recursive: true });
    const bare = names((await workspace.json('add', market, '--namespace', '')).source.items);
    expect(bare).toEqual(expect.arrayContaining(['skill one', 'skill pdf', 'skill other']));
  });
});
