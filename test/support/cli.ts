// Runs the built binary as a stranger would: a process of its own, its streams and its exit status.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Workspace } from './workspace.js';

export const BINARY = fileURLToPath(new URL('../../dist/cli/wield.cjs', import.meta.url));

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly stdin?: string;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

/** `wield ...args` in a workspace, to its end. */
export function wield(
  workspace: Workspace,
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BINARY, ...args], {
      cwd: options.cwd ?? workspace.dir,
      env: { ...workspace.env, ...options.env },
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.once('error', reject);
    child.once('close', (status) =>
      resolve({
        status,
        stdout: Buffer.concat(stdout).toString('utf8'),
        stderr: Buffer.concat(stderr).toString('utf8'),
      }),
    );
    child.stdin.on('error', () => {});
    child.stdin.end(options.stdin ?? '');
  });
}

/** The one JSON document that `--json` prints. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into documents whose shape they are there to prove
export function json(run: CliRun): any {
  return JSON.parse(run.stdout);
}
