// The installer for programs: the operations of the command line as methods.

import { applyPlan } from './apply/apply.js';
import { type ItemState, readStatus } from './compare.js';
import { type Hook, type InstallProgress, REFUSE_ALL } from './environment.js';
import { assertSources, type Inventory, listAvailable, loadInventory } from './inventory.js';
import { toAppliedJson, toInstalledJson, toListedJson } from './json.js';
import { withInstallLock } from './lock.js';
import { parsePin } from './manifest/source-manifest.js';
import {
  findDependents,
  type InstallPlan,
  neededError,
  planInstall,
  planRemoval,
  planUninstall,
  planUpgrade,
} from './plan/plans.js';
import { addSource } from './sources/add.js';
import { dropSource, forEachSource, syncSource } from './sources/fetch.js';
import { findSource, findWithNested } from './sources/load.js';
import { loadSources, type SourceRecord } from './state.js';
import { type InstallingToolbox, toInstallEnvironment } from './toolbox-environment.js';

/** Options of `createInstaller`. */
export interface InstallerOptions {
  /** Receives reports while something is installed. */
  readonly report?: (progress: InstallProgress) => void;
  /** Called once with all hooks that are not approved yet. If omitted or false, they are skipped (HOOK-2). */
  readonly approveHooks?: (hooks: readonly Hook[]) => Promise<boolean>;
  /** Cancels what runs. */
  readonly signal?: AbortSignal;
}

/** An item of a source. */
export type OfferedItem = ReturnType<typeof toListedJson>;
/** A change that was made to an item. */
export type AppliedChange = ReturnType<typeof toAppliedJson>;
/** An item that was removed. */
export type RemovedItem = ReturnType<typeof toInstalledJson>;
/** An installed item with its state. */
export type ItemReport = RemovedItem & { readonly states: readonly ItemState[] };

/** Options of `add`. */
export interface AddOptions {
  /** Undefined: the namespace of the manifest. Empty: no namespace. */
  readonly namespace?: string;
  /** A commit, `branch=NAME` or `tag=NAME`. */
  readonly pin?: string;
  /** Directories of the source to search for items; empty for the default ones. */
  readonly roots?: readonly string[];
}

/** Options of `install`. */
export interface InstallOptions {
  /** Ids of sources to choose from; empty for all. */
  readonly sources?: readonly string[];
  /** Discards local changes, and moves aside files at the paths of links. */
  readonly force?: boolean;
}

/** Every method holds the install lock while it runs, and restores the previous state if it fails. */
export interface Installer {
  /** Registers a source and its nested sources without installing anything. Returns their items. */
  add(source: string, options?: AddOptions): Promise<readonly OfferedItem[]>;
  /** Fetches sources, all of them before it throws; installed items do not change. `accept` accepts tags that moved. */
  sync(options?: { readonly sources?: readonly string[]; readonly accept?: boolean }): Promise<void>;
  /** Lists all items of the sources. */
  offers(): Promise<readonly OfferedItem[]>;
  /** Installs items and their dependencies. */
  install(refs: readonly string[] | 'all', options?: InstallOptions): Promise<readonly AppliedChange[]>;
  /** Updates installed items to the last fetched state; all of them by default. */
  upgrade(refs?: readonly string[], options?: Pick<InstallOptions, 'force'>): Promise<readonly AppliedChange[]>;
  /** Throws `conflict` if other items depend on them, unless `force` is set. */
  uninstall(refs: readonly string[], options?: Pick<InstallOptions, 'force'>): Promise<readonly RemovedItem[]>;
  /** Unregisters a source and its nested sources, and uninstalls their items. */
  removeSource(source: string): Promise<readonly RemovedItem[]>;
  /** Compares installed items with their sources and the files on disk, without fetching (INS-26). */
  status(): Promise<readonly ItemReport[]>;
}

/** Creates an installer over the parts of a toolbox. Throws `denied` inside a tool call (A44). */
export function createInstallerFor(
  toolbox: InstallingToolbox & { readonly workspace: { readonly workdir: string } },
  version: string,
  options: InstallerOptions,
): Installer {
  const environment = toInstallEnvironment(toolbox, {
    version,
    signal: options.signal ?? new AbortController().signal,
    report: options.report ?? (() => {}),
    ...REFUSE_ALL,
    ...(options.approveHooks && { approveHooks: options.approveHooks }),
  });
  const { paths } = environment;
  const { workdir } = toolbox.workspace;
  const locked = <T>(work: () => Promise<T>): Promise<T> => withInstallLock(environment, work);
  const withInventory = <T>(work: (inventory: Inventory) => Promise<T>): Promise<T> =>
    locked(() => work(loadInventory(environment)));
  const apply = async (plan: InstallPlan, force: boolean, inventory: Inventory) =>
    (await applyPlan(plan, force, inventory)).map(toAppliedJson);
  const findAll = (names: readonly string[]): SourceRecord[] => {
    const records = loadSources(paths);
    return names.map((name) => findSource(name, records, workdir));
  };

  return {
    add: (source, { namespace, pin, roots = [] } = {}) =>
      locked(async () => {
        const parsed = pin === undefined ? undefined : parsePin(pin);
        const { added } = await addSource({ source, cwd: workdir, roots, namespace, pin: parsed }, environment);
        const ids = new Set(added.map(({ record }) => record.id));
        return listAvailable(loadInventory(environment))
          .filter(({ source: { record } }) => ids.has(record.id))
          .map(toListedJson);
      }),
    sync: ({ sources = [], accept = false } = {}) =>
      locked(async () => {
        const chosen = sources.length === 0 ? loadSources(paths) : findAll(sources);
        const { failed } = await forEachSource(chosen, (record) => syncSource(record, accept, environment));
        if (failed[0] !== undefined) throw failed[0].error;
      }),
    offers: () => withInventory(async (inventory) => listAvailable(inventory).map(toListedJson)),
    install: (refs, { sources = [], force = false } = {}) =>
      withInventory(async (inventory) => {
        assertSources(inventory);
        const ids = findAll(sources).map(({ id }) => id);
        const all = refs === 'all';
        return apply(planInstall({ refs: all ? [] : refs, sources: ids, all, force }, inventory), force, inventory);
      }),
    upgrade: (refs = [], { force = false } = {}) =>
      withInventory((inventory) => apply(planUpgrade(refs, force, inventory), force, inventory)),
    uninstall: (refs, { force = false } = {}) =>
      withInventory(async (inventory) => {
        const plan = planUninstall(refs, inventory);
        const dependents = findDependents(plan.removed, inventory.installed);
        if (dependents.length > 0 && !force) throw neededError(plan.removed, dependents);
        await applyPlan(plan, true, inventory);
        return plan.removed.map(toInstalledJson);
      }),
    removeSource: (source) =>
      withInventory(async (inventory) => {
        const records = findWithNested(source, loadSources(paths), workdir);
        const ids = records.map(({ id }) => id);
        const plan = planRemoval(ids, inventory);
        await applyPlan(plan, true, inventory);
        for (const record of records) await dropSource(record, environment);
        return plan.removed.map(toInstalledJson);
      }),
    status: () =>
      withInventory(async (inventory) =>
        readStatus(inventory).map(({ item, states }) => ({ ...toInstalledJson(item), states })),
      ),
  };
}
