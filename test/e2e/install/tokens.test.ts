// Path tokens: expansion, text that is left alone, and bad references.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { findTokens, replaceTokens } from '../../../src/install/tokens/targets.js';
import { createInstallWorkspace, DETECT, type Files, type InstallWorkspace, WORKED } from '../../support/install.js';
import { patience } from '../../support/patience.js';
import { spec } from '../../support/spec.js';

const SKILL = '---\nname: probe\ndescription: Probe.\n---\n\n';

// Installs a skill `probe` with this text next to other files, and returns the installed text.
async function expand(workspace: InstallWorkspace, text: string, files: Files = DETECT): Promise<string> {
  const source = workspace.source('tokens', { ...files, 'skills/probe/SKILL.md': SKILL + text });
  await workspace.json('add', source);
  await workspace.json('install', '--yes', 'skill:probe');
  return workspace.stored('skill/probe/SKILL.md').slice(SKILL.length);
}

spec('TOK-1 TOK-6 TOK-10 INS-28', 'expands the example of the specification, with ~', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('add', workspace.source('tooling', WORKED));
  const { items } = await workspace.json('install', '--yes', 'scan');
  expect(items.map(({ effective }: { effective: string }) => effective)).toEqual(['detect', 'scan']);
  expect(workspace.stored('skill/scan/SKILL.md').split('\n').slice(5, 8)).toEqual([
    '1. Run the shared tool: `~/.wield/store/tool/detect/detect.sh .`',
    '2. Source its library: `. ~/.wield/store/tool/detect/lib.sh`',
    '3. Record the result: `~/.wield/store/skill/scan/resources/notes.md`',
  ]);
  expect(existsSync(join(workspace.home, '.wield/store/tool/detect/detect.sh'))).toBe(true);
  expect(readFileSync(join(workspace.home, '.claude/skills/scan/resources/notes.md'), 'utf8')).toBe('# Notes\n');
  workspace.write('package.json', '{}');
  expect((await workspace.run('call', 'detect', '--path', '.')).stdout).toBe('node\n');
});

spec('TOK-8', 'expands tokens to prefixed names', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('meld', workspace.source('tooling', WORKED), '--namespace', 'jk');
  await workspace.json('learn', '--yes', 'jk:scan');
  expect(workspace.stored('skill/jk:scan/SKILL.md').split('\n').slice(5, 8)).toEqual([
    '1. Run the shared tool: `~/.wield/store/tool/jk:detect/detect.sh .`',
    '2. Source its library: `. ~/.wield/store/tool/jk:detect/lib.sh`',
    '3. Record the result: `~/.wield/store/skill/jk:scan/resources/notes.md`',
  ]);
  workspace.write('package.json', '{}');
  expect((await workspace.run('call', 'jk:detect', '--path', '.')).stdout).toBe('node\n');
});

// Each command prints the arguments of `show`, of which one is the path of a file of the store.
const QUOTED = [
  'sh @/show a',
  '@/show a',
  '"@/show" a',
  "'@/show' a",
  '"@"/show a',
  '@"/show" a',
  "$'@/show' a",
  'X=@/show; "$X" a',
  'X="@"; $X/show a',
  'X=\'@/show\' && sh "$X" a',
  'sh -c "@/show a"',
  "sh -c 'cd / && @/show a'",
  'sh -c "\\"@/show\\" a"',
  '(@/show a)',
  'true;@/show a',
  'true &&@/show a',
  'echo "$(@/show a)"',
  "echo it\\'s >/dev/null; sh '@/show' a",
  'printf "%s\\n" "say: @" | sed "s/say: //" | while read X; do sh "$X/show" a; done',
  'env "X=@/show" sh -c \'sh "$X" a\'',
  'sh <<EOF\n@/show a\nEOF',
  "cat <<-'END' | sh\n\ttrue\n\tsh '@/show' a\n\tEND",
  'sh -c "\ntrue\n@/show a\n"',
  "# don't quote this\n@/show a # isn't it\nsh '@/show' b >/dev/null",
  'PATH=/nowhere:@:$PATH; show a',
  'X="$(cat "@/show")"; sh -c "$X" show a',
];

spec('TOK-6 INS-63', 'installs commands that run however they are quoted', async () => {
  const workspace = createInstallWorkspace();
  const fences = (root: string): string =>
    QUOTED.map((command) => `\`\`\`sh\n${command.replaceAll('@', () => root)}\n\`\`\`\n`).join('\n');
  const spans = (root: string): string =>
    QUOTED.filter((command) => !command.includes('\n'))
      .map((command) => `- Don't forget the tool's own: \`${command.replaceAll('@', () => root)}\`\n`)
      .join('');
  const show = '#!/bin/sh\necho "$1"\n';
  const markdown = (root: string): string => `${SKILL}${spans(root)}\n${fences(root)}`;
  await workspace.json(
    'add',
    workspace.source('own', {
      'skills/probe/SKILL.md': markdown('{{path:tool:show}}'),
      'tools/show/show!': show,
    }),
  );
  await workspace.json('install', '--yes', 'skill:probe');
  const plugin = {
    '.claude-plugin/plugin.json': JSON.stringify({ name: 'alpha' }),
    'skills/probe/SKILL.md': markdown('${CLAUDE_PLUGIN_ROOT}'),
    'show!': show,
  };
  await workspace.json('add', workspace.source('alpha', plugin), '--yes');
  for (const item of ['skill/probe', 'skill/alpha:probe']) {
    const text = workspace.stored(`${item}/SKILL.md`).slice(SKILL.length);
    expect(text).toContain('`~/.wield/store/');
    const commands = [...text.matchAll(/^- [^\n]*?: `([^\n]*)`$|^```sh\n(.*?)\n```$/gms)].map(
      ([, span, block]) => span ?? block!,
    );
    expect(commands.length).toBeGreaterThan(QUOTED.length * 1.5);
    const numbered = commands.map((command, at) => `echo ${at} "$(\n${command}\n)"`).join('\n');
    const { stdout } = spawnSync('bash', ['-c', numbered], {
      encoding: 'utf8',
      env: { HOME: workspace.home, PATH: process.env.PATH },
    });
    const failed = commands.filter((_, at) => !stdout.split('\n').includes(`${at} a`));
    expect(failed).toEqual([]);
  }
});

spec('TOK-6', 'writes absolute paths outside home and in files other than Markdown', async () => {
  const workspace = createInstallWorkspace();
  const elsewhere = join(workspace.dir, '..', 'elsewhere');
  workspace.env.WIELD_HOME = elsewhere;
  const source = workspace.source('tooling', {
    ...WORKED,
    'skills/scan/run.sh!': '#!/bin/sh\nexec {{tools:detect}}\n',
  });
  await workspace.json('add', source);
  await workspace.json('install', '--yes', 'scan');
  const store = join(workspace.dir, '..', 'elsewhere/store');
  const text = readFileSync(join(store, 'skill/scan/SKILL.md'), 'utf8');
  expect(text).toContain(`\`${store}/tool/detect/detect.sh .\``);
  expect(text).not.toContain('~');

  const other = createInstallWorkspace();
  await other.json(
    'add',
    other.source('tooling', { ...WORKED, 'skills/scan/run.sh!': '#!/bin/sh\nexec {{tools:detect}}\n' }),
  );
  await other.json('install', '--yes', 'scan');
  expect(other.stored('skill/scan/run.sh')).toBe(`#!/bin/sh\nexec ${other.wieldHome}/store/tool/detect/detect.sh\n`);
});

spec('TOK-1 TOK-3 TOK-10 INS-20', 'finds entrypoints, trims white space, and leaves other braces alone', async () => {
  const files: Files = {
    'wield.toml':
      '[[items]]\nkind = "tool"\nname = "declared"\npath = "x/declared"\nbin = "go.sh"\n[[items]]\nkind = "tool"\nname = "told"\npath = "x/told"\n[[items]]\nkind = "tool"\nname = "same"\npath = "x/same"\n[[items]]\nkind = "skill"\nname = "probe"\npath = "skills/probe"\n',
    'x/declared/TOOL.md': '---\nbin: other.sh\n---\n',
    'x/declared/go.sh!': '#!/bin/sh\n',
    'x/told/TOOL.md': '---\nbin: bin/run.sh\n---\n',
    'x/told/bin/run.sh!': '#!/bin/sh\n',
    'x/same/same!': '#!/bin/sh\n',
  };
  const text = [
    '{{tools:declared}} {{tools:told}} {{tools:same}} {{path:tool:told}}/x {{path:told}} {{ns:told}}',
    '{{ tools:same }} {{path: told }} {{\tself\t}}',
    '{{tool:told}} {{ unheard of }} {{#each x}} {{{self}}} {{Self}} {{}} {{self',
    `{{ \nself }} \${{ github.actor }} {{tools:same`,
  ].join('\n');
  const workspace = createInstallWorkspace();
  const store = '~/.wield/store';
  expect(await expand(workspace, text, files)).toBe(
    [
      `${store}/tool/declared/go.sh ${store}/tool/told/bin/run.sh ${store}/tool/same/same ${store}/tool/told/x ${store}/tool/told told`,
      `${store}/tool/same/same ${store}/tool/told ${store}/skill/probe`,
      '{{tool:told}} {{ unheard of }} {{#each x}} {{{self}}} {{Self}} {{}} {{self',
      `{{ \nself }} \${{ github.actor }} {{tools:same`,
    ].join('\n'),
  );
});

spec('TOK-2', 'expands every text file of every kind, and copies other files byte for byte', async () => {
  const bytes = Buffer.concat([Buffer.from('{{self}} '), Buffer.from([0xff, 0xfe, 0x00, 0x7b])]);
  const workspace = createInstallWorkspace();
  const source = workspace.source('kinds', {
    ...DETECT,
    'tools/detect/conf.json': '{"at":"{{self}}"}',
    'agents/helper.md': '---\ndescription: Helps.\n---\nRun {{tools:detect}}.\n',
    'rules/style.md': 'See {{path:agent:helper}}.\n',
    'skills/probe/SKILL.md': SKILL,
    'skills/probe/data.bin': bytes,
    'skills/probe/deep/er/script.py': 'HERE = "{{self}}"\n',
  });
  await workspace.json('add', source, '--yes');
  const store = `${workspace.wieldHome}/store`;
  expect(workspace.stored('tool/detect/conf.json')).toBe(`{"at":"${store}/tool/detect"}`);
  expect(workspace.stored('agent/helper/helper.md')).toContain('Run ~/.wield/store/tool/detect/detect.sh.');
  expect(workspace.stored('rule/style/style.md')).toBe('See ~/.wield/store/agent/helper.\n');
  expect(workspace.stored('skill/probe/deep/er/script.py')).toBe(`HERE = "${store}/skill/probe"\n`);
  expect(readFileSync(join(workspace.wieldHome, 'store/skill/probe/data.bin')).equals(bytes)).toBe(true);
});

spec('TOK-2', 'expands only Markdown with expand = "markdown"', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('narrow', {
    'wield.toml': '[source]\nexpand = "markdown"\n',
    'skills/probe/SKILL.md': `${SKILL}{{self}}\n`,
    'skills/probe/x.sh': '{{self}} {{tools:nothing}}\n',
  });
  await workspace.json('add', source, '--yes');
  expect(workspace.stored('skill/probe/SKILL.md')).toContain('~/.wield/store/skill/probe');
  expect(workspace.stored('skill/probe/x.sh')).toBe('{{self}} {{tools:nothing}}\n');
});

spec(
  'TOK-4 TOK-5',
  'rejects bad references with item, file, line, token and cause before any change',
  async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('other', { 'tools/foreign/foreign!': '#!/bin/sh\n' }), '--yes');
    const cases: readonly (readonly [token: string, cause: string])[] = [
      ['{{tools:nothing}}', 'no such item'],
      ['{{path:skill:detect}}', 'no such item'],
      ['{{tools:bare}}', 'tool without entrypoint'],
      ['{{path:twin}}', 'ambiguous kind'],
      ['{{tools:foreign}}', "another source's item"],
      ['{{path:foreign}}', "another source's item"],
      ['{{ns:nothing}}', 'no such item'],
      ['{{path:}}', 'not a valid reference'],
      ['{{path:widget:detect}}', 'not a valid reference'],
      ['{{tools:../../etc}}', 'not a valid reference'],
      ['{{path:tool:detect:more}}', 'not a valid reference'],
    ];
    const files: Files = {
      ...DETECT,
      'tools/bare/notes.txt': 'no entrypoint',
      'tools/twin/twin!': '#!/bin/sh\n',
      'skills/twin/SKILL.md': SKILL,
      'skills/fine/SKILL.md': `${SKILL}{{path:tool:twin}} {{path:tool:bare}}`,
    };
    const source = workspace.source('here', { ...files, 'skills/probe/SKILL.md': SKILL });
    await workspace.json('add', source, '--register-only');
    const before = workspace.snapshot();
    for (const [token, cause] of cases) {
      workspace.source('here', { 'skills/probe/docs/how.md': `one\ntwo\nthree ${token} four\n` });
      const error = await workspace.fail('install', '--yes', 'probe');
      expect([token, error.code, error.data]).toEqual([
        token,
        'bad_reference',
        { kind: 'skill', item: 'probe', file: 'docs/how.md', line: 3, token, cause },
      ]);
      expect(error.message).toContain(`skill probe: docs/how.md:3: ${token}: ${cause}`);
      expect(error.hint).toMatch(/\w/);
      expect(workspace.snapshot()).toEqual(before);
    }
    await workspace.json('install', '--yes', 'fine');
    expect(workspace.stored('skill/fine/SKILL.md')).toContain('~/.wield/store/tool/twin ~/.wield/store/tool/bare');
  },
  60_000,
);

spec('TOK-7', 'hashes the token form as source, and the expanded form as installed', async () => {
  const [plain, prefixed] = [createInstallWorkspace(), createInstallWorkspace()];
  const install = async (workspace: InstallWorkspace, ...flags: string[]) => {
    await workspace.json('add', workspace.source('tooling', WORKED), ...flags);
    const { items } = await workspace.json('install', '--yes', 'skill:scan');
    return items.find(({ kind }: { kind: string }) => kind === 'skill');
  };
  const [one, other] = [await install(plain), await install(prefixed, '--namespace', 'jk')];
  expect(one.hash).toBe(other.hash);
  expect(one.installedHash).not.toBe(other.installedHash);
  expect(one.installedHash).not.toBe(one.hash);
});

spec('TOK-3 TOK-9', 'leaves all other text unchanged, in linear time', () => {
  const piece = fc.constantFrom(
    '{{',
    '}}',
    '{',
    '}',
    'self',
    'tools:',
    'path:',
    'x',
    ' ',
    '\n',
    '{{self}}',
    '{{tools:x}}',
  );
  fc.assert(
    fc.property(
      fc.array(piece).map((pieces) => pieces.join('')),
      (text) => {
        const tokens = findTokens(text);
        expect(replaceTokens(text, tokens, (token) => token.text)).toBe(text);
        for (const token of tokens) expect(text.slice(token.start, token.end)).toBe(token.text);
      },
    ),
  );
  for (const unit of ['{{', '{{ ', '{{self', '}}{{', '{{{{self}}']) {
    const began = process.hrtime.bigint();
    findTokens(unit.repeat(500_000));
    expect(Number(process.hrtime.bigint() - began) / 1e6).toBeLessThan(patience(60_000));
  }
});
