// Attacks through the output of tools and the names of directories: on a terminal they are text, in a pipe the output is the bytes of the tool.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { wield, wieldProcess } from '../support/cli.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../support/pty.js';
import { nodeScript, shellScript } from '../support/shell-script.js';
import { finding, spec, specIf } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

/** Sequences that move the cursor, set the title or the clipboard, make links, switch screens or ask the terminal. */
const HOSTILE = [
  '\u001b]0;title\u0007',
  '\u001b]52;c;cm0gLXJm\u0007',
  '\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\',
  '\u001b[2J',
  '\u001b[1A\u001b[2K',
  '\u001b[?1049h',
  '\u001b[6n',
  '\u001bP$q"p\u001b\\',
  '\u001bc',
  '\u009b2J',
  '\u009d0;title\u009c',
  '\u001b[8mconcealed',
  '\u001b[31;8mconcealed',
  'over\b\b\b\bwritten',
  '\u202egnp.exe\u202c',
  '\u0007',
];
const DANGEROUS =
  /\u001b(?!\[[0-9;]*m|\[K)|\u001b\[(?:\d*;)?8m|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u007f-\u009f\u202a-\u202e]/;

const script = (from: 'stdout' | 'stderr', texts: readonly string[], split = false): string =>
  nodeScript(
    `const all = ${JSON.stringify(texts)}.map((text) => 'before ' + text + ' after\\n').join('');
     const parts = ${split} ? [...Buffer.from(all)].map((byte) => Buffer.from([byte])) : [all];
     const next = () => { if (parts.length) process.${from}.write(parts.shift(), () => ${split} && parts.length % 7 ? next() : setTimeout(next, 1)); };
     next();`,
  );

if (hasPty) {
  for (const from of ['stdout', 'stderr'] as const) {
    finding('B18', `A55 shows the escape sequences of ${from} on a terminal`, async () => {
      const workspace = createWorkspace();
      workspace.script('esc', script(from, HOSTILE));
      const { screen, status } = await wieldAtTerminal(workspace, ['call', 'esc']);
      expect(status).toBe(0);
      expect(screen.match(DANGEROUS)).toBe(null);
      expect(screen).toContain('before <U+001B>]0;title<U+0007> after');
      expect(screen).toContain('<U+001B>[2J');
      expect(screen).toContain('<U+009B>2J');
      expect(screen).toContain('<U+202E>gnp.exe');
    });
  }

  finding('B18', 'A55 shows them when they come in pieces, and keeps colours and text', async () => {
    const workspace = createWorkspace();
    const colours = ['\u001b[31mred\u001b[0m', '\u001b[38;5;8mgrey\u001b[m', 'Grüße 世界 🙂', 'a\tb', '50 %\r100 %'];
    workspace.script('esc', script('stdout', [...HOSTILE.slice(0, 6), ...colours], true));
    const { screen } = await wieldAtTerminal(workspace, ['esc']);
    expect(screen.match(DANGEROUS)).toBe(null);
    for (const text of colours) expect(screen).toContain(`before ${text} after`);
    workspace.script('stays', shellScript(`printf '\\033[31mred'`));
    expect((await wieldAtTerminal(workspace, ['call', 'stays'])).screen).toContain('\u001b[31mred\u001b[0m');
  });

  finding('B18', 'A55 shows those of results that are not streamed, of errors, progress and --json', async () => {
    const workspace = createWorkspace();
    workspace.write(
      '.agents/tools/typed.tool.mjs',
      `export const typed = { name: 'typed', description: 'Typed.', inputSchema: { type: 'object', properties: {} },
  execute: () => ${JSON.stringify(HOSTILE.join(''))} };\n`,
    );
    workspace.script(
      'fails',
      shellScript(`printf '::progress 1/2 \\033]0;x\\007\\n' >&2; printf '\\033[2J' >&2; exit 1`),
    );
    for (const args of [
      ['call', '--trust', 'typed'],
      ['call', '--trust', 'typed', '--json'],
      ['call', 'fails'],
    ]) {
      const { screen } = await wieldAtTerminal(workspace, args);
      expect([args, screen.match(DANGEROUS)]).toEqual([args, null]);
    }
  });
}

finding('B18', 'A55 passes the bytes of a tool on to a pipe', async () => {
  const workspace = createWorkspace();
  workspace.script('esc', script('stdout', HOSTILE));
  const { stdout } = await wieldProcess(workspace, ['call', 'esc']);
  expect(stdout).toBe(HOSTILE.map((text) => `before ${text} after\n`).join(''));
});

// A path with these in a question could show another question.
const HOSTILE_NAME = 'safe\u001b[2K\rharmless\n  trusted  all\u202e';

function createHostileDirectory() {
  const workspace = createWorkspace();
  const dir = join(workspace.dir, HOSTILE_NAME);
  mkdirSync(dir);
  return { ...workspace, dir };
}

spec('ERR-5', 'what verbs print shows no control characters of the path of the workspace', async () => {
  const workspace = createHostileDirectory();
  const { dir } = workspace;
  const commands = [
    'init',
    'new other',
    'trust --revoke',
    'trust --revoke',
    'trust --dry-run',
    'trust --yes',
    'trust --list',
    'config',
    'init --capabilities --dry-run',
    'list',
    'list --all',
    'list --manifest --output m',
    'show hello',
    'call hello --name x --dry-run',
    'call nobody',
    'check',
    'doctor',
    'explain hello --as mcp',
    'remove hello',
    'mcp add files --scope project -- true',
    'mcp list',
    'mcp remove files --yes',
    'connect cursor --scope project --dry-run',
    'init --source',
  ];
  const wrong: unknown[] = [];
  for (const command of commands) {
    const run = await wield(workspace, command.split(' '), { cwd: dir });
    const found = `${run.stdout}${run.stderr}`.match(/[\u001b\r\u202e]|^ {2}trusted {2}all/m);
    if (found !== null) wrong.push([command, found[0]]);
  }
  expect(wrong).toEqual([]);
});

specIf(hasPty, NO_PTY, 'POL-33 CLI-31 ERR-5', 'the question of wield trust shows the path as it is', async () => {
  const workspace = createHostileDirectory();
  await wield(workspace, ['init'], { cwd: workspace.dir });
  await wield(workspace, ['trust', '--revoke'], { cwd: workspace.dir });
  const answers = [['[y/N]', 'n\n']] as const;
  const { screen } = await wieldAtTerminal(workspace, ['trust'], { answers });
  expect(screen).toContain(
    `${join(workspace.dir, '..')}/safe<U+001B>[2K<U+000D>harmless\\n  trusted  all<U+202E>? [y/N]`,
  );
});
