// The built binary at a real terminal, through `script` of util-linux: what a person sees, and what they type.

import { spawn } from 'node:child_process';
import { binary } from './built.js';
import { copyCompiledCode } from './compiled-code.js';
import { hasProgram, notInstalled } from './machine.js';
import type { Workspace } from './workspace.js';

/** Whether script(1) of util-linux is installed. */
export const hasPty = process.platform === 'linux' && hasProgram('script');
export const NO_PTY = notInstalled('script');

export interface PtyRun {
  readonly status: number | null;
  /** All output, including echoed input. */
  readonly screen: string;
}

type Typed = string | ((screen: string) => Promise<string>);

export interface PtyOptions {
  /** Input to type once this text has appeared; a function gets the output so far. */
  readonly answers?: readonly (readonly [when: string, typed: Typed])[];
  readonly env?: Record<string, string>;
}

/** Runs `wield ...args` in a terminal until it exits. */
export function wieldAtTerminal(
  workspace: Workspace,
  args: readonly string[],
  { answers = [], env = {} }: PtyOptions = {},
): Promise<PtyRun> {
  const command = [process.execPath, binary(), ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  copyCompiledCode(workspace.env.WIELD_HOME);
  return new Promise((resolve, reject) => {
    const child = spawn('script', ['-qefc', command.join(' '), '/dev/null'], {
      cwd: workspace.dir,
      env: { ...workspace.env, TERM: 'xterm', SHELL: '/bin/sh', ...env },
    });
    const left = [...answers];
    let screen = '';
    const onData = (chunk: Buffer): void => {
      screen += chunk.toString('utf8');
      while (left.length > 0 && screen.includes(left[0]![0])) {
        const [, typed] = left.shift()!;
        if (typeof typed === 'string') child.stdin.write(typed);
        else typed(screen.replaceAll('\r\n', '\n')).then((text) => child.stdin.write(text), reject);
      }
    };
    child.stdout.on('data', onData);
    child.stderr.on('data', onData);
    child.stdin.on('error', () => {});
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, screen: screen.replaceAll('\r\n', '\n') }));
  });
}
