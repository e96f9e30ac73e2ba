// Attacks that exchange a script while it is called: only the bytes that were hashed run.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { textOf } from '../../src/index.js';
import { logRecords } from '../support/audit.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { rounds } from '../support/effort.js';
import { exchange } from '../support/exchange.js';
import { createInstallWorkspace } from '../support/install.js';
import { hasProgram, notInstalled } from '../support/machine.js';
import { until } from '../support/server.js';
import { finding, findingIf } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const MODEL = { kind: 'model', door: 'test' } as const;

const header = (interpreter: string, prefix = '#'): string =>
  `#!${interpreter}\n${prefix} @description Says which one it is.\n`;

const LANGUAGES: Readonly<Record<string, (word: string) => string>> = {
  sh: (word) => `${header('/bin/sh')}echo ${word}\n`,
  'bash by env': (word) => `${header('/usr/bin/env bash')}printf '%s\\n' ${word}\n`,
  'bash by env -S': (word) =>
    `${header('/usr/bin/env -S bash -eu')}[[ "\${BASH_SOURCE[0]}" == "$0" ]] && echo ${word}\n`,
  python: (word) => `${header('/usr/bin/env python3')}print('${word}')\n`,
  node: (word) => `${header(process.execPath, '//')}console.log('${word}');\n`,
  perl: (word) => `${header('/usr/bin/perl')}print "${word}\\n";\n`,
};

for (const [language, body] of Object.entries(LANGUAGES)) {
  const calls = language === 'sh' ? rounds(40, 200) : rounds(15, 40);
  const check = ['sh', 'bash by env'].includes(language) ? finding : finding.thorough;
  check(
    'B3',
    `F28 A40 no call runs the file that another process puts in its place (${language}, ${calls} calls)`,
    async () => {
      const workspace = createWorkspace();
      const path = workspace.script('which', body('good'));
      workspace.config('[trust]\nrules = "which($policy=ask)"\n');
      const toolbox = workspace.toolbox({ trust: true });
      const approve = async () => 'always' as const;
      const first = await toolbox.call('which', {}, { caller: MODEL, approve });
      expect(textOf(first)).toBe('good\n');
      const { plan } = await toolbox.plan('which', {}, { caller: MODEL });
      const approved = plan!.tool.origin.digest;
      await exchange(path, body('good'), body('evil'));
      const seen = new Map<string, number>();
      for (let call = 0; call < calls; call++) {
        const result = await toolbox.call('which', {}, { caller: MODEL });
        const outcome = result.ok ? textOf(result) : result.error!.code;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
      // Not found: the listing may see the file between two of its states.
      for (const outcome of seen.keys())
        expect(['good\n', 'integrity', 'needs_approval', 'not_found'], outcome).toContain(outcome);
      for (const record of logRecords(workspace)) {
        if (record.code === null) expect(record.digest).toBe(approved);
      }
    },
    60_000,
  );
}

finding('B3', 'the bytes that were hashed run if the file is replaced before its interpreter reads it', async () => {
  const workspace = createWorkspace();
  const path = workspace.script('which', LANGUAGES['bash by env']!('good'));
  // A bash that is slow to start.
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin);
  const waits = `touch "${bin}/started"; while [ ! -e "${bin}/go" ]; do sleep 0.02; done; exec /bin/bash "$@"`;
  writeFileSync(join(bin, 'bash'), `#!/bin/sh\n${waits}\n`, { mode: 0o755 });
  const env = { ...workspace.env, PATH: `${bin}:${workspace.env.PATH}` };
  const result = workspace.toolbox({ env, trust: true }).call('which', {}, { caller: MODEL });
  await until(() => existsSync(join(bin, 'started')), 'bash is started');
  writeFileSync(path, LANGUAGES['bash by env']!('evil'));
  writeFileSync(join(bin, 'go'), '');
  expect(textOf(await result)).toBe('good\n');
});

finding('B3', 'a script keeps its own path, its directory, its options and its input', async () => {
  const workspace = createWorkspace();
  workspace.write('.agents/tools/lib/words.sh', 'word=sourced\n');
  workspace.write('.agents/tools/helper.cjs', 'module.exports = "required";\n');
  const tools = join(workspace.dir, '.agents/tools');
  workspace.script(
    'shell',
    `${header('/usr/bin/env bash')}here="$(cd "$(dirname "\${BASH_SOURCE[0]}")" && pwd)"
. "$(dirname "$0")/lib/words.sh"
main() { echo "$0 \${BASH_SOURCE[0]} $BASH_SOURCE \${BASH_SOURCE##*/} $here $word $# $(cat)"; }
[[ "\${BASH_SOURCE[0]}" == "\${0}" ]] && main "$@"
`,
  );
  const shell = join(tools, 'shell');
  const toolbox = workspace.toolbox();
  expect(textOf(await toolbox.call('shell', {}))).toBe(`${shell} ${shell} ${shell} shell ${tools} sourced 0 {}\n`);
  workspace.script('strict', `${header('/bin/sh -eu')}false\necho not reached\n`);
  expect((await toolbox.call('strict', {})).error?.data).toMatchObject({ exitCode: 1 });
  workspace.script('up', `${header('/bin/sh')}cd "$(dirname "$0")/../.." && pwd\n`);
  expect(textOf(await toolbox.call('up', {}))).toBe(`${workspace.dir}\n`);
  workspace.script(
    'js',
    `${header(process.execPath, '//')}console.log(__filename, require('./helper.cjs'), process.argv[1]);\n`,
  );
  const js = join(tools, 'js');
  expect(textOf(await toolbox.call('js', {}))).toBe(`${js} required ${js}\n`);
  workspace.script('failing', `${header('/bin/sh')}exit 7\n`);
  expect((await toolbox.call('failing', {})).error?.data).toMatchObject({ exitCode: 7 });
});

findingIf(
  hasProgram('python3'),
  notInstalled('python3'),
  'B3',
  'a Python script keeps its own path and imports',
  async () => {
    const workspace = createWorkspace();
    workspace.write('.agents/tools/helper.py', 'WORD = "imported"\n');
    const tools = join(workspace.dir, '.agents/tools');
    const toolbox = workspace.toolbox();
    workspace.script(
      'py',
      `${header('/usr/bin/env python3')}"""Text."""
from __future__ import annotations
import helper, json, os, sys
print(__file__, sys.argv, sys.path[0], __name__, __doc__, helper.WORD, json.load(sys.stdin), 'os' in dir())
`,
    );
    const py = join(tools, 'py');
    expect(textOf(await toolbox.call('py', {}))).toBe(`${py} ['${py}'] ${tools} __main__ Text. imported {} True\n`);
  },
);

finding('B3', 'a link in the place of a script or its directory is no way to other bytes', async () => {
  const workspace = createWorkspace();
  const good = LANGUAGES.sh!('good');
  workspace.script('which', good);
  const elsewhere = mkdtempSync(join(tmpdir(), 'wield-elsewhere-'));
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
  writeFileSync(join(elsewhere, 'which'), LANGUAGES.sh!('evil'), { mode: 0o755 });
  workspace.config('[trust]\nrules = "which($policy=ask)"\n');
  const toolbox = workspace.toolbox({ trust: true });
  const tools = join(workspace.dir, '.agents/tools');
  const result = await toolbox.call(
    'which',
    {},
    {
      caller: MODEL,
      approve: async () => {
        renameSync(tools, `${tools}.old`);
        symlinkSync(elsewhere, tools);
        return 'once';
      },
    },
  );
  expect(result.error?.code).toBe('integrity');
});

// Puts other directories in the place of the tools while the script is read, and puts them back.
const EXCHANGING = `#!/bin/sh
touch out ../beside
case "$EXCHANGE" in ?*) mv $EXCHANGE away; mv other $EXCHANGE;; esac
out=$(/bin/sh "$1")
case "$EXCHANGE" in ?*) mv $EXCHANGE other; mv away $EXCHANGE;; esac
echo "$out"
`;

finding('B3', 'a directory that is exchanged while a script is read, and put back, is noticed', async () => {
  const workspace = createWorkspace();
  const interpreter = workspace.write('interpreter', EXCHANGING, 0o755);
  workspace.script('which', `${header(interpreter)}echo good\n`);
  for (const other of ['other/which', 'other/tools/which'])
    workspace.write(other, `${header(interpreter)}echo evil\n`, 0o755);
  workspace.config('[env]\npass = ["EXCHANGE"]\n');
  const run = async (directory: string): Promise<string> => {
    const toolbox = workspace.toolbox({ trust: true, env: { ...workspace.env, EXCHANGE: directory } });
    const result = await toolbox.call('which', {}, { caller: MODEL });
    return result.error?.code ?? textOf(result);
  };
  // What a tool writes to the working directory is no exchange.
  expect(await run('')).toBe('good\n');
  expect(await run('.agents/tools')).toBe('integrity');
  expect(await run('.agents')).toBe('integrity');
  expect(await run('')).toBe('good\n');
});

finding(
  'B3',
  'the scripts and the program of a declared command are those that were planned',
  async () => {
    const workspace = createSkillWorkspace();
    workspace.config('[skills]\nallow-scripts = true\n[trust]\nrules = "run($policy=ask)"\n');
    const skill = workspace.skill('own', {
      'tools.json': declare([{ param: 'id', resolveCommand: { script: 'say', args: ['$param'] } }]),
      'scripts/say.sh': 'echo good "$0" "$1"\n',
    });
    const path = join(skill, 'scripts/say.sh');
    const toolbox = workspace.toolbox({ trust: true });
    const approve = async () => 'always' as const;
    expect((await toolbox.call('run', { id: 'x' }, { caller: MODEL, approve })).structured).toEqual([`good ${path} x`]);
    await exchange(path, 'echo good "$0" "$1"\n', 'echo evil\n');
    for (let call = 0; call < rounds(15, 40); call++) {
      const result = await toolbox.call('run', { id: 'x' }, { caller: MODEL });
      if (result.ok) expect(result.structured).toEqual([`good ${path} x`]);
      else expect(['integrity', 'needs_approval', 'not_found']).toContain(result.error!.code);
    }
    const other = createSkillWorkspace();
    other.config('[trust]\nrules = "run($policy=ask)"\n');
    const program = other.program('say', '#!/bin/sh\necho good\n');
    other.skill('own', { 'tools.json': declare([], { binary: 'say' }) });
    const replaced = await other.toolbox({ trust: true }).call(
      'run',
      {},
      {
        caller: MODEL,
        approve: async () => {
          other.program('say.new', '#!/bin/sh\necho evil\n');
          renameSync(`${program}.new`, program);
          return 'once';
        },
      },
    );
    expect(replaced.error?.code).toBe('integrity');
  },
  60_000,
);

finding(
  'B3',
  'an installed program is started from the file that was hashed',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('native', { 'tools/native/native!': readFileSync('/bin/true') });
    await workspace.json('add', source, '--yes');
    const toolbox = workspace.toolbox({ trust: true });
    expect((await toolbox.call('native', {})).ok).toBe(true);
    const { plan } = await toolbox.plan('native', {});
    const path = realpathSync((plan as { binary: string }).binary);
    await exchange(path, readFileSync('/bin/true'), readFileSync('/bin/false'));
    const approved = plan!.tool.origin.digest;
    for (let call = 0; call < rounds(10, 20); call++) {
      const { ok, error } = await toolbox.call('native', {}, { caller: MODEL });
      if (!ok) expect(['integrity', 'not_found', 'needs_approval']).toContain(error!.code);
    }
    for (const record of logRecords(workspace)) if (record.code === null) expect(record.digest).toBe(approved);
  },
  60_000,
);

finding('B3', 'nothing of a call is left in the temporary directory', async () => {
  const workspace: Workspace = createWorkspace();
  const temporary = join(workspace.home, 'tmp');
  mkdirSync(temporary);
  workspace.script('which', `${header('/bin/sh')}ls -A "$TMPDIR"; echo end\n`);
  const toolbox = workspace.toolbox({ env: { ...workspace.env, TMPDIR: temporary } });
  expect(textOf(await toolbox.call('which', {}))).toBe('end\n');
});
