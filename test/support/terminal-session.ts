// Runs a shell session at a real terminal of a given width, and returns what each step shows.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Stage } from './session.js';

export interface TerminalStep {
  readonly command: string;
  /** Typed when this text appears. */
  readonly answer?: readonly [when: string, typed: string];
}

/** What a step leaves on the screen, and everything it printed: progress that was cleared too. */
export interface Screen {
  readonly shown: string;
  readonly printed: string;
}

/** Returns the screen of each step, with the home directory as `~`. */
export function followAtTerminal(
  steps: readonly TerminalStep[],
  { home, project, env }: Stage,
  columns: number,
): Promise<Screen[]> {
  const mark = `@@${process.pid}@@`;
  const script = join(home, '..', `session-${columns}.sh`);
  writeFileSync(script, steps.map(({ command }) => `${command}\necho '${mark}'\n`).join(''));
  const { CI: _, ...rest } = env;
  return new Promise((resolve, reject) => {
    const child = spawn('script', ['-qefc', `stty cols ${columns} rows 50; bash '${script}'`, '/dev/null'], {
      cwd: project,
      env: { ...rest, TERM: 'xterm', SHELL: '/bin/sh' },
    });
    const answers = steps.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
    let screen = '';
    let seen = 0;
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      screen += chunk;
      const [next] = answers;
      const at = next === undefined ? -1 : screen.indexOf(next[0], seen);
      if (at === -1) return;
      seen = at + next![0].length;
      answers.shift();
      child.stdin.write(next![1]);
    });
    child.once('error', reject);
    child.once('close', () => {
      child.stdin.end();
      const text = screen.replaceAll('\r\n', '\n').replaceAll(home, '~');
      const screens = text.split(`${mark}\n`).slice(0, steps.length);
      resolve(screens.map((printed) => ({ shown: toVisible(printed), printed })));
    });
  });
}

// Applies returns to the start of a line and erased lines, as a terminal does.
function toVisible(text: string): string {
  return text
    .split('\n')
    .map((line) =>
      line
        .split('\r')
        .at(-1)!
        .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
        .trimEnd(),
    )
    .join('\n')
    .trim();
}
