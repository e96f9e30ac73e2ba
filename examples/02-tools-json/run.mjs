// A skill that declares read-only tools over git, used in a temporary repository: node examples/02-tools-json/run.mjs

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf } from 'wield';
import { createNodeToolbox } from 'wield/node';

// The skill works in any repository; here is one with two commits.
const workdir = realpathSync(mkdtempSync(join(tmpdir(), 'wield-example-')));
process.on('exit', () => rmSync(workdir, { recursive: true, force: true }));
const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false'];
const git = (...args) => execFileSync('git', [...who, ...args], { cwd: workdir, stdio: ['ignore', 'pipe', 'pipe'] });
git('init', '--quiet', '--initial-branch=main');
for (const subject of ['Begin', 'Go on']) git('commit', '--quiet', '--allow-empty', '-m', subject);
cpSync(fileURLToPath(new URL('.agents', import.meta.url)), join(workdir, '.agents'), { recursive: true });

const toolbox = createNodeToolbox({ workdir });
assert.deepEqual(await toolbox.catalog.problems(), []);
const names = (await toolbox.list()).map((tool) => tool.name);
assert.ok(['git_log', 'git_show', 'git_status', 'read_skill'].every((name) => names.includes(name)));
console.log(`tools: ${names.join(', ')}`);

// A plan shows what would run, without running it.
const { plan } = await toolbox.plan('git_log', { count: 1 });
assert.deepEqual(plan.argv, ['git', 'log', '--pretty=tformat:%h %ad %s', '--max-count', '1', '--date', 'short']);
console.log(`would run: ${plan.argv.join(' ')}`);

const log = await toolbox.call('git_log', {});
const [newest, oldest] = textOf(log).trim().split('\n');
assert.match(newest, /^[0-9a-f]{7,} \d{4}-\d\d-\d\d Go on$/);
assert.match(oldest, / Begin$/);
console.log(`log: ${newest}`);

const shown = await toolbox.call('git_show', { commit: newest.split(' ')[0] });
assert.match(textOf(shown), /^ {4}Go on$/m);

writeFileSync(join(workdir, 'new.txt'), 'new\n');
const status = await toolbox.call('git_status', {});
assert.match(textOf(status), /^\?\? new\.txt$/m);
console.log('status: new.txt is listed');

// A commit must be a hash, so no option of git gets through, and other subcommands do not exist.
for (const commit of ['--output=/tmp/x', 'HEAD', '$(id)']) {
  const refused = await toolbox.call('git_show', { commit });
  assert.equal(refused.error.code, 'invalid_input');
}
assert.equal((await toolbox.call('git_push', {})).error.code, 'not_found');
console.log('refused: options, other names, other subcommands');

// A model reads the text of the skill on demand.
const skill = await toolbox.call('read_skill', { skill_name: 'git-history' });
assert.match(textOf(skill), /all of which only read/);

await toolbox.close();
