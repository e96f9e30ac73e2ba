// Runs the shell sessions of a document: one shell, a temporary home, the built binary on the path.

import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { binary } from './built.js';
import { copyCompiledCode } from './compiled-code.js';
import { ROOT, type Step } from './documents.js';

/** The home directory shown in documents. */
const SHOWN_HOME = '/home/ada';

// Packages that the guides import.
const VENDORS = ['@anthropic-ai', '@ai-sdk', 'ai', 'ollama', 'openai'];

// Programs that a guide starts as servers.
const SERVERS = ['mcp-server-filesystem', 'mcp-server-memory'];

export interface Stage {
  readonly home: string;
  /** The empty project that sessions begin in. */
  readonly project: string;
  readonly env: Record<string, string>;
}

/**
 * Creates an empty project in an empty home, where `wield` is the built binary and the package can be imported. It is
 * removed after the test, or when `atEnd` says.
 */
export function createStage(atEnd: (remove: () => void) => void = onTestFinished): Stage {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-doc-')));
  atEnd(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, 'home');
  const project = join(home, 'site');
  const shims = join(root, 'bin');
  for (const directory of [home, project, shims, join(home, 'node_modules')]) mkdirSync(directory);
  writeFileSync(join(shims, 'wield'), `#!/bin/sh\nexec '${process.execPath}' '${binary()}' "$@"\n`);
  chmodSync(join(shims, 'wield'), 0o755);
  for (const name of SERVERS) symlinkSync(join(ROOT, 'node_modules', '.bin', name), join(shims, name));
  symlinkSync(ROOT, join(home, 'node_modules', 'wield'));
  for (const name of ['@types', 'zod', ...VENDORS])
    symlinkSync(join(ROOT, 'node_modules', name), join(home, 'node_modules', name));
  copyCompiledCode(join(home, '.wield'));
  const env = { PATH: `${shims}:${process.env.PATH}`, HOME: home, LANG: 'C.UTF-8', CI: '1' };
  return { home, project, env };
}

/** Returns the output of each step on both streams, with the home directory shown in documents. */
export async function follow(steps: readonly Step[], stage: Stage): Promise<string[]> {
  const mark = `@@${process.pid}@@`;
  const script = [
    'exec 2>&1 </dev/null',
    ...steps.map(({ command }) => `${command}\n__status=$?; printf '\\n${mark}\\n'; (exit $__status)`),
  ].join('\n');
  const printed = await runShell(script, stage);
  return printed
    .replaceAll(stage.home, SHOWN_HOME)
    .split(`\n${mark}\n`)
    .slice(0, steps.length)
    .map((output) => output.trimEnd());
}

function runShell(script: string, { project, env }: Stage): Promise<string> {
  return new Promise((resolve, reject) => {
    const shell = spawn('bash', ['-c', script], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const chunks: Buffer[] = [];
    shell.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    shell.once('error', reject);
    shell.once('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

/**
 * Returns the document's text if the output matches it, else the output. `…` matches anything on its line, or
 * any number of lines if it is alone.
 */
export function inWordsOf(document: string, printed: string): string {
  const pattern = document
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\\n)*?.*' : line.split('…').map(escapePattern).join('.*')))
    .join('\n');
  return new RegExp(`^${pattern}$`).test(printed) ? document : printed;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
