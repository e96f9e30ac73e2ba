// Shared by the install verbs: context, confirmation, and printing of plans and results.

import { ToolError } from '../core/error.js';
import { count, sanitize, spellOut } from '../core/text.js';
import type { AppliedItem } from '../install/apply/stage.js';
import type { InstallEnvironment, InstallProgress } from '../install/environment.js';
import { toInstallEnvironment } from '../install/from-toolbox.js';
import type { Hook } from '../install/hooks/hook.js';
import type { Inventory } from '../install/inventory.js';
import type { InstallPlan } from '../install/plan/plans.js';
import type { NodeToolbox } from '../node.js';
import { readLine } from './read-line.js';
import { showTransient } from './status-line.js';
import type { Terminal } from './terminal.js';
import type { FlagHelp, VerbCall } from './verb.js';

declare const WIELD_VERSION: string;

export const YES: FlagHelp = { kind: 'switch', description: 'Do not ask for confirmation' };
export const RUN_HOOKS: FlagHelp = { kind: 'switch', description: 'Also run the hooks that are shown' };
export const DRY_RUN: FlagHelp = {
  kind: 'switch',
  description: 'Show what would happen without changing anything',
};
export const FORCE: FlagHelp = {
  kind: 'switch',
  description: 'Discard local changes, and move files aside that are in the way of a link',
};

/** Creates an install environment that reports to the terminal and asks there about hooks. */
export function createInstallEnvironment(call: VerbCall, toolbox: NodeToolbox): InstallEnvironment {
  const { terminal, flags, json } = call;
  return toInstallEnvironment(toolbox, {
    version: WIELD_VERSION,
    signal: call.signal,
    report: createReporter(terminal),
    async approveHooks(hooks) {
      if (flags.has('run-hooks') || (!json && terminal.canAsk)) showHooks(terminal, hooks);
      if (flags.has('run-hooks')) return true;
      if (json || !terminal.canAsk) return false;
      return ask(call, `Run ${hooks.length === 1 ? 'it' : 'them'}?`);
    },
  });
}

function createReporter(terminal: Terminal): InstallEnvironment['report'] {
  return ({ kind, text }: InstallProgress) => {
    if (kind === 'progress') {
      showTransient(terminal, text);
      return;
    }
    const label = kind === 'warning' ? terminal.paint('yellow', 'warning', 'err') : 'note   ';
    terminal.err(`${terminal.errIsTerminal ? '\r\u001b[2K' : ''}${label}  ${sanitize(text)}\n`);
  };
}

/** Asks a yes/no question; anything but yes is no. */
export async function ask({ terminal, signal }: VerbCall, question: string): Promise<boolean> {
  terminal.err(`  ${question} [y/N] `);
  return ['y', 'yes'].includes((await readLine(terminal, signal)).trim().toLowerCase());
}

/** Asks before something is destroyed, unless `--yes` is set. Throws `refusal` if there is no terminal (INS-32). */
export async function confirmDestructive(
  call: VerbCall,
  question: string,
  refusal: ToolError,
): Promise<boolean> {
  if (call.flags.has('yes')) return true;
  if (call.json || !call.terminal.canAsk) throw refusal;
  return ask(call, question);
}

export function needsYes(what: string): ToolError {
  return new ToolError('usage', `${what} needs confirmation, and this is not a terminal`, {
    hint: 'pass --yes',
  });
}

/** Prints hooks in full, with invisible characters escaped (HOOK-2). */
export function showHooks(terminal: Terminal, hooks: readonly Hook[]): void {
  for (const { source, commit, item, event, run, where } of hooks) {
    const whose = item === null ? `the source ${source}` : `${item} of ${source}`;
    terminal.err(
      `  ${terminal.paint('yellow', `${event} hook`, 'err')} of ${spellOut(whose)}${commit === null ? '' : ` at ${commit.slice(0, 12)}`}, run in ${spellOut(where)}:\n`,
    );
    for (const line of run.split('\n')) terminal.err(`      ${spellOut(line)}\n`);
  }
}

const CHANGE_LABELS = {
  new: 'install',
  update: 'update',
  rename: 'rename',
  pending: 'rewrite',
  unchanged: 'keep',
} as const;

/** Prints a plan, one line per item; a long plan is only counted. */
export function showPlan(terminal: Terminal, { planned, kept }: InstallPlan): void {
  if (planned.length > 40) terminal.err(`  ${count(planned.length, 'item')} to install or change\n`);
  for (const one of planned.length > 40 ? [] : planned) {
    const { change, effective, item, neededBy, existing } = one;
    const why =
      change === 'rename'
        ? ` (was ${existing!.effective})`
        : change === 'pending'
          ? ' (its references changed)'
          : neededBy === null
            ? ''
            : ` (needed by ${neededBy})`;
    terminal.err(`  ${CHANGE_LABELS[change].padEnd(8)} ${item.kind} ${sanitize(effective)}${why}\n`);
  }
  for (const { item, why } of kept) terminal.err(`  keep     ${item.kind} ${item.effective}: ${why}\n`);
}

export function summarizeItems(items: readonly { readonly kind: string }[]): string {
  const parts = ['tool', 'skill', 'agent', 'rule'].flatMap((kind) => {
    const number = items.filter((item) => item.kind === kind).length;
    return number === 0 ? [] : [count(number, kind)];
  });
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

/** Prints installed items and their links. */
export function printApplied(
  terminal: Terminal,
  applied: readonly AppliedItem[],
  inventory: Inventory,
): void {
  const shown = applied.length > 40 ? [] : applied;
  if (applied.length > 40) terminal.out(`  installed  ${count(applied.length, 'item')}\n`);
  const tilde = (path: string): string => {
    const { home } = inventory.environment.world;
    return home !== undefined && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  };
  for (const { planned, installedHash, build } of shown) {
    const unbuilt = build === 'skipped' ? '  not built' : '';
    terminal.out(
      `  installed  ${planned.item.kind} ${sanitize(planned.effective)}  ${installedHash.slice(0, 12)}${unbuilt}\n`,
    );
    for (const { path } of planned.links) terminal.out(`  linked     ${sanitize(tilde(path))}\n`);
  }
}
