// A terminal session of six people with a job, compared line by line at 80 and 120 columns.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { THOROUGH } from '../../support/effort.js';
import { hasPty, NO_PTY } from '../../support/pty.js';
import { createStage, inWordsOf, type Stage } from '../../support/session.js';
import { specIf } from '../../support/spec.js';
import { followAtTerminal, type TerminalStep } from '../../support/terminal-session.js';

const ROOT = resolve(fileURLToPath(import.meta.url), '../../../..');
const WIDTHS = [80, 120] as const;
let scenes = 0;

/** A step and what the terminal shows: the same at both widths, or a text for each. */
type SceneStep = TerminalStep & {
  readonly shows: string | { readonly 80: string; readonly 120: string };
  /** Shown while it runs. */
  readonly meanwhile?: RegExp;
  /** It changes something, so it runs at one width only. */
  readonly once?: true;
};

// What reads runs at both widths in one session; what changes something runs at the first, in `npm run thorough` at each.
function scene(ids: string, title: string, prepare: (stage: Stage) => void, steps: readonly SceneStep[]): void {
  const at = scenes++;
  for (const first of THOROUGH ? WIDTHS : [WIDTHS[at % WIDTHS.length]!])
    specIf(hasPty, NO_PTY, ids, `${title}, at ${first} columns and the other width`, async () => {
      const stage = createStage();
      prepare(stage);
      const other = WIDTHS.find((width) => width !== first)!;
      const played = steps.flatMap((step) =>
        (step.once ? [first] : [first, other]).map((columns) => ({ step, columns })),
      );
      const screens = await followAtTerminal(
        played.map(({ step, columns }) => ({ ...step, command: `stty cols ${columns}; ${step.command}` })),
        stage,
        first,
      );
      const printed = screens.map(({ shown }) => shown);
      const expected = played.map(({ step: { shows }, columns }) =>
        (typeof shows === 'string' ? shows : shows[columns]).trim(),
      );
      const show = (outputs: readonly string[]) =>
        played.map(({ step, columns }, at) => `${columns}$ ${step.command}\n${outputs[at]}`);
      expect(show(expected.map((text, at) => inWordsOf(text, printed[at] ?? 'nothing')))).toEqual(show(expected));
      // The directory of the clone may be long.
      for (const line of printed.join('\n').replaceAll(ROOT, '').split('\n'))
        expect(line.length, line).toBeLessThanOrEqual(120);
      for (const [at, { step }] of played.entries())
        if (step.meanwhile !== undefined) expect(screens[at]!.printed).toMatch(step.meanwhile);
    });
}

function write(stage: Stage, name: string, text: string, mode = 0o644): void {
  const path = join(stage.project, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

const DEPLOY = `#!/usr/bin/env bash
# @description Publish the site to staging.
# @param *branch string Branch to publish
# @param dry boolean    Show what would happen
# @destructive
echo "publishing $WIELD_PARAM_BRANCH"
`;

const BUILT = `[[items]]
kind = "tool"
name = "detect"
path = "tools/detect"
bin = "detect.sh"
build = "echo built"

[[items]]
kind = "skill"
name = "scan"
path = "skills/scan"
`;

// A client that calls `deploy` over MCP, as an agent would.
const CURSOR = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'cursor', version: '1' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/call', params: { name: 'deploy', arguments: { branch: 'main' } } },
]
  .map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }))
  .join('\n');

function commit(stage: Stage, directory: string): void {
  const cwd = join(stage.home, directory);
  const git = (...args: string[]): Buffer => execFileSync('git', args, { cwd, env: stage.env });
  git('init', '-q', '-b', 'main');
  git('config', '--global', 'user.name', 'Ada');
  git('config', '--global', 'user.email', 'ada@example.com');
  git('add', '.');
  git('commit', '-qm', 'First');
}

describe('scenes', () => {
  scene('CLI-5 CLI-6 CLI-8', 'someone with a repository and an agent', () => {}, [
    {
      command: 'wield init',
      once: true,
      shows: `
  created  .agents/tools/hello    a shell script with a comment header
  created  .agents/config.toml    settings, most of them commented out
  trusted  this workspace         wield trust --revoke undoes it

  Try      wield call hello --name Ada
  Connect  wield connect   adds wield to Claude Code, Cursor, …`,
    },
    { command: 'wield call hello --name Ada', shows: 'Hello, Ada!' },
    {
      command: `printf '%s' '${DEPLOY}' > .agents/tools/deploy; chmod +x .agents/tools/deploy; wield list`,
      shows: `
  NAME     FORMAT   DESCRIPTION
  deploy   script   Publish the site to staging.   destructive
  hello    script   Say hello.`,
    },
    {
      command: 'wield call deploy --brnch main; echo $?',
      shows: `
error  unknown parameter "brnch"
  hint  did you mean --branch? wield deploy --help shows all
2`,
    },
  ]);

  scene(
    'TJS-4 CLI-8',
    'someone who wraps a command line',
    (stage) => {
      const tools = {
        tools: [
          {
            name: 'notes_search',
            description: 'Search notes.',
            parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
          },
          {
            name: 'notes_history',
            description: 'Show the history of a note.',
            parameters: { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] },
          },
        ],
        allowlist: { 'notesmd-cli': ['search'], git: ['log'] },
        execution: [
          {
            tool: 'notes_search',
            binary: 'notesmd-cli',
            subcommand: 'serch',
            args: [{ param: 'query', kind: 'positional' }],
          },
          { tool: 'notes_history', binary: 'git', subcommand: 'log', args: [{ param: 'note', kind: 'positional' }] },
        ],
      };
      write(stage, '.agents/skills/notes/tools.json', JSON.stringify(tools, null, 2));
      write(stage, '.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: Search notes.\n---\nNotes.\n');
      write(stage, '../bin/notesmd-cli', '#!/bin/sh\n', 0o755);
    },
    [
      {
        command: 'export PATH="$HOME/bin:$PATH"; wield check .agents/skills/notes',
        shows: {
          80: `
  notes/tools.json
    error    /execution/0/subcommand  "serch" is not in allowlist["notesmd-cli"]
             hint  did you mean "search"?
    warning  /allowlist/git           "git" can run programs through its
                                      arguments
             hint  restrict each argument with an enum or a pattern
  1 error, 1 warning`,
          120: `
  notes/tools.json
    error    /execution/0/subcommand  "serch" is not in allowlist["notesmd-cli"]
             hint  did you mean "search"?
    warning  /allowlist/git           "git" can run programs through its arguments
             hint  restrict each argument with an enum or a pattern
  1 error, 1 warning`,
        },
      },
      {
        command: `sed -i s/serch/search/ .agents/skills/notes/tools.json; wield call notes_search --query '--output=/etc/passwd'`,
        shows: `
error  query starts with "-": notesmd-cli could read it as an option
  hint  remove the leading "-"; the author of the tool can allow it with "allowDash": true`,
      },
      {
        command: 'wield call notes_search --query budget --dry-run',
        shows: `
  would run   ~/bin/notesmd-cli search budget
  in          ~/site
  with        HOME LANG PATH TERM
  allowlist   notesmd-cli search
  policy      allow    by default`,
      },
    ],
  );

  scene(
    'MOD-20 MOD-22',
    'someone who builds an agent in TypeScript',
    (stage) =>
      write(
        stage,
        '.agents/tools/note.tool.ts',
        `import { defineTool } from "wield";
import { z } from "zod";

export const noteRead = defineTool({
  name: "note_read",
  description: "Read a note.",
  group: "note",
  inputSchema: z.object({ path: z.string().describe("Path"), limit: z.number().int().default(20) }),
  execute: async ({ path, limit }) => \`\${limit} lines of \${path}\`,
});
`,
      ),
    [
      { command: 'wield trust --yes >/dev/null; wield note read inbox.md --limit 5', shows: '5 lines of inbox.md' },
      {
        command: 'wield note read --help',
        shows: `
Read a note.

  wield note read <path> [--limit 20]

  *path    string    Path
   limit   integer   default 20

Example
  wield note read --path path

from .agents/tools/note.tool.ts`,
      },
    ],
  );

  scene(
    'CLI-4 HOOK-2 INS-7',
    'a team that shares tools',
    (stage) => {
      const repository = '../agent-tools';
      write(stage, `${repository}/wield.toml`, BUILT);
      write(stage, `${repository}/tools/detect/detect.sh`, '#!/bin/sh\n# @description Detect.\necho 1\n', 0o755);
      const scan = '---\nname: scan\ndescription: Scan.\n---\nRun {{ns:tool:detect}}.\n';
      write(stage, `${repository}/skills/scan/SKILL.md`, scan);
      writeFileSync(join(stage.home, 'agent-tools/model.bin'), randomBytes(3 << 20));
      commit(stage, 'agent-tools');
    },
    [
      {
        command: 'wield add file://$HOME/agent-tools --namespace acme --register-only',
        once: true,
        meanwhile: /cloning home\/agent-tools {2}█{20} {2}3\.\d\d MiB/,
        shows: `
  added    home/agent-tools  file://~/agent-tools
  pinned   …  (branch main)
  offers   1 tool, 1 skill
  nothing installed; run wield install NAME, or wield install --all`,
      },
      {
        command: 'wield install acme:scan',
        once: true,
        answer: ['[y/N]', 'y\n'],
        shows: `
  install  tool acme:detect (needed by scan)
  install  skill acme:scan
  link     ~/.claude/skills/acme-scan
  build hook of acme:detect of home/agent-tools at …, run in a staging directory:
      echo built
  Install both and run the hook? [y/N] y
  | built
  installed  tool acme:detect  …
  installed  skill acme:scan  …
  linked     ~/.claude/skills/acme-scan`,
      },
      {
        command: 'cd ~/agent-tools; echo "echo 2" >> tools/detect/detect.sh; git commit -qam "Say two"; cd ~/site',
        once: true,
        shows: '',
      },
      {
        command: 'wield upgrade --dry-run',
        shows: `
  acme:detect  … → …
    detect.sh  +1 −0
        echo 1
      + echo 2
  build hook of acme:detect of home/agent-tools at …, run in a staging directory:
      echo built
  wield … itself stays; to update it: …`,
      },
    ],
  );

  scene(
    'CTX-2',
    'someone whose agent drowns in tools and output',
    (stage) =>
      write(
        stage,
        '.agents/tools/crm_export',
        `#!/bin/sh
# @description Export all customers.
# @readonly
awk 'BEGIN { printf "["; for (i = 1; i <= 20113; i++) printf "%s{\\"id\\":%d,\\"amount\\":%d}", (i == 1 ? "" : ","), i, i % 100; print "]" }'
`,
        0o755,
      ),
    [
      {
        once: true,
        command: `wield call crm_export --json > result.json; node -e 'const { id, size, kind, shape } = JSON.parse(require("fs").readFileSync("result.json")).meta.handle; console.log(size, kind, shape); require("fs").writeFileSync("id", id)'`,
        shows: '489702 json [{ id, amount }] × 20113',
      },
      { command: `wield context query "$(cat id)" '$sum(amount)'`, shows: '995041' },
      {
        // What `wield serve --mode search` shows a model, however many tools there are.
        command: 'wield tokens --mode search',
        shows: `
  TOOL            SERVER   TOKENS
  read_result              …
  query_result             …
  search_tools             …
  describe_tool            …
  call_tool                …

  about … tokens for 5 tools, sent by mcp`,
      },
    ],
  );

  scene(
    'POL-9 OBS-4 CLI-14',
    'someone who must answer for it',
    (stage) => {
      write(stage, '.agents/tools/deploy', DEPLOY, 0o755);
      write(stage, '.agents/tools/notes.sh', '#!/bin/sh\n# @description Notes.\n', 0o755);
      write(stage, '.agents/tools/report', '#!/usr/bin/env python3\n# @description Report.\n', 0o755);
      write(stage, '../.pyenv/shims/python3', '#!/bin/sh\nsleep 0.1\necho Python 3.11.2\n', 0o755);
      write(stage, '../requests.jsonl', `${CURSOR}\n`);
      mkdirSync(join(stage.home, '.wield'), { recursive: true });
      writeFileSync(join(stage.home, '.wield/config.toml'), '\n[trust]\nrules = ["deploy(branch=main,$deny)"]\n');
    },
    [
      {
        command: `wield explain deploy --input '{"branch":"main"}' --as mcp`,
        shows: '  deny   ~/.wield/config.toml:3   deploy(branch=main,$deny)',
      },
      {
        command: 'wield call deploy --branch main; echo $?',
        once: true,
        shows: `
error  deploy was not run: a rule denies it: deploy(branch=main,$deny)
  hint  the configuration can allow it; see: wield explain deploy
5`,
      },
      {
        // Open until the server has answered.
        once: true,
        command: `(cat ~/requests.jsonl; sleep 2) | wield serve 2>/dev/null | grep -c '"isError":true'`,
        shows: '1',
      },
      {
        command: 'wield audit --denied --since 1d',
        shows: `
  TIME       CALLER       TOOL     WHY
  …   cli          deploy   deploy(branch=main,$deny)
  …   mcp:cursor   deploy   deploy(branch=main,$deny)`,
      },
      {
        command: 'export PATH="$HOME/.pyenv/shims:$PATH"; wield doctor',
        shows: {
          80: `
  ok       node                    …
…
  ok       trust                   this workspace is not trusted: models cannot
                                   call its tools
  ok       tools                   2 tools in ~/site
  warning  .agents/tools/report    python3 is a version manager's shim (…
                                   start); write its real path instead
  problem  .agents/tools/notes.sh  not listed: a dot in the name; rename it to
                                   "notes"`,
          120: `
  ok       node                    …
…
  ok       trust                   this workspace is not trusted: models cannot call its tools
  ok       tools                   2 tools in ~/site
  warning  .agents/tools/report    python3 is a version manager's shim (… a start); write its real path instead
  problem  .agents/tools/notes.sh  not listed: a dot in the name; rename it to "notes"`,
        },
      },
    ],
  );
});
