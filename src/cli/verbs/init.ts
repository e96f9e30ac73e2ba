// `wield init`: offers what a repository already has, or creates a first tool, with a commented configuration.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { orNothing } from '../../core/error.js';
import { count, sanitize, spellOut } from '../../core/text.js';
import { renewTrust } from '../clients.js';
import { ASKS } from '../consent.js';
import type { TaskFile } from '../found.js';
import { printJson, report } from '../print.js';
import { findOthers, mayTrust, printRunnable } from '../runnable.js';
import { createFile, findTaken, schemaAddress } from '../templates.js';
import { toggle, usageError, type Verb, type VerbCall } from '../verb.js';

const HELLO = `#!/bin/sh
# @description Say hello.
# @param *name string   Who to greet
# @param shout boolean  Use capital letters
# @readonly
# @example {"name":"Ada"}

# Parameters are passed as variables (WIELD_PARAM_NAME) and as a JSON object on stdin.
greeting="Hello, $WIELD_PARAM_NAME!"
if [ "\${WIELD_PARAM_SHOUT:-false}" = true ]; then
  printf '%s\\n' "$greeting" | tr '[:lower:]' '[:upper:]'
else
  printf '%s\\n' "$greeting"
fi
`;

const CONFIG_FILE = '.agents/config.toml';
const CONFIG = `# Settings of this workspace. They can only restrict what your ~/.wield/config.toml allows.

# allowed-tools = "* #destructive($deny)"   # all tools except destructive ones

# [limits]
# timeout = "1m"        # default timeout of a tool (5m)
# output = "4M"         # maximum output of a tool (16M)

# Ask before something is sent out once a session has read both private and untrusted content.
[flow]
trifecta = "ask"

# [labels]
# untrusted = ["fetch_*"]    # returns what others wrote
# private = ["read_mail"]    # returns what must not get out
# egress = ["send_*"]        # sends something out
`;

const HELLO_CONFIG = `
# [tools.hello]
# timeout = "5s"
`;

export const init: Verb = {
  usage: 'init [--source [DIR]] [--dry-run] [--yes]\n  wield init --index [DIR]\n  wield init --capabilities',
  summary: 'Offer the tasks of this directory, or create a first tool. Existing files are kept.',
  examples: ['wield init', 'wield init --source'],
  flags: {
    source: toggle('Create a commented wield.toml, to publish tools and skills'),
    index: toggle('Write the index of a skill library'),
    capabilities: toggle('Write a summary of the tools for agents'),
    'dry-run': ASKS['dry-run'],
    yes: toggle('Offer the tasks that look harmless, and trust what else is in the directory, without asking', 'y'),
  },
  positionals: 1,
  async run(call) {
    const { terminal, json, cwd, flags, positionals, toolbox: open, dryRun } = call;
    if (flags.has('source')) return initSource(call);
    if (positionals[0] !== undefined)
      throw usageError(`unexpected argument "${sanitize(positionals[0])}"`, 'wield init --help');
    const toolbox = open({ workdir: cwd });
    const {
      state: { trust },
      machine: { insideCall, world },
    } = toolbox;
    const found = await findOthers(toolbox);
    const { findScripts, findServers, findTasks } = await import('../found.js');
    const { chooseTasks, describeTasks, findFirstCall, hasTaskSettings, writeTasks } = await import(
      '../offer-tasks.js'
    );
    const hasTasks = hasTaskSettings(toolbox);
    const tasks = hasTasks ? [] : findTasks(toolbox);
    // A process that a tool started cannot choose (CLI-31).
    const chosen = insideCall ? [] : await chooseTasks(call, tasks);
    const hints = [...findScripts(cwd), ...findServers(toolbox)];
    const template = `#:schema ${schemaAddress('config', cwd, CONFIG_FILE)}\n${CONFIG}`;
    const files = [
      { name: '.agents/tools/hello', text: HELLO, mode: 0o755, about: 'a shell script with a comment header' },
      { name: CONFIG_FILE, text: template + HELLO_CONFIG, mode: 0o644, about: 'settings, most of them commented out' },
    ];
    const hello = join(cwd, '.agents/tools/hello');
    const taken = await findTaken(toolbox, 'hello', hello);
    const wanted = taken === undefined ? files : files.slice(1);
    const created: string[] = [];
    const lines = describeTasks(tasks, chosen, chosen.length === 0 ? 'could offer:' : 'offers');
    for (const { file, has, command } of hints.slice(0, MAX_HINTS)) lines.push(['found', `${has} in ${file}`, command]);
    const write = async (): Promise<void> => {
      for (const { name, text, mode, about } of hasTasks || chosen.length > 0 ? [] : wanted) {
        const path = join(cwd, name);
        const made = dryRun ? !existsSync(path) : createFile(path, text, mode);
        if (made) created.push(name);
        lines.push([made ? (dryRun ? 'create' : 'created') : 'exists', name, made ? about : 'not changed']);
      }
    };
    if (dryRun || insideCall) await write();
    else await renewTrust(toolbox, write);
    if (!hasTasks && chosen.length === 0 && taken !== undefined) lines.push(['exists', 'hello', taken]);
    if (hasTasks) lines.push(['exists', CONFIG_FILE, 'not changed']);
    // A call of another tool is not proposed.
    const quick = findFirstCall(chosen, world);
    const first = quick && (await findTaken(toolbox, quick.name, join(cwd, 'package.json'))) ? undefined : quick;
    if (chosen.length > 0) {
      const isNew = !existsSync(join(cwd, CONFIG_FILE));
      if (!dryRun) await writeTasks(call, { files: tasks, chosen, template });
      if (isNew) created.push(CONFIG_FILE);
      const more = tasks.some((file) => file.tasks.some(({ tool }) => !chosen.includes(tool)))
        ? '; include adds more'
        : '';
      const about = `${isNew ? 'settings, with' : 'added'} ${count(chosen.length, 'task')} in [tasks]${more}`;
      lines.push([`${isNew ? 'create' : 'change'}${dryRun ? '' : 'd'}`, CONFIG_FILE, about]);
    }
    const document = {
      workdir: cwd,
      created,
      ...(tasks.length + hints.length === 0 ? {} : { found: { tasks: tasks.map(toTaskJson), others: hints } }),
      ...(tasks.length === 0 ? {} : { offered: chosen.map(({ name }) => name) }),
    };
    if (dryRun) {
      const wouldTrust = !insideCall && !trust.isTrusted(cwd) && found === undefined;
      if (json) return printJson(terminal, { ok: true, dryRun: true, ...document, trusted: wouldTrust });
      if (wouldTrust) lines.push(['trust', 'this workspace', '']);
      for (const line of lines) terminal.out(`  ${formatLine(line)}\n`);
      if (found !== undefined) printRunnable(terminal, found);
      return 0;
    }
    // Trusted only if nothing else becomes runnable by it, or the user agrees to that (CLI-5).
    if (!insideCall && !trust.isTrusted(cwd) && (await mayTrust(call, found))) {
      await trust.trust(cwd, new Date(world.now()));
      lines.push(['trusted', 'this workspace', 'wield trust --revoke undoes it']);
    }
    if (json) return printJson(terminal, { ok: true, ...document, trusted: trust.isTrusted(cwd) });
    for (const line of lines) terminal.out(`  ${formatLine(line)}\n`);
    if (!trust.isTrusted(cwd)) {
      terminal.out(
        found === undefined
          ? '\n  Created from inside a tool call, so not trusted: run wield trust to let models call it.\n'
          : '\n  Not trusted, because there was something here before. Review it, then run wield trust.\n',
      );
    }
    const needs = first?.missing === undefined ? '' : `   needs ${first.missing}, which is not installed`;
    const isHello = taken === undefined && orNothing(() => readFileSync(hello, 'utf8')) === HELLO;
    const example = first === undefined ? (isHello ? 'call hello --name Ada' : 'list') : `call ${first.name}${needs}`;
    terminal.out(`\n  Try      wield ${example}\n`);
    const some = tasks.flatMap((file) => file.tasks);
    if (first === undefined && some.some(({ harmless }) => harmless))
      terminal.out('  Offer    wield init --yes   offers the tasks that look harmless\n');
    else if (first === undefined && some.length > 0)
      terminal.out('  Offer    wield init   at a terminal, to choose from the tasks\n');
    terminal.out('  Connect  wield connect   adds wield to Claude Code, Cursor, …\n');
    return 0;
  },
};

const MAX_HINTS = 3;
function toTaskJson({ file, tasks, fault }: TaskFile) {
  const names = (wanted: boolean): string[] =>
    tasks.filter(({ harmless }) => harmless === wanted).map(({ tool }) => tool.name);
  return { file, harmless: names(true), others: names(false), fault: fault ?? null };
}

function formatLine([what, thing, about]: readonly [string, string, string]): string {
  return `${what.padEnd(8)} ${thing.padEnd(22)} ${about}`.trimEnd();
}

const MANIFEST = `[source]
# description = "What it contains"
# namespace = "team"           # items are named team:name
# roots = ["packages/*"]       # directories to search instead of the root

# [[hooks]]                    # runs when the source is added, if the user approves it
# run = "make"
`;

async function initSource(call: VerbCall): Promise<number> {
  const { cwd, positionals, dryRun } = call;
  const directory = resolve(cwd, positionals[0] ?? '.');
  const { MANIFEST_FILES } = await import('../../install/sources/load-manifest.js');
  const existing = MANIFEST_FILES.find((name) => existsSync(join(directory, name)));
  const file = existing ?? 'wield.toml';
  const created = existing === undefined ? [file] : [];
  if (dryRun) {
    const text = `  ${existing === undefined ? 'create' : 'exists'}   ${spellOut(join(directory, file))}\n`;
    return report(call, { dryRun: true, workdir: directory, created }, text);
  }
  if (existing === undefined) createFile(join(directory, file), MANIFEST, 0o644);
  const { items } = (await import('../../install/sources/check.js')).checkSource(directory, false);
  return report(
    call,
    { workdir: directory, created, items },
    `  ${existing === undefined ? 'created' : 'exists '}  ${spellOut(join(directory, file))}\n  offers   ${count(items, 'item')}; wield check shows problems\n`,
  );
}
