// Shell completion in real shells: candidates, quoting, and no side effects.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { createProgram, createSkillWorkspace, declare, type SkillWorkspace } from '../../support/commands.js';
import { copyCompiledCode } from '../../support/compiled-code.js';
import { ALL_TESTS, SAMPLED, sample, some } from '../../support/effort.js';
import { hasProgram, notInstalled } from '../../support/machine.js';
import { patience } from '../../support/patience.js';
import { hasPty } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';

const ENVIRONMENTS = ['my east', "it's", '$(touch pwned)', 'a;b', 'p:q', 'plain', 'two\nlines'];

const GREET =
  '#!/bin/sh\n# @description Greet \u001b[31msomeone.\n# @param *name string Who\n# @param loud boolean Shout\ncat\n';

/** A workspace with `wield` on its path. */
function create(): SkillWorkspace {
  const workspace = createSkillWorkspace();
  copyCompiledCode(workspace.env.WIELD_HOME);
  createProgram(workspace, 'wield', `#!/bin/sh\nexec '${process.execPath}' '${binary()}' "$@"\n`);
  workspace.script('greet', GREET);
  workspace.script('note_read', '#!/bin/sh\n# @description Read.\n# @group note\n# @param *path string Where\ncat\n');
  workspace.script('note_list', '#!/bin/sh\n# @description List.\n# @group note\ncat\n');
  workspace.script('secret', '#!/bin/sh\n# @description Hidden.\n# @hidden\ncat\n');
  workspace.skill('ops', {
    'tools.json': declare(
      [
        { param: 'env', kind: 'positional' },
        { param: 'file', kind: 'flag', flag: 'file' },
      ].map(({ param }) => ({ param })),
      {
        tool: 'ops:publish',
        properties: {
          env: { type: 'string', enum: ENVIRONMENTS },
          size: { type: 'object', properties: { width: { enum: ['wide', 'narrow'] } } },
          fresh: { type: 'boolean', default: true },
          tags: { type: 'array', items: { enum: ['one', 'two'] } },
          file: { type: 'string' },
        },
        required: ['env'],
      },
    ),
  });
  return workspace;
}

interface Reply {
  readonly reply: readonly string[];
  /** Whether bash looks for files too. */
  readonly files: boolean;
}

const DRIVE = `
source <(wield completions bash)
compopt() { echo "compopt $*"; }
for line in "$@"; do
  COMP_LINE=$line; COMP_POINT=\${#line}; COMPREPLY=()
  _wield
  printf '%s\\n' "\${COMPREPLY[@]}" ---
done
`;

/** What bash is given for lines with the cursor at their end. */
function inBash(workspace: SkillWorkspace, lines: readonly string[]): Reply[] {
  const printed = execFileSync('bash', ['--norc', '-c', DRIVE, 'bash', ...lines], {
    cwd: workspace.dir,
    env: workspace.env,
    encoding: 'utf8',
  });
  const answers = printed.split('---\n').slice(0, lines.length);
  return answers.map((answer) => {
    const said = answer.split('\n').filter((text) => text !== '');
    return {
      reply: said.filter((text) => !text.startsWith('compopt')),
      files: !said.includes('compopt +o default'),
    };
  });
}

describe('in bash', () => {
  spec('CLI-9', 'offers verbs, tools and groups, but no hidden tools', () => {
    const [{ reply, files }] = inBash(create(), ['wield ']) as [Reply];
    expect(reply).toEqual(expect.arrayContaining(['list', 'call', 'completions', 'greet', 'note', 'ops:publish']));
    for (const word of ['secret', 'note_read', 'note-read', 'hidden']) expect(reply).not.toContain(word);
    expect(files).toBe(false);
  });

  const TABLE: readonly (readonly [line: string, reply: readonly string[], files?: true])[] = [
    ['wield gre', ['greet']],
    ['wield no', ['note']],
    ['wield note ', ['list', 'read']],
    ['wield note r', ['read']],
    ['wield --plain note r', ['read']],
    ['FOO=1 wield note r', ['read']],
    ['wield call ', ['read_skill', 'ops:publish', 'greet', 'note_list', 'note_read', 'ops']],
    ['wield show no', ['note_list', 'note_read']],
    ['wield help note r', ['read']],
    ['wield completions ', ['bash', 'zsh', 'fish']],
    ['wield list --h', ['--hidden', '--help']],
    ['wield list --all --al', []],
    ['wield call --d', ['--dry-run']],
    ['wield greet --n', ['--name']],
    ['wield greet --name Ada --n', []],
    ['wield greet --no', ['--no-loud']],
    ['wield greet --loud=', ['true', 'false']],
    ['wield call greet --l', ['--loud']],
    ['wield greet -- --l', []],
    ['wield note read ', [], true],
    ['wield note read --path ', [], true],
    ['wield greet ', []],
    ['wield check ', [], true],
    ['wield --cwd ', [], true],
    ['wield nothing ', []],
    // Bash splits words at a colon: the part before it stays.
    ['wield ops:p', ['publish']],
    ['wield ops:publish p', ['p:q', 'plain']],
    ['wield ops:publish p:', ['q']],
    ['wield ops:publish m', ['my\\ east']],
    ['wield ops:publish "m', ['my east']],
    ["wield ops:publish 'my e", ['my east']],
    ['wield ops:publish my\\ e', ['my\\ east']],
    ['wield ops:publish --env=m', ['my\\ east']],
    ['wield ops:publish --env="m', ['my east']],
    ['wield ops:publish $', ['\\$\\(touch\\ pwned\\)']],
    ['wield ops:publish "$', ['\\$(touch pwned)']],
    ['wield ops:publish i', ["it\\'s"]],
    ["wield ops:publish 'i", ["it'\\''s"]],
    ['wield ops:publish a', ['a\\;b']],
    ['wield ops:publish t', []],
    ['wield ops:publish --size.', ['--size.width']],
    ['wield ops:publish --size.width ', ['wide', 'narrow']],
    ['wield ops:publish --tags one --tags ', ['one', 'two']],
    ['wield ops:publish --fr', ['--fresh']],
    ['wield ops:publish --no-f', ['--no-fresh']],
    ['wield ops:publish --file ', [], true],
  ];

  spec(
    'CLI-9 MOD-22',
    `offers the candidates at the cursor, quoted like the line${SAMPLED}`,
    () => {
      const rows = sample(TABLE, ALL_TESTS ? 15 : 6);
      const replies = inBash(
        create(),
        rows.map(([line]) => line),
      );
      expect(replies.map(({ reply, files }, at) => [rows[at]![0], reply, files])).toEqual(
        rows.map(([line, reply, files = false]) => [line, reply, files]),
      );
    },
    180_000,
  );

  spec('CLI-9', 'reads files after @, and honours --cwd', () => {
    const workspace = create();
    workspace.write('input.json', '{}');
    workspace.write('inner/.agents/tools/there', '#!/bin/sh\n# @description There.\n', 0o755);
    const replies = inBash(workspace, ['wield greet --input @in', 'wield --cwd inner th']);
    // bash breaks a word behind @ too.
    expect(replies.map(({ reply }) => reply)).toEqual([['inner/', 'input.json'], ['there']]);
  });

  spec('CLI-9 POL-24', 'offers the names of profiles wherever one is taken', async () => {
    const workspace = create();
    workspace.config('[profiles.review]\ntools = ["greet"]\n[profiles.release]\ntools = ["*"]\n');
    const complete = async (...words: string[]): Promise<string[]> =>
      (await wield(workspace, ['__complete', 'zsh', '--', ...words])).stdout.trim().split('\n');
    for (const verb of [['serve'], ['list'], ['tokens'], ['worker'], ['connect', 'cursor']])
      expect(await complete(...verb, '--profile', 're')).toEqual(['words', 'review', 'release']);
    expect(await complete('serve', '--profile=rel')).toEqual(['words', '--profile=release']);
    workspace.config('[profiles\n');
    expect(await complete('serve', '--profile', '')).toEqual(['words']);
  });

  spec('CLI-9', 'does not evaluate typed text or start code of the workspace', () => {
    const workspace = create();
    const sentinel = join(workspace.dir, 'pwned');
    workspace.script('greet', `#!/bin/sh\n# @description D\n# @param *name string N\ntouch '${sentinel}'\n`);
    const lines = ['wield $(touch pwned) ', 'wield `touch pwned` --', 'wield greet "$(touch pwned)" --'];
    expect(inBash(workspace, [...lines, 'wield greet ', 'wield "unclosed'])).toHaveLength(5);
    expect(existsSync(sentinel)).toBe(false);
  });
});

interface Shell {
  readonly name: string;
  readonly start: string;
}

const SHELLS: readonly Shell[] = [
  { name: 'bash', start: 'bash --norc --noprofile -i' },
  { name: 'zsh', start: 'zsh -f -i' },
  { name: 'fish', start: 'fish --no-config -i' },
];
const SETUP: Readonly<Record<string, string>> = {
  bash: "PS1='READY> '; source <(wield completions bash)",
  zsh: "PS1='READY> '; autoload -Uz compinit; compinit -u -D; source <(wield completions zsh)",
  fish: "function fish_prompt; echo -n 'READY> '; end; wield completions fish | source",
};

// What a shell sends to place its cursor.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[@-_=>])|\r(?!\n)/g;

/** Types keys at a prompt of a shell in a terminal, and gives what the terminal showed when `until` appeared. */
async function type(workspace: SkillWorkspace, { name, start }: Shell, keys: string, until: string): Promise<string> {
  const env = { ...workspace.env, TERM: 'dumb', CI: '' };
  const child = spawn('script', ['-qfec', start, '/dev/null'], { cwd: workspace.dir, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString('utf8');
  });
  const wait = (text: string, from: number) =>
    expect.poll(() => shown.slice(from), { timeout: patience(30_000), interval: 50 }).toContain(text);
  child.stdin.write(`${SETUP[name]}\r`);
  // The prompt, and not the line that sets it.
  await expect.poll(() => /READY> $/.test(shown.replace(ESCAPES, '')), { timeout: patience(30_000) }).toBe(true);
  const from = shown.length;
  child.stdin.write(keys);
  await wait(until, from);
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stdin.write('exit\r');
  await ended;
  return shown.slice(from);
}

describe('at a prompt', () => {
  const TYPED = [
    ['wield gre\tA --lo\t\r', '{"name":"A","loud":true}'],
    ['wield note re\tx.md\r', '{"path":"x.md"}'],
    ['wield ops:pub\tm\t\r', '["my east"]'],
  ] as const;
  for (const shell of SHELLS) {
    specIf(
      hasPty && hasProgram(shell.name),
      notInstalled('script', shell.name),
      'CLI-9',
      `${shell.name} completes tools, flags and values`,
      async () => {
        const workspace = create();
        for (const [keys, shown] of some(TYPED, 1)) await type(workspace, shell, keys, shown);
      },
    );
  }
});

describe('the verb', () => {
  spec('CLI-9', 'prints a script for each shell and rejects others', async () => {
    const workspace = create();
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { status, stdout } = await wield(workspace, ['completions', shell]);
      expect(status).toBe(0);
      expect(stdout).toContain(`wield __complete ${shell}`);
      expect(json(await wield(workspace, ['completions', shell, '--json']))).toEqual({
        ok: true,
        schema: 1,
        shell,
        script: stdout,
      });
    }
    for (const args of [['completions'], ['completions', 'cmd']]) {
      const run = await wield(workspace, args);
      expect(run.status).toBe(2);
      expect(run.stderr).toContain('wield completions bash|zsh|fish');
    }
  });

  spec(
    'CLI-9 ERR-5',
    'descriptions for zsh and fish have no control characters, and errors print nothing',
    async () => {
      const workspace = create();
      const offered = await wield(workspace, ['__complete', 'fish', '--', 'gre']);
      expect(offered).toEqual({ status: 0, stderr: '', stdout: 'words\ngreet\tGreet someone.\n' });
      const gone = await wield(workspace, ['__complete', 'zsh', '--', '--cwd', '/nowhere/at/all', 'note', 'x']);
      expect([gone.status, gone.stderr]).toEqual([0, '']);
      workspace.config('limits = nonsense [');
      expect((await wield(workspace, ['__complete', 'zsh', '--', 'gre'])).stdout).toBe(
        'words\ngreet\tGreet someone.\n',
      );
    },
  );
});
