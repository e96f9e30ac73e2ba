// A source with a tool and a skill, installed and used: node examples/06-source/run.mjs

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf } from 'wield';
import { createNodeToolbox } from 'wield/node';

// A temporary home and project, so that the example leaves nothing in yours.
const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-example-')));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
const [home, workdir] = [join(root, 'home'), join(root, 'project')];
for (const directory of [home, workdir]) mkdirSync(directory);
writeFileSync(join(workdir, 'package.json'), '{}');
const env = { PATH: process.env.PATH, HOME: home };

const binary = fileURLToPath(new URL('../../dist/cli/wield.cjs', import.meta.url));
const source = fileURLToPath(new URL('.', import.meta.url));
const wield = (...args) =>
  JSON.parse(execFileSync(process.execPath, [binary, ...args, '--json'], { cwd: workdir, env, encoding: 'utf8' }));
const steps = (name) =>
  readFileSync(join(home, '.claude/skills', name, 'SKILL.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\d\. /.test(line));

const { source: added } = wield('add', source);
console.log(`offers: ${added.items.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`);

// The skill refers to the tool, so both are installed, the tool first.
const { items } = wield('install', '--yes', 'scan');
assert.deepEqual(
  items.map(({ effective }) => effective),
  ['detect', 'scan'],
);
assert.deepEqual(steps('scan'), [
  '1. Run the shared tool: `~/.wield/store/tool/detect/detect.sh .`',
  '2. Source its library: `. ~/.wield/store/tool/detect/lib.sh`',
  '3. Record the result: `~/.wield/store/skill/scan/resources/notes.md`',
]);
console.log(steps('scan').join('\n'));

// An installed tool is called like any other.
const toolbox = createNodeToolbox({ workdir, env });
const result = await toolbox.call('detect', { path: '.' });
assert.equal(textOf(result).trim(), 'node');
console.log(`detect: ${textOf(result).trim()}`);

// With a namespace every token is expanded accordingly, without editing the skill.
wield('add', source, '--namespace', 'jk', '--register-only');
wield('upgrade', '--yes');
assert.equal(steps('jk-scan')[0], '1. Run the shared tool: `~/.wield/store/tool/jk:detect/detect.sh .`');
assert.equal(existsSync(join(home, '.claude/skills/scan')), false);
assert.equal((await toolbox.call('jk:detect', { path: '/' })).ok, true);
console.log(steps('jk-scan')[0]);
await toolbox.close();

wield('remove-source', source, '--yes');
assert.equal(existsSync(join(home, '.claude')), false);
console.log('removed, without a trace');
