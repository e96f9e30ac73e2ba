// Attacks through size and nesting: repositories that unpack to more than they are, and sources that name others.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { json } from '../support/cli.js';
import { SAMPLED, sample, some } from '../support/effort.js';
import { createInstallWorkspace, DETECT, type InstallWorkspace, wrapGit } from '../support/install.js';
import { patience } from '../support/patience.js';
import { finding, spec } from '../support/spec.js';

/** Runs git in a repository with input, and returns its output. */
function pipeGit(workspace: InstallWorkspace, name: string, input: string | Buffer, ...args: string[]): string {
  const cwd = join(dirname(workspace.dir), 'sources', name);
  return execFileSync('git', args, { cwd, input, encoding: 'utf8', maxBuffer: 1e9 }).trim();
}

/** Commits a tree of `width` equal trees in each of `levels` levels, with this entry at the bottom. */
function commitBomb(workspace: InstallWorkspace, name: string, leaf: string, width: number, levels: number): void {
  const trees: string[] = [];
  let entry = leaf;
  const addTree = (entries: readonly string[]): void => {
    trees.push(entries.map((line) => `${line}\n`).join(''));
    entry = `040000 tree ${hashTree(entries)}`;
  };
  for (let level = 0; level < levels; level++) addTree(Array.from({ length: width }, (_, at) => `${entry}\td${at}`));
  addTree([`${entry}\ttools`]);
  const made = pipeGit(workspace, name, trees.join('\n'), 'mktree', '--batch', '--missing');
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
  const commit = pipeGit(workspace, name, '', ...author, 'commit-tree', made.split('\n').at(-1)!, '-m', 'Bomb');
  workspace.git(name, 'update-ref', 'refs/heads/main', commit);
}

/** Returns the hash that git gives a tree, from lines such as it lists. */
function hashTree(entries: readonly string[]): string {
  const parts = entries.map((line) => /^0?(\d+) \w+ (\w+)\t(.*)$/.exec(line)!.slice(1) as [string, string, string]);
  parts.sort(([, , one], [, , other]) => (one < other ? -1 : 1));
  const bytes = Buffer.concat(
    parts.flatMap(([mode, hash, name]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(hash, 'hex')]),
  );
  return createHash('sha1').update(`tree ${bytes.length}\0`).update(bytes).digest('hex');
}

finding(
  'B15',
  `A34: refuses a repository that unpacks to too many, too large or too deep files, before it is unpacked${SAMPLED}`,
  async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('bomb', DETECT);
    const blob = pipeGit(workspace, 'bomb', 'x', 'hash-object', '-w', '--stdin');
    const large = pipeGit(workspace, 'bomb', Buffer.alloc(40 << 20), 'hash-object', '-w', '--stdin');
    const empty = pipeGit(workspace, 'bomb', '', 'mktree');
    await workspace.json('add', url);
    const trees = join(workspace.wieldHome, 'sources');
    const bombs = [
      ['100,000 files', `100644 blob ${blob}`, 10, 5, /more than 50000 entries/],
      ['a trillion files', `100644 blob ${blob}`, 10, 12, /too large|more than 50000 entries/],
      ['only directories', `040000 tree ${empty}`, 10, 9, /too large|more than 50000 entries/],
      ['1.2 GiB in a few bytes', `100644 blob ${large}`, 30, 1, /larger than 1 GiB/],
      ['a deep tree', `100644 blob ${blob}`, 1, 300, /deeper than 256/],
    ] as const;
    for (const [what, leaf, width, levels, message] of some(bombs, 3)) {
      commitBomb(workspace, 'bomb', leaf, width, levels);
      const began = performance.now();
      for (const args of what === 'a deep tree' ? [['sync'], ['add', url]] : sample([['sync'], ['add', url]], 1)) {
        const error = await workspace.fail(...args);
        expect([what, args, error.code, error.message]).toEqual([
          what,
          args,
          'invalid_definition',
          expect.stringMatching(message),
        ]);
      }
      expect(performance.now() - began).toBeLessThan(patience(120_000));
      // The registered commit stays, and nothing else was written.
      expect((await workspace.json('list', '--available')).items).toHaveLength(1);
      const written = execFileSync('find', [trees, '-path', '*/trees/*', '-type', 'f'], { encoding: 'utf8' });
      expect(written.trim().split('\n').length).toBeLessThan(10);
    }
  },
  600_000,
);

spec(
  'INS-38',
  'B15 A34: refuses a local directory that is too large or too deep, by add, sync and check',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('local', DETECT);
    await workspace.json('add', source);
    mkdirSync(join(source, ...Array.from({ length: 300 }, () => 'd')), { recursive: true });
    for (const verb of [['sync'], ['add', source]])
      expect((await workspace.fail(...verb)).message).toMatch(/deeper than 256/);
    const check = await workspace.run('check', source);
    expect([check.status, check.stdout]).toEqual([1, expect.stringMatching(/deeper than 256/)]);
    const many = workspace.source('many', DETECT);
    for (let directory = 0; directory < 51; directory++) {
      mkdirSync(join(many, `d${directory}`));
      for (let at = 0; at < 1000; at++) writeFileSync(join(many, `d${directory}`, String(at)), '');
    }
    expect((await workspace.fail('add', many)).message).toMatch(/more than 50000 entries/);
    expect((await workspace.run('check', many)).status).toBe(1);
  },
  120_000,
);

finding(
  'B16 INS-39',
  'A27: a fetched source cannot name a local source, in any notation or nesting',
  async () => {
    const workspace = createInstallWorkspace();
    const secret = workspace.repository('secret', {
      'skills/secret/SKILL.md': '---\nname: secret\ndescription: S.\n---\n',
    });
    const path = secret.replace('file://', '');
    const nestings = [
      secret,
      `file://localhost${path}`,
      `FILE://${path}`,
      path,
      '../secret',
      './tools',
      '~/secret',
      `ext::sh -c cat% ${path}`,
      `file::${path}`,
      'http://127.0.0.1/x',
      'git://127.0.0.1/x',
    ];
    for (const [at, nested] of some(nestings, 5).entries()) {
      const url = workspace.repository(`outer${at}`, {
        ...DETECT,
        'wield.toml': `[[sources]]\nsource = '''${nested}'''\n`,
      });
      const added = json(await workspace.run('add', url, '--json'));
      // What is no location at all is skipped (INS-43).
      if (added.ok) expect([nested, added.nested, added.skipped.length]).toEqual([nested, [], 1]);
      else expect([nested, added.error.code]).toEqual([nested, 'path_escape']);
      const ids = (await workspace.json('list', '--available')).items.map(({ name }: { name: string }) => name);
      expect([nested, ids]).toEqual([nested, expect.not.arrayContaining(['secret'])]);
    }
    // A local directory that the person named can name directories inside itself and next to it, and nothing else that
    // is local.
    const local = workspace.source('local', {
      'wield.toml': '[[sources]]\nsource = "./inner"\n[[sources]]\nsource = "../beside"\n',
      'inner/skills/own/SKILL.md': '---\nname: own\ndescription: O.\n---\n',
    });
    workspace.source('beside', { 'skills/beside/SKILL.md': '---\nname: beside\ndescription: B.\n---\n' });
    expect((await workspace.json('add', local)).nested).toHaveLength(2);
    mkdirSync(join(workspace.home, 'secret'));
    for (const nested of ['../..', '..', '../secret/skills', '/', '/etc', '~/secret', workspace.home, secret]) {
      const other = workspace.source('other', { 'wield.toml': `[[sources]]\nsource = '''${nested}'''\n` });
      expect([nested, (await workspace.fail('add', other)).code]).toEqual([nested, 'path_escape']);
    }
    // In a checkout, also what is in the same checkout.
    workspace.repository('mono', { 'a/wield.toml': '[[sources]]\nsource = "../b/c"\n', 'b/c/rules/r.md': 'R.' });
    expect((await workspace.json('add', join(dirname(local), 'mono/a'))).nested).toHaveLength(1);
    const out = join(dirname(local), 'mono/a');
    workspace.source('elsewhere', { 'rules/r.md': 'R.' });
    writeFileSync(join(out, 'wield.toml'), '[[sources]]\nsource = "../../elsewhere"\n');
    expect((await workspace.fail('add', out)).code).toBe('path_escape');
  },
  120_000,
);

spec(
  'INS-7',
  'A27: git can use no protocol but that of the source',
  async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', DETECT);
    const mark = join(workspace.dir, 'ran');
    const log = join(workspace.dir, 'log');
    const env = wrapGit(
      workspace,
      `"$GIT" ls-remote "ext::sh -c touch% ${mark}" 2>/dev/null
for address in http://127.0.0.1:9/x https://127.0.0.1:9/x git://127.0.0.1:9/x ssh://127.0.0.1:9/x ftp://127.0.0.1:9/x
do "$GIT" ls-remote "$address" 2>>${log}; done`,
    );
    const run = await workspace.runWith({ env }, 'add', url);
    expect([run.status, existsSync(mark)]).toEqual([0, false]);
    const lines = readFileSync(log, 'utf8').split('\n');
    for (const protocol of ['http', 'https', 'git', 'ssh', 'ftp'])
      expect(lines).toContain(`fatal: transport '${protocol}' not allowed`);
  },
  60_000,
);

spec('INS-7', 'refuses a repository with malformed objects', async () => {
  const workspace = createInstallWorkspace();
  const url = workspace.repository('malformed', DETECT);
  const tree = workspace.git('malformed', 'rev-parse', 'HEAD^{tree}').trim();
  for (const author of ['Ada 0 +0000', 'Ada <ada@example.org> tomorrow', '<ada@example.org']) {
    const commit = pipeGit(
      workspace,
      'malformed',
      `tree ${tree}\nauthor ${author}\ncommitter ${author}\n\nMalformed\n`,
      ...['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'],
    );
    workspace.git('malformed', 'update-ref', 'refs/heads/main', commit);
    const error = await workspace.fail('add', url);
    expect([author, error.code]).toEqual([author, 'unavailable']);
    expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
  }
});

spec('INS-7', 'A32: proves that the fetched commit is the pinned one', async () => {
  const workspace = createInstallWorkspace();
  const url = workspace.repository('repo', DETECT);
  const pinned = workspace.git('repo', 'rev-parse', 'HEAD').trim();
  workspace.git('repo', 'tag', '-a', 'v1', '-m', 'One');
  workspace.git('repo', 'checkout', '--quiet', '-b', 'evil');
  workspace.source('repo', { 'tools/detect/lib.sh': 'detect() { echo evil; }\n' });
  workspace.git('repo', 'commit', '--quiet', '--all', '-m', 'Evil');
  workspace.git('repo', 'config', 'uploadpack.allowAnySHA1InWant', 'true');
  // The hash of a tag is not that of a commit.
  const tag = workspace.git('repo', 'rev-parse', 'v1').trim();
  expect((await workspace.fail('add', url, '--pin', tag)).code).toBe('integrity');
  // A server, or anything on the way, that sends another commit.
  const env = wrapGit(
    workspace,
    `for argument; do shift; set -- "$@" "\${argument/#${pinned}:/refs/heads/evil:}"; done`,
  );
  const run = await workspace.runWith({ env }, 'add', url, '--pin', pinned, '--json');
  expect([run.status, run.stdout]).toEqual([7, expect.stringContaining('"integrity"')]);
  expect((await workspace.json('add', url, '--pin', pinned)).source.commit).toBe(pinned);
});
