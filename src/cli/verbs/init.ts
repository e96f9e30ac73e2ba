// `wield init`: a first tool and a commented configuration, in a directory that has none.

import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { printJson } from '../print.js';
import type { Verb } from '../verb.js';

const HELLO = `#!/bin/sh
# @description Say hello.
# @param *name string   Whom to greet
# @param shout boolean  In capital letters
# @readonly
# @example {"name":"Ada"}

# Parameters arrive as variables (WIELD_PARAM_NAME) and as one JSON object on standard input.
greeting="Hello, $WIELD_PARAM_NAME!"
if [ "\${WIELD_PARAM_SHOUT:-false}" = true ]; then
  printf '%s\\n' "$greeting" | tr '[:lower:]' '[:upper:]'
else
  printf '%s\\n' "$greeting"
fi
`;

const CONFIG = `# Settings of this workspace. They can only narrow what your own ~/.wield/config.toml allows.

# allowed-tools = "* #destructive($deny)"   # everything but what can destroy something

# [limits]
# timeout = "1m"        # stop a tool after this long (5m)
# output = "4M"         # stop a tool that writes more (16M)

# [tools.hello]
# timeout = "5s"
`;

export const init: Verb = {
  name: 'init',
  usage: 'init [--json]',
  summary: 'Make a first tool in this directory. Overwrites nothing.',
  examples: ['wield init'],
  flags: {},
  positionals: 0,
  async run({ terminal, json, cwd, toolbox: open }) {
    const agents = join(cwd, '.agents');
    const isNew = !existsSync(agents);
    const files = [
      {
        name: '.agents/tools/hello',
        text: HELLO,
        mode: 0o755,
        about: 'a shell script with a comment header',
      },
      { name: '.agents/config.toml', text: CONFIG, mode: 0o644, about: 'settings, all commented out' },
    ];
    const created: string[] = [];
    const lines: [string, string, string][] = [];
    mkdirOrFail(join(agents, 'tools'));
    for (const { name, text, mode, about } of files) {
      const made = writeNew(join(cwd, name), text, mode);
      if (made) created.push(name);
      lines.push([made ? 'created' : 'kept', name, made ? about : 'was there already']);
    }
    // Only what this command made itself is known to be harmless (CLI-5).
    const {
      state: { trust },
      machine: { insideCall, world },
    } = open({ workdir: cwd });
    if (isNew && !insideCall) {
      trust.trust(cwd, new Date(world.now()));
      lines.push(['trusted', 'this workspace', 'wield trust --revoke undoes it']);
    }
    if (json) {
      printJson(terminal, { ok: true, workdir: cwd, created, trusted: trust.isTrusted(cwd) });
      return 0;
    }
    for (const [what, thing, about] of lines)
      terminal.out(`  ${what.padEnd(8)} ${thing.padEnd(22)} ${about}\n`);
    if (!trust.isTrusted(cwd)) {
      terminal.out(
        isNew
          ? '\n  A tool made this: a person must run wield trust to let a model call it.\n'
          : '\n  .agents was here already: look at its tools, then run wield trust to let a model call them.\n',
      );
    }
    terminal.out(
      '\n  Try      wield call hello --name Ada\n  Connect  wield connect   shows the agents that can start wield serve\n',
    );
    return 0;
  },
};

function mkdirOrFail(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
  } catch (error) {
    throw new ToolError('io', `cannot make ${directory}: ${(error as Error).message}`, {
      hint: 'check who may write here, or name another directory with --cwd',
    });
  }
}

function writeNew(path: string, text: string, mode: number): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new ToolError('io', `cannot write ${path}: ${(error as Error).message}`, {
      hint: 'check who may write here',
    });
  }
  // Exactly these bits, whatever the umask leaves of them.
  chmodSync(path, mode);
  return true;
}
