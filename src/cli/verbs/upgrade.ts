// `wield upgrade`: upgrades installed items and shows every change first; `--fetch-only` only fetches updates of sources.

import { sanitize } from '../../core/text.js';
import { applyPlan, previewPlan } from '../../install/apply/apply.js';
import type { AppliedItem } from '../../install/apply/stage.js';
import type { InstallEnvironment } from '../../install/environment.js';
import { type Inventory, loadInventory } from '../../install/inventory.js';
import { toAppliedJson, toInstalledJson, toRefusedJson } from '../../install/json.js';
import { type InstallPlan, planUpgrade } from '../../install/plan/plans.js';
import { selectInstalled } from '../../install/plan/select.js';
import { addNested } from '../../install/sources/add.js';
import { treeOf } from '../../install/sources/clones.js';
import { type Failure, forEachSource, syncSource } from '../../install/sources/fetch.js';
import { findSource, scanRecord } from '../../install/sources/load.js';
import { loadInstalled, loadSources, withParents } from '../../install/state.js';
import { readVersion } from '../../workspace/machine.js';
import { ASKS, confirm, mayConfirm, printDiff, RUN_HOOKS } from '../consent.js';
import {
  APPLY_FLAGS,
  newLinks,
  outcomeOf,
  printApplied,
  printRefused,
  readInstalled,
  showHooks,
  statusOf,
  summarizeItems,
  withInstalling,
} from '../installing.js';
import { findOwnUpdate } from '../own-command.js';
import { printJson } from '../print.js';
import type { Terminal } from '../terminal.js';
import { chooseServers, printFailed, toFailedJson, upgradeServers } from '../upgrade-servers.js';
import { toggle, type Verb } from '../verb.js';

export const upgrade: Verb = {
  usage: 'upgrade [item or server…] [--offline] [--dry-run] [--force] [--yes]\n  wield upgrade --fetch-only [source…]',
  summary:
    'Upgrade installed items to the current version of their sources, and pinned servers. Shows every change first, and how to update wield itself.',
  examples: ['wield upgrade --dry-run', 'wield upgrade acme:detect --yes'],
  flags: {
    offline: toggle('Do not fetch updates first'),
    accept: toggle('Accept a tag that moved, or another signer'),
    ...APPLY_FLAGS,
    'fetch-only': toggle('Fetch updates of sources, without changing installed items'),
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { flags, terminal, json, dryRun } = call;
    const named = chooseServers(call, call.positionals);
    const positionals = call.positionals.filter((name) => !named.includes(name));
    const isForServers = !flags.has('offline') && (named.length > 0 || positionals.length === 0);
    const { servers, failed } = isForServers ? await upgradeServers(call, named) : { servers: [], failed: [] };
    if (named.length > 0 && positionals.length === 0) {
      if (json)
        printJson(terminal, { ...outcomeOf({ refused: failed }), dryRun, servers, failed: toFailedJson(failed) });
      else if (servers.length + failed.length === 0) terminal.out('  everything is up to date\n');
      return statusOf({ refused: failed });
    }
    const upgradeItems = async (environment: InstallEnvironment): Promise<number> => {
      const unreached = flags.has('offline') ? [] : await syncUsed(environment, positionals, flags.has('accept'));
      printFailed(call, unreached);
      const inventory = loadInventory(environment);
      const plan = planUpgrade(positionals, flags.has('force'), inventory);
      const { hooks, removed } = plan;
      let items: readonly AppliedItem[] = await previewPlan(plan, inventory);
      if (!json) {
        printPreview(terminal, items, plan, inventory);
        if (items.length + removed.length === 0)
          terminal.out(
            plan.refused.length + plan.kept.length + servers.length + failed.length + unreached.length > 0
              ? '  nothing upgraded\n'
              : `  everything is up to date${describeSkipped(inventory)}\n`,
          );
        else if (dryRun) showHooks(terminal, hooks);
      }
      if (!dryRun && items.length + removed.length > 0) {
        if (!(await confirm(call, 'Upgrade?', 'the installation'))) return 0;
        items = await applyPlan(plan, flags.has('force'), inventory);
        if (!json) printApplied(terminal, items, inventory);
      }
      const kept = plan.kept.map(({ item: { kind, effective, source }, why }) => ({
        kind,
        effective,
        source,
        why,
      }));
      const refused = plan.refused.map(toRefusedJson);
      const outcome = { refused: [...failed, ...unreached, ...plan.refused] };
      if (json) {
        const gone = removed.map(toInstalledJson);
        const upgraded = items.map(toAppliedJson);
        const self = { version: readVersion(), update: findOwnUpdate(terminal.io) };
        printJson(terminal, {
          ...outcomeOf(outcome),
          ...{ dryRun, items: upgraded, removed: gone, kept, refused, hooks, self, servers },
          failed: toFailedJson([...failed, ...unreached]),
        });
      } else {
        printRefused(terminal, plan);
        // PKG-8: this verb is where people look for it.
        if (positionals.length === 0)
          terminal.err(`  wield ${readVersion()} itself stays; to update it: ${findOwnUpdate(terminal.io)}\n`);
      }
      return statusOf(outcome);
    };
    // Without consent not even a fetch is kept: the next run would compare with it.
    return withInstalling(call, upgradeItems, { copies: dryRun || !mayConfirm(call) });
  },
};

// Fetches the sources of the named or all installed items, and those that they are nested in: a marketplace can list
// another commit. If nothing is installed, all are fetched. Returns what failed.
async function syncUsed(
  environment: InstallEnvironment,
  refs: readonly string[],
  accept: boolean,
): Promise<readonly Failure[]> {
  const { paths } = environment;
  const records = loadSources(paths);
  const installed = loadInstalled(paths);
  const items = refs.length === 0 ? installed.items : selectInstalled(refs, installed);
  const used = withParents(
    new Set(items.length === 0 ? records.map(({ id }) => id) : items.map(({ source }) => source)),
    records,
  );
  const { failed } = await forEachSource(
    records.filter(({ id }) => used.has(id)),
    async ({ id }) => {
      const record = loadSources(paths).find((one) => one.id === id);
      if (record === undefined) return;
      const isRead = record.kind === 'local' && record.hooks === 'none';
      const synced = isRead
        ? { record, scan: scanRecord(record, treeOf(record, paths)) }
        : await syncSource(record, accept, environment);
      if (synced.scan.manifest.sources.some(({ adoption }) => adoption?.plugins !== undefined))
        await addNested(synced, environment, undefined, 'known');
    },
  );
  return failed;
}

// What a hook builds is as old as its last run.
function describeSkipped({ sources, installed }: Inventory): string {
  const used = new Set(installed.items.map(({ source }) => source));
  const skipped = sources.map(({ record }) => record).filter(({ id, hooks }) => hooks === 'skipped' && used.has(id));
  if (skipped.length === 0) return '';
  return `, except for what the hooks of ${skipped.map(({ id }) => sanitize(id)).join(', ')} build: wield upgrade --run-hooks`;
}

// INS-27: shows the change of hash or commit, and of the content.
function printPreview(
  terminal: Terminal,
  items: readonly AppliedItem[],
  { kept, removed }: InstallPlan,
  inventory: Inventory,
): void {
  for (const { planned, files } of items) {
    const { existing, change, effective, form, source } = planned;
    const { commit } = source.record;
    const [before, now] =
      existing?.commit !== commit && commit !== null ? [existing?.commit, commit] : [existing?.sourceHash, form.hash];
    const moved =
      change === 'rename'
        ? `renamed from ${existing!.effective}`
        : change === 'pending'
          ? 'unchanged, but its references changed'
          : change === 'new'
            ? 'new'
            : before === now
              ? 'the same source, built or installed again'
              : `${before?.slice(0, 12)} → ${now.slice(0, 12)}`;
    terminal.out(`  ${terminal.paint('bold', sanitize(effective))}  ${moved}\n`);
    for (const link of newLinks(planned, inventory)) terminal.out(`    link  ${link}\n`);
    for (const { path, added, removed, lines } of files) {
      terminal.out(`    ${sanitize(path)}  +${added} −${removed}${lines.length === 0 ? '  (binary)' : ''}\n`);
      printDiff(terminal, lines.slice(0, 40).map(sanitize), 6);
      if (lines.length > 40) terminal.out(`      … and ${lines.length - 40} more lines\n`);
    }
  }
  for (const { kind, effective } of removed)
    terminal.out(
      `  ${sanitize(effective)}  removed: ${kind === 'plugin' ? 'not needed' : 'not in its plugin'} any more\n`,
    );
  for (const { item, why } of kept) terminal.out(`  ${item.effective}  kept: ${why}\n`);
}

export const sync: Verb = {
  usage: 'upgrade --fetch-only [source…] [--accept] [--dry-run]',
  summary: 'Fetch updates of sources. Installed items are not changed; wield upgrade does that.',
  examples: ['wield upgrade --fetch-only', 'wield upgrade --fetch-only acme/agent-tools'],
  // Does not ask: nothing that is fetched runs before an upgrade (CLI-31).
  flags: { accept: toggle('Accept a tag that moved, or another signer'), 'run-hooks': RUN_HOOKS, ...ASKS },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { flags, positionals, terminal, json, cwd, dryRun } = call;
    const known = loadSources((await readInstalled(call)).paths);
    for (const name of positionals) findSource(name, known, cwd);
    const fetchAll = async (environment: InstallEnvironment): Promise<number> => {
      const all = loadSources(environment.paths);
      const chosen = positionals.length === 0 ? all : positionals.map((name) => findSource(name, all, cwd));
      const { done: synced, failed } = await forEachSource(chosen, async (record) => ({
        ...(await syncSource(record, flags.has('accept'), environment)),
        id: record.id,
      }));
      // Sources that were listed since are registered; nothing of them is installed.
      const listed = await forEachSource(synced, async (one) => (await addNested(one, environment)).added);
      const nested = listed.done.flat().filter(({ known }) => !known);
      const failures = [...failed, ...listed.failed];
      printFailed(call, failures);
      if (json) {
        const sources = synced.map(({ record: { id, commit, ref, hooks }, before, scan }) => ({
          id,
          before,
          commit,
          ref,
          hooks,
          items: scan.items.length,
          warnings: scan.warnings,
        }));
        const added = nested.map(({ record }) => record.id);
        const outcome = outcomeOf({ refused: failures });
        printJson(terminal, { ...outcome, dryRun, sources, added, failed: toFailedJson(failures) });
      } else if (chosen.length === 0) terminal.out('  no sources; add one: wield add owner/repo\n');
      for (const { record, before, scan } of json ? [] : synced) {
        const { id, commit } = record;
        const moved =
          commit === before
            ? (commit?.slice(0, 12) ?? 'used in place')
            : `${before?.slice(0, 12)} → ${commit?.slice(0, 12)}`;
        terminal.out(`  ${sanitize(id)}  ${moved}  offers ${summarizeItems(scan.items)}\n`);
      }
      for (const { record, scan } of json ? [] : nested)
        terminal.out(`  ${sanitize(record.id)}  added  offers ${summarizeItems(scan.items)}\n`);
      return statusOf({ refused: failures });
    };
    return withInstalling(call, fetchAll, { copies: dryRun });
  },
};
