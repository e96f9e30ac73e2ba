// Recognises package runners: programs such as npx, uvx and docker, which install what they run at its first start.

import { basename } from 'node:path';
import type { ServerEntry } from '../../core/upstream.js';

/** A package runner: its program, and the words after it that make it install and run something. */
interface Runner {
  readonly program: string;
  readonly words: readonly string[];
}

// The one table of them. `npx-cli.js` is npx where node is named as the command.
const RUNNERS: readonly Runner[] = [
  ...['npx', 'npx-cli.js', 'npm exec', 'npm x', 'pnpx', 'pnpm dlx', 'yarn dlx', 'bunx', 'bun x'],
  ...['uvx', 'uv tool run', 'uv run', 'pipx run'],
  ...['docker run', 'docker compose run', 'podman run', 'nerdctl run'],
  ...['go run', 'deno run', 'cargo run', 'dotnet run', 'dnx', 'nix run'],
].map((text) => {
  const [program = '', ...words] = text.split(' ');
  return { program, words };
});

// Programs that run another one: the rest of the command line, or a command of a shell.
const WRAPPERS = new Set('env nice ionice nohup setsid time timeout stdbuf sudo node wsl'.split(' '));
const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ash', 'fish', 'cmd', 'powershell', 'pwsh']);
const MAX_WRAPPERS = 4;

/** Returns the program that installs what a command line runs, such as `npx`; undefined if it runs no package runner. */
export function findRunner(argv: readonly string[], depth = 0): string | undefined {
  const [command = '', ...words] = argv;
  const program = programOf(command);
  const found = RUNNERS.find((runner) => runner.program === program && startsWith(words, runner.words));
  if (found !== undefined) return program === 'npx-cli.js' ? 'npx' : program;
  if (depth >= MAX_WRAPPERS) return undefined;
  if (SHELLS.has(program)) {
    const script = words.find((_, at) => at > 0 && isCommandFlag(words[at - 1]!)) ?? '';
    const rest = words.slice(words.findIndex(isCommandFlag) + 1);
    // `cmd /c npx …` has the words apart.
    const lines = rest.length > 1 && !/\s/.test(script) ? [rest] : script.split(/&&|\|\||[;|\n]/).map(toWords);
    return firstOf(lines, depth);
  }
  if (!WRAPPERS.has(program)) return undefined;
  // Options, their values, assignments and durations come before the program.
  const isBefore = (word: string, at: number): boolean =>
    /^-|^\w+=|^\d+\w?$/.test(word) || (words[at - 1]?.startsWith('-') === true && !isProgram(word));
  const at = words.findIndex((word, index) => !isBefore(word, index));
  return at === -1 ? undefined : findRunner(words.slice(at), depth + 1);
}

export function runnerOf(server: ServerEntry): string | undefined {
  return server.kind === 'stdio' ? findRunner([server.command, ...server.args]) : undefined;
}

/** Whether a command line is that of npx, whose cache of packages can be incomplete. */
export function isNpx(runner: string | undefined): boolean {
  return runner === 'npx' || runner === 'npm';
}

// Whether a word is not the value of an option before it.
function isProgram(word: string): boolean {
  const program = programOf(word);
  return RUNNERS.some((runner) => runner.program === program) || WRAPPERS.has(program) || SHELLS.has(program);
}

function firstOf(lines: readonly (readonly string[])[], depth: number): string | undefined {
  for (const line of lines) {
    const at = line.findIndex((word) => !/^(?:exec|command|\w+=.*)$/.test(word));
    const found = at === -1 ? undefined : findRunner(line.slice(at), depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

// `-c`, `-lc`, `/c`, `-Command`.
function isCommandFlag(word: string): boolean {
  return /^(?:-[a-z]*c|\/[ck]|-command)$/i.test(word);
}

function toWords(line: string): string[] {
  return line
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/^["']|["']$/g, ''));
}

// `/usr/bin/npx`, `C:\node\npx.cmd`.
function programOf(command: string): string {
  return basename(command.replaceAll('\\', '/'))
    .toLowerCase()
    .replace(/\.(?:cmd|exe|bat|ps1)$/, '');
}

// Whether the first words besides options are these. The word after an option may be its value.
function startsWith(words: readonly string[], wanted: readonly string[]): boolean {
  let found = 0;
  for (let at = 0; at < words.length && found < wanted.length; at++) {
    const word = words[at]!;
    if (word.startsWith('-')) continue;
    if (word === wanted[found]) found++;
    else if (!words[at - 1]?.startsWith('-')) return false;
  }
  return found === wanted.length;
}
