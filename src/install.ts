// Installing for programs: the same sources, items and records as at the command line, over the toolbox of a workdir.

import type { Hook } from './install/apply/hooks.js';
import type { Paths, Step } from './install/environment.js';
import { pinTools, toInstallContext, toItem } from './install/from-toolbox.js';
import { toAppliedJson, toInstalledJson, toOfferJson } from './install/json.js';
import { parsePin } from './install/manifest/source-fields.js';
import {
  assertSources,
  carryOut,
  findDependents,
  type InstallPlan,
  type Inventory,
  listOffers,
  loadInventory,
  neededError,
  planInstall,
  planRemoval,
  planUninstall,
  planUpgrade,
} from './install/plan/plans.js';
import { findSource } from './install/sources/load.js';
import { addSource, dropSource, syncSource, working } from './install/sources/register.js';
import { loadSources, type SourceRecord } from './install/state.js';
import { type ItemState, readStatus } from './install/status.js';
import type { NodeToolbox } from './node.js';
import { readVersion } from './workspace/machine.js';

export type { Hook, ItemState, Step };

export interface InstallerOptions {
  /** Told what goes on. */
  readonly report?: (step: Step) => void;
  /** Asked once for all hooks that nobody approved yet. Left out, or answered with false: they are skipped (HOOK-2). */
  readonly approveHooks?: (hooks: readonly Hook[]) => Promise<boolean>;
  readonly signal?: AbortSignal;
}

export type OfferedItem = ReturnType<typeof toOfferJson> & { readonly installed: boolean };
export type AppliedChange = ReturnType<typeof toAppliedJson>;
export type RemovedItem = ReturnType<typeof toInstalledJson>;
export type ItemReport = RemovedItem & { readonly states: readonly ItemState[] };

export interface AddOptions {
  /** Undefined: the manifest's own; empty: none. */
  readonly namespace?: string;
  /** A commit, `branch=NAME` or `tag=NAME`. */
  readonly pin?: string;
  /** Directories of the source to look for items in; none: where they usually are. */
  readonly roots?: readonly string[];
}

export interface InstallOptions {
  /** Ids of sources to choose from; none: all. */
  readonly sources?: readonly string[];
  /** Drops local changes, and moves aside what stands in the way of a link. */
  readonly force?: boolean;
}

/** Every method holds the lock of the store while it works, and leaves what was there where it fails. */
export interface Installer {
  /** Registers a source and those that it names in turn; installs nothing. Its items come back. */
  add(source: string, options?: AddOptions): Promise<readonly OfferedItem[]>;
  /** Fetches what sources offer now; what is installed stays as it is. `accept` takes a tag that moved. */
  sync(options?: { readonly sources?: readonly string[]; readonly accept?: boolean }): Promise<void>;
  /** Everything that the sources offer. */
  offers(): Promise<readonly OfferedItem[]>;
  /** Installs items with all that they refer to. */
  install(refs: readonly string[] | 'all', options?: InstallOptions): Promise<readonly AppliedChange[]>;
  /** Brings items to what was last fetched; none named: all. */
  upgrade(
    refs?: readonly string[],
    options?: Pick<InstallOptions, 'force'>,
  ): Promise<readonly AppliedChange[]>;
  /** Throws `conflict` where others refer to them, unless `force` leaves those without. */
  uninstall(
    refs: readonly string[],
    options?: Pick<InstallOptions, 'force'>,
  ): Promise<readonly RemovedItem[]>;
  /** Forgets a source and removes its items. */
  removeSource(source: string): Promise<readonly RemovedItem[]>;
  /** How each installed item stands to its source and on disk (INS-26); nothing is fetched. */
  status(): Promise<readonly ItemReport[]>;
}

/** Throws `denied` inside of a tool call: installing is a person's to do (A44). */
export function createInstaller(toolbox: NodeToolbox, options: InstallerOptions = {}): Installer {
  const context = toInstallContext(toolbox, {
    version: readVersion(),
    signal: options.signal ?? new AbortController().signal,
    report: options.report ?? (() => {}),
    approveHooks: options.approveHooks ?? (async () => false),
  });
  const work = <T>(act: (inventory: Inventory, paths: Paths) => Promise<T>): Promise<T> =>
    working(context, (paths) => act(loadInventory(context, paths), paths));
  const apply = async (plan: InstallPlan, force: boolean, inventory: Inventory) => {
    const applied = await carryOut(plan, force, inventory);
    await pinTools(toolbox, applied.map(toItem));
    return applied.map(toAppliedJson);
  };
  const findAll = (names: readonly string[], records: readonly SourceRecord[]): SourceRecord[] =>
    names.map((name) => findSource(name, records, toolbox.workspace.workdir));

  return {
    add: (source, { namespace, pin, roots = [] } = {}) =>
      working(context, async (paths) => {
        const added = await addSource(
          {
            source,
            cwd: toolbox.workspace.workdir,
            roots,
            ...(namespace === undefined ? {} : { namespace }),
            ...(pin === undefined ? {} : { pin: parsePin(pin) }),
          },
          context,
          paths,
        );
        const ids = new Set(added.map(({ record }) => record.id));
        return toOffers(loadInventory(context, paths)).filter((offer) => ids.has(offer.source));
      }),
    sync: ({ sources = [], accept = false } = {}) =>
      working(context, async (paths) => {
        const all = loadSources(paths);
        for (const record of sources.length === 0 ? all : findAll(sources, all))
          await syncSource(record, { accept, context, paths });
      }),
    offers: () => work(async (inventory) => toOffers(inventory)),
    install: (refs, { sources = [], force = false } = {}) =>
      work(async (inventory, paths) => {
        assertSources(inventory);
        const ids = findAll(sources, loadSources(paths)).map(({ id }) => id);
        const all = refs === 'all';
        return apply(planInstall({ refs: all ? [] : refs, sources: ids, all }, inventory), force, inventory);
      }),
    upgrade: (refs = [], { force = false } = {}) =>
      work(async (inventory) => apply(planUpgrade(refs, force, inventory), force, inventory)),
    uninstall: (refs, { force = false } = {}) =>
      work(async (inventory) => {
        const plan = planUninstall(refs, inventory);
        const dependents = findDependents(plan.removed, inventory.installed);
        if (dependents.length > 0 && !force) throw neededError(plan.removed, dependents, 'pass force');
        await carryOut(plan, true, inventory);
        return plan.removed.map(toInstalledJson);
      }),
    removeSource: (source) =>
      work(async (inventory, paths) => {
        const records = loadSources(paths);
        const first = findSource(source, records, toolbox.workspace.workdir);
        const going = [first, ...records.filter(({ parent }) => parent === first.id)];
        const plan = planRemoval(
          going.map(({ id }) => id),
          inventory,
        );
        await carryOut(plan, true, inventory);
        for (const record of going) await dropSource(record, context, paths);
        return plan.removed.map(toInstalledJson);
      }),
    status: () =>
      work(async (inventory) =>
        readStatus(inventory).map(({ item, states }) => ({ ...toInstalledJson(item), states })),
      ),
  };
}

function toOffers(inventory: Inventory): OfferedItem[] {
  return listOffers(inventory).map(({ effective, installed, ...offer }) => ({
    ...toOfferJson(offer, effective),
    installed,
  }));
}
