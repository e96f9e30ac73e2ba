// What a newcomer sees: in each of the directories, checkouts of repositories, and with an empty home, `wield init --yes`,
// `wield list`, the plan of the call that init proposes, and `wield connect --dry-run`. Says what is long, slow or fails.
// `.agents` of a directory is removed afterwards, unless it was there.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const WIELD = fileURLToPath(new URL('../dist/cli/wield.cjs', import.meta.url));
const SCREEN = 24;
const SLOW_MS = 10_000;

function run(directory, home, args) {
  const began = performance.now();
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' };
  let status = 0;
  let text = '';
  try {
    text = execFileSync(process.execPath, [WIELD, ...args], { cwd: directory, env, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    ({ status } = error);
    text = `${error.stdout}${error.stderr}`;
  }
  // Tables are cut at the width of a terminal.
  const lines = text.trimEnd().split('\n').length;
  return { text, status, lines, ms: Math.round(performance.now() - began) };
}

let faults = 0;
for (const named of process.argv.slice(2)) {
  const directory = resolve(named);
  const home = mkdtempSync(join(tmpdir(), 'wield-first-use-'));
  const hadAgents = existsSync(join(directory, '.agents'));
  try {
    const init = run(directory, home, ['init', '--yes']);
    const [, call = 'hello'] = /Try {6}wield call (\S+)/.exec(init.text) ?? [];
    const steps = [
      ['init --yes', init],
      ['list', run(directory, home, ['list'])],
      [`call ${call} --dry-run`, run(directory, home, ['call', call, '--dry-run'])],
      ['connect --dry-run', run(directory, home, ['connect', '--dry-run'])],
      ['connect claude-code --dry-run', run(directory, home, ['connect', 'claude-code', '--dry-run'])],
    ];
    for (const [step, { text, status, lines, ms }] of steps) {
      const isMissing = /needs \S+, which is not installed/.test(init.text) && step.startsWith('call');
      const said = [
        ...(status === 0 || isMissing ? [] : [`exit status ${status}: ${text.trim().slice(0, 300)}`]),
        ...(lines <= SCREEN ? [] : [`${lines} lines`]),
        ...(ms <= SLOW_MS ? [] : [`${ms} ms`]),
      ];
      faults += said.length;
      console.log(
        `${said.length === 0 ? 'ok  ' : 'FAIL'} ${named}: wield ${step}, ${lines} lines, ${ms} ms ${said.join('; ')}`,
      );
    }
  } finally {
    if (!hadAgents) rmSync(join(directory, '.agents'), { recursive: true, force: true });
    rmSync(home, { recursive: true, force: true });
  }
}
process.exitCode = faults === 0 && process.argv.length > 2 ? 0 : 1;
