// `wield config`: shows the effective configuration with the file and line of each value, and manages the agent homes.

import { join, relative, resolve } from 'node:path';
import { editConfig, readConfig, writeConfig } from '../../clients/config-file.js';
import { diffOf } from '../../clients/connect.js';
import { valueAt } from '../../clients/forms/form.js';
import { tomlForm } from '../../clients/forms/toml.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { quoteOutside, revealHidden, sanitize } from '../../core/text.js';
import { expandHome } from '../../files/home.js';
import { agentHomes, isSameDirectory } from '../../install/environment.js';
import { previewRepairs, repairInstalled } from '../../install/repair.js';
import { toReadOnlyEnvironment } from '../../install/toolbox-environment.js';
import type { NodeToolbox } from '../../node.js';
import { ASKS, confirm, printDiff, toShownDiff } from '../consent.js';
import { withInstalling } from '../installing.js';
import { printJson, report } from '../print.js';
import { printTable } from '../table.js';
import { option, unknownChoice, usageError, type Verb, type VerbCall } from '../verb.js';

export const config: Verb = {
  usage: 'config [--json]\n  wield config homes [list | add DIR | remove DIR] [--preset NAME] [--dry-run] [--yes]',
  summary: 'Show the effective configuration, with the file and line of each value; or manage the agent homes.',
  examples: ['wield config', 'wield config homes add --preset codex'],
  flags: { preset: option('NAME', 'The agent home of gemini, codex, universal or windsurf'), ...ASKS },
  positionals: 3,
  completes: ['homes'],
  async run(call) {
    const { terminal, json, positionals, toolbox } = call;
    // mind says lobes.
    if (positionals[0] === 'homes' || positionals[0] === 'lobes') return configHomes(call);
    if (positionals[0] !== undefined && positionals[0] !== 'show')
      throw usageError(`unexpected argument "${quoteOutside(positionals[0], 60)}"`, 'wield config --help');
    const { fault, problems, entries } = toolbox().state.configuration();
    if (json) return printJson(terminal, { ok: true, values: entries(), problems, fault: fault ?? null });
    const rows = entries().map(({ key, shown, file, line }) => [
      quoteOutside(revealHidden(key), 200),
      quoteOutside(revealHidden(shown), 2000),
      file === null ? 'default' : `${file}:${line}`,
    ]);
    printTable(terminal, ['KEY', 'VALUE', 'FROM'], rows, 1);
    if (fault !== undefined)
      terminal.err(`\n${terminal.paint('red', 'calls are blocked', 'err')}: ${sanitize(fault)}\n`);
    for (const { path, message, hint } of problems) {
      terminal.err(
        `\n${terminal.paint('yellow', 'problem', 'err')}  ${sanitize(`${path}: ${message}\n  hint  ${hint}`)}\n`,
      );
    }
    return 0;
  },
};

/** Agent homes of known programs; `project` ones are below the given directory. */
const PRESETS: Readonly<Record<string, { readonly path: string; readonly project?: true }>> = {
  gemini: { path: '~/.gemini/config' },
  codex: { path: '~/.agents' },
  universal: { path: '~/.agents' },
  windsurf: { path: '.windsurf', project: true },
};

/** The positionals are `homes`, an action and a directory. */
async function configHomes(call: VerbCall): Promise<number> {
  const { positionals, terminal, json, toolbox: open, dryRun } = call;
  const [, action = 'list', directory] = positionals;
  const toolbox = open();
  const { world } = toolbox.machine;
  const configured = toolbox.state.configuration().settings.homes;
  const current = configured.length > 0 ? configured : ['~/.claude'];
  if (action === 'list') {
    const homes = agentHomes(configured, world);
    return report(call, { homes }, homes.map((home) => `  ${sanitize(home)}\n`).join(''));
  }
  if (action !== 'add' && action !== 'remove')
    throw unknownChoice('action', action, ['list', 'add', 'remove'], 'wield config homes');
  const home = toHome(call, directory);
  const at = (one: string): string => agentHomes([one], { ...world, env: {} })[0] ?? one;
  const isSame = (one: string): boolean => isSameDirectory(at(one), at(home));
  const others = current.filter((one) => !isSame(one));
  if (action === 'remove' && others.length === current.length)
    throw usageError(`${home} is not an agent home`, 'wield config homes shows them');
  const homes = action === 'add' ? [...others, home] : others;
  if (homes.length === 0) throw usageError('this is the last agent home', 'add another one first');
  const edit = editHomes(toolbox, homes);
  const later = previewRepairs({ ...toReadOnlyEnvironment(toolbox), homes: agentHomes(homes, world) });
  if (!json) {
    terminal.out(`  ${terminal.paint('bold', sanitize(edit.file.path))}\n`);
    printDiff(terminal, toShownDiff(diffOf(edit)));
    for (const link of later.flatMap(({ links }) => links)) terminal.out(`  link     ${sanitize(link)}\n`);
  }
  if (dryRun && json) return printJson(terminal, { ok: true, dryRun, homes, file: edit.file.path, linked: later });
  if (dryRun || !(await confirm(call, 'Change the agent homes?', edit.file.path))) return 0;
  const fixed = await withInstalling(call, async (environment) => {
    writeConfig(edit.file, edit.after, true);
    return repairInstalled({ ...environment, homes: agentHomes(homes, world) });
  });
  if (json) return printJson(terminal, { ok: true, dryRun, homes, file: edit.file.path, linked: fixed });
  terminal.out(`  ${action === 'add' ? 'added  ' : 'removed'}  ${sanitize(home)}  in ${sanitize(edit.file.path)}\n`);
  for (const link of fixed.flatMap(({ links }) => links)) terminal.out(`  linked   ${sanitize(link)}\n`);
  return 0;
}

// A directory in the home directory is written with `~`.
function toHome({ flags, cwd, toolbox }: VerbCall, directory: string | undefined): string {
  const name = flags.get('preset')?.toString();
  const preset = name === undefined ? undefined : PRESETS[name];
  if (name !== undefined && preset === undefined) throw unknownChoice('preset', name, Object.keys(PRESETS), '--preset');
  if (preset !== undefined && !preset.project) return preset.path;
  if (directory === undefined && preset === undefined)
    throw usageError('missing directory', 'wield config homes add DIR');
  const { home } = toolbox().machine.world;
  const path = join(resolve(cwd, expandHome(directory ?? '.', home)), preset?.path ?? '');
  const below = home === undefined ? '..' : relative(home, path);
  return below.startsWith('..') || below === '' ? path : `~/${below}`;
}

/** Returns the user's configuration file, and its text with these agent homes; everything else in it stays. */
export function editHomes({ machine: { wieldHome } }: NodeToolbox, homes: readonly string[]) {
  const file = readConfig(join(wieldHome, 'config.toml'), tomlForm);
  const table = valueAt(file.document, ['install']);
  const entry = { ...(isRecord(table) ? (table as JsonObject) : {}), homes: [...homes] };
  return { file, after: editConfig(file, tomlForm, ['install'], entry) };
}
