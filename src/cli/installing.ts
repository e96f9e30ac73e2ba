// Shared by the install verbs: context, confirmation, and printing of plans and results.

import { exitStatus, type ToolError } from '../core/error.js';
import { count, quoteOutside, sanitize, shortenPath, spellOut } from '../core/text.js';
import { assertUsable } from '../install/apply/apply.js';
import type { AppliedItem } from '../install/apply/stage.js';
import type { Hook, InstallEnvironment, InstallProgress } from '../install/environment.js';
import { pendingHooks } from '../install/hooks.js';
import type { Inventory } from '../install/inventory.js';
import { recoverIfInterrupted, withInstallLock } from '../install/lock.js';
import { ITEM_KINDS } from '../install/manifest/item-name.js';
import type { PlannedItem } from '../install/plan/plan-items.js';
import type { InstallPlan } from '../install/plan/plans.js';
import { withCopiedSources } from '../install/sources/clones.js';
import { describeSigner } from '../install/sources/signature.js';
import { toInstallEnvironment, toRecoveryEnvironment } from '../install/toolbox-environment.js';
import { readVersion } from '../workspace/machine.js';
import { ASKS, ask, confirm, RUN_HOOKS } from './consent.js';
import { printWarning } from './print.js';
import { showShare, showTransient } from './status-line.js';
import type { Terminal } from './terminal.js';
import { type FlagHelp, toggle, type VerbCall } from './verb.js';

export const REMOVE_FLAGS: Readonly<Record<string, FlagHelp>> = { ...ASKS, 'run-hooks': RUN_HOOKS };
export const APPLY_FLAGS: Readonly<Record<string, FlagHelp>> = {
  ...REMOVE_FLAGS,
  force: toggle('Install again: discard local changes, and move files aside that are in the way of a link', 'f'),
};

/** Records hooks that were approved together with a plan. */
export type AgreeToHooks = (hooks: readonly Hook[]) => void;

/** Returns an environment for reading, after finishing or undoing a change that was interrupted. */
export async function readInstalled({ toolbox, signal }: VerbCall): Promise<InstallEnvironment> {
  const environment = toRecoveryEnvironment(toolbox(), signal);
  await recoverIfInterrupted(environment);
  return environment;
}

/**
 * Runs work under the install lock, with an environment that reports to the terminal and asks there about hooks. With
 * `copies`, sources are fetched into copies, which are removed.
 */
export function withInstalling<T>(
  call: VerbCall,
  work: (environment: InstallEnvironment, agree: AgreeToHooks) => Promise<T>,
  { copies = false } = {},
): Promise<T> {
  const { terminal, flags, json } = call;
  const agreed = new Set<string>();
  const toolbox = call.toolbox();
  const environment = toInstallEnvironment(toolbox, {
    version: readVersion(),
    signal: call.signal,
    report: createReporter(terminal),
    async approveHooks(hooks) {
      if (hooks.every(({ digest }) => agreed.has(digest))) return true;
      if (flags.has('run-hooks') || (!json && terminal.canAsk)) showHooks(terminal, hooks);
      if (flags.has('run-hooks')) return true;
      if (json || !terminal.canAsk) return false;
      return ask(call, `Run ${hooks.length === 1 ? 'it' : 'them'}?`);
    },
    // `--yes` does not answer this (INS-94).
    async acceptSigner({ source, before, now }) {
      if (json || !terminal.canAsk) return false;
      terminal.err(
        `  ${terminal.paint('yellow', 'signer', 'err')}   ${spellOut(source)} was signed by ${describeSigner(before)}\n`,
      );
      terminal.err(`           now ${now === null ? 'nothing verifies who signed it' : describeSigner(now)}\n`);
      return ask(call, 'Accept that?');
    },
  });
  const agree: AgreeToHooks = (hooks) => {
    for (const { digest } of hooks) agreed.add(digest);
  };
  return withInstallLock(environment, () =>
    copies ? withCopiedSources(environment, (copy) => work(copy, agree)) : work(environment, agree),
  );
}

/** Asks one question for a plan and its hooks (HOOK-2); `--yes` alone runs no hook. */
export async function confirmPlan(
  call: VerbCall,
  plan: InstallPlan,
  inventory: Inventory,
  agree: AgreeToHooks,
  declined?: string,
): Promise<boolean> {
  const { planned, hooks } = plan;
  const { environment } = inventory;
  const isAsked = !call.flags.has('yes');
  if (isAsked) await assertUsable(plan, inventory);
  const pending = isAsked ? pendingHooks(hooks, environment.paths) : [];
  showHooks(call.terminal, pending);
  const what = planned.length === 1 ? 'it' : planned.length === 2 ? 'both' : `all ${planned.length}`;
  const andRun = pending.length === 0 ? '' : ` and run the ${pending.length === 1 ? 'hook' : 'hooks'}`;
  const [first, ...others] = planned.map(({ effective }) => sanitize(effective));
  const names = `${first}${others.length === 0 ? '' : ` and ${others.length} more`}`;
  if (!(await confirm(call, `Install ${what}${andRun}?`, names, declined))) return false;
  agree(pending);
  return true;
}

function createReporter(terminal: Terminal): InstallEnvironment['report'] {
  return ({ kind, text, share, size }: InstallProgress) => {
    if (kind === 'progress') {
      if (share === undefined) showTransient(terminal, text);
      else showShare(terminal, text, share, size);
      return;
    }
    if (kind === 'output') {
      terminal.err(`  ${terminal.paint('dim', '|', 'err')} ${quoteOutside(text, 2000)}\n`);
      return;
    }
    if (kind === 'warning') printWarning(terminal, sanitize(text));
    else terminal.err(`note     ${sanitize(text)}\n`);
  };
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

/** Prints a plan, with the links that would be created. */
export function showPlan(terminal: Terminal, { planned, kept }: InstallPlan, inventory: Inventory): void {
  for (const one of planned) {
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
    for (const link of newLinks(one, inventory)) terminal.err(`  link     ${link}\n`);
  }
  for (const { item, why } of kept) terminal.err(`  keep     ${item.kind} ${item.effective}: ${why}\n`);
}

interface Refused {
  readonly refused: readonly { readonly error: ToolError }[];
}

/** Returns the exit status of a plan: 0, unless some of its items cannot be installed. */
export function statusOf({ refused }: Refused): number {
  return refused.length === 0 ? 0 : exitStatus(refused[0]!.error.code);
}

/** Returns the beginning of the JSON document of a plan; its error is that of the first item that cannot be installed. */
export function outcomeOf({ refused }: Refused) {
  return refused.length === 0 ? { ok: true } : { ok: false, error: refused[0]!.error.toJSON() };
}

/** Prints the items that cannot be installed. */
export function printRefused(terminal: Terminal, { refused }: InstallPlan): void {
  for (const { kind, effective, error } of refused) {
    terminal.err(
      `  ${terminal.paint('red', 'refused', 'err')}  ${kind} ${sanitize(effective)}: ${sanitize(error.message)}\n`,
    );
    if (error.hint !== undefined) terminal.err(`           ${sanitize(error.hint)}\n`);
  }
}

/** Returns the links that an item does not have yet, for display. */
export function newLinks({ links, existing }: PlannedItem, inventory: Inventory): string[] {
  const created = links.filter(({ path }) => !existing?.links.includes(path));
  return created.map(({ path }) => shorten(path, inventory));
}

function shorten(path: string, { environment: { world } }: Inventory): string {
  return sanitize(shortenPath(path, undefined, world.home));
}

export function summarizeItems(items: readonly { readonly kind: string }[]): string {
  const parts = ITEM_KINDS.filter((kind) => kind !== 'plugin').flatMap((kind) => {
    const number = items.filter((item) => item.kind === kind).length;
    return number === 0 ? [] : [count(number, kind)];
  });
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

/** Prints installed items and their links. */
export function printApplied(terminal: Terminal, applied: readonly AppliedItem[], inventory: Inventory): void {
  const shown = applied.length > 40 ? [] : applied;
  if (applied.length > 40) terminal.out(`  installed  ${count(applied.length, 'item')}\n`);
  for (const { planned, installedHash, build } of shown) {
    const unbuilt = build === 'skipped' ? '  not built' : '';
    terminal.out(
      `  installed  ${planned.item.kind} ${sanitize(planned.effective)}  ${installedHash.slice(0, 12)}${unbuilt}\n`,
    );
    for (const { path } of planned.links) terminal.out(`  linked     ${shorten(path, inventory)}\n`);
  }
  for (const { planned } of shown)
    if (planned.item.kind === 'server') terminal.out(`  next       wield mcp accept ${sanitize(planned.effective)}\n`);
}
