// `install --frozen`: installs exactly what a lock describes, or nothing.

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import { applyPlan, previewPlan } from './apply/apply.js';
import type { AppliedItem } from './apply/stage.js';
import type { InstallEnvironment } from './environment.js';
import { portableHash } from './hashes.js';
import { type Inventory, loadInventory } from './inventory.js';
import { type LockedItem, type LockedSource, lockedByKey, readLock } from './lock-file.js';
import { itemKey } from './manifest/item-name.js';
import { planItems } from './plan/plan-items.js';
import { type InstallPlan, toPlan } from './plan/plans.js';
import { cloneDirectory } from './sources/clones.js';
import { fetchSource, saveAll } from './sources/fetch.js';
import { type AvailableItem, type LoadedSource, loadSourceTrees } from './sources/load.js';
import { type InstalledItem, loadSources, type SourceRecord } from './state.js';

/**
 * `agree` sees the plan; nothing is changed unless it returns true. Throws `integrity` with every difference; then nothing
 * is changed either (INS-30).
 */
export async function installFrozen(
  file: string,
  force: boolean,
  environment: InstallEnvironment,
  agree: (plan: InstallPlan, inventory: Inventory) => Promise<boolean>,
) {
  const locked = readLock(file);
  const before = loadSources(environment.paths);
  const differences: string[] = [];
  try {
    const sources: LoadedSource[] = [];
    const records: SourceRecord[] = [];
    for (const source of locked) {
      const record = toRecord(source, before, environment);
      // Items of one source can be from different commits.
      const commits = new Set([source.commit, ...source.items.map(({ commit }) => commit)]);
      for (const commit of source.kind === 'local' ? [null] : commits) {
        const fetched = { ...(await fetchLocked({ ...record, commit }, environment)), pin: source.pin };
        sources.push(...loadSourceTrees([fetched], environment));
        if (source.kind === 'local' || commit === source.commit) records.push(fetched);
      }
    }
    const inventory: Inventory = { ...loadInventory(environment), sources };
    const found = locked.flatMap((source) =>
      source.items.flatMap((item) => {
        const available = findLocked(source, item, sources);
        if (available === undefined) differences.push(`${item.kind} ${item.effective}: not in its source`);
        return available ?? [];
      }),
    );
    const expected = lockedByKey(locked);
    const plan = planLocked(found, locked, inventory, differences);
    if (differences.length > 0) throw differs(file, differences);
    if (!(await agree(plan, inventory))) {
      const applied = await previewPlan(plan, inventory);
      saveAll(before, environment);
      return { plan, applied, inventory, done: false };
    }
    saveAll([...before.filter(({ id }) => !records.some((one) => one.id === id)), ...records], environment, sources);
    const applied = await applyPlan(plan, force, inventory, {
      check: (items) => assertHashes(items, expected, file),
    });
    saveAll(loadSources(environment.paths), environment);
    return { plan, applied, inventory, done: true };
  } catch (error) {
    saveAll(before, environment);
    throw error;
  }
}

const MODIFIED = 'modified locally';
const NO_HOOKS = 'its hooks did not run';

function differs(file: string, differences: readonly string[]): ToolError {
  const hints = differences.map((text) => {
    if (text.endsWith(MODIFIED)) return 'wield install NAME --force discards local changes, --accept keeps them';
    if (text.endsWith(NO_HOOKS)) return 'pass --run-hooks';
    return 'find out why the sources changed; wield upgrade and a new lock accept it';
  });
  return new ToolError('integrity', `nothing was changed: differs from ${file}: ${differences.join('; ')}`, {
    hint: [...new Set(hints)].join('; '),
    data: { differences },
  });
}

function toRecord(source: LockedSource, known: readonly SourceRecord[], { world }: InstallEnvironment): SourceRecord {
  const { items: _, signer: locked, signers: lockedSigners, ...fields } = source;
  const same = known.find(({ id }) => id === source.id);
  if (same !== undefined && same.location !== source.location)
    throw new ToolError(
      'conflict',
      `the source ${source.id} is registered with a different location: ${same.location}`,
      {
        hint: `remove it first: wield remove --source ${source.id}`,
      },
    );
  const { kind, location, id } = source;
  // A lock can come with a checkout: it does not replace the signers that a person chose (INS-94).
  const signers = same?.signers ?? lockedSigners;
  const signer = same?.signer ?? locked;
  return {
    ...fields,
    ...(signers === undefined ? {} : { signers }),
    ...(signer == null ? {} : { signer }),
    directory: kind === 'local' ? null : (same?.directory ?? cloneDirectory({ kind, location, name: id })),
    ref: same?.ref ?? null,
    hooks: same?.commit === source.commit ? (same?.hooks ?? 'none') : 'none',
    snapshot: same?.snapshot ?? null,
    since: same?.since ?? new Date(world.now()).toISOString(),
  };
}

// The commit is the pin while it is fetched, so that another one is refused.
async function fetchLocked(record: SourceRecord, environment: InstallEnvironment): Promise<SourceRecord> {
  const pin = record.commit === null ? null : ({ to: 'commit', name: record.commit } as const);
  const { record: fetched } = await fetchSource({ ...record, pin, pinGiven: true }, record, environment);
  return { ...fetched, pinGiven: record.pinGiven, ref: record.ref ?? fetched.ref };
}

function findLocked(
  source: LockedSource,
  item: LockedItem,
  sources: readonly LoadedSource[],
): AvailableItem | undefined {
  const loaded = sources.find(
    ({ record }) => record.id === source.id && (source.kind === 'local' || record.commit === item.commit),
  );
  const found = loaded?.scan.items.find(
    ({ kind, name, plugin }) => kind === item.kind && name === item.name && plugin === item.plugin,
  );
  return loaded === undefined || found === undefined ? undefined : { source: loaded, item: found };
}

// Compares what would be installed with the lock, and removes what its sources have besides.
function planLocked(
  found: readonly AvailableItem[],
  locked: readonly LockedSource[],
  inventory: Inventory,
  differences: string[],
): InstallPlan {
  const expected = lockedByKey(locked);
  const items = planItems(found, inventory);
  const { paths } = inventory.environment;
  for (const { key, form, effective, item, change, existing } of items) {
    const own = expected.get(key);
    const name = `${item.kind} ${effective}`;
    if (own === undefined) differences.push(`${name}: not in the lock, but needed`);
    else if (own.effective !== effective) differences.push(`${item.kind} ${own.effective}: now named ${effective}`);
    else if (own.sourceHash !== form.hash) differences.push(`${name}: the source differs`);
    else if (change === 'unchanged' && existing !== undefined) {
      const hash = portableHash(join(paths.objects, existing.object), inventory.rendering);
      if (hash !== (own.builtHash ?? own.installedHash)) differences.push(`${name}: ${MODIFIED}`);
    }
  }
  const ids = new Set(locked.flatMap(({ id, items: { length } }) => (length > 0 ? [id] : [])));
  const isExtra = (item: InstalledItem): boolean => ids.has(item.source) && !expected.has(itemKey(item));
  return toPlan({ items, removed: inventory.installed.items.filter(isExtra) }, inventory);
}

// Before anything is changed, and again after install hooks.
function assertHashes(items: readonly AppliedItem[], expected: ReadonlyMap<string, LockedItem>, file: string): void {
  const wrong = items.flatMap(({ planned, portable }) => {
    const { installedHash, builtHash } = expected.get(planned.key)!;
    if (portable.installed !== installedHash) return [`${planned.item.kind} ${planned.effective}: the files differ`];
    if (portable.built === builtHash) return [];
    const why = portable.built === null ? NO_HOOKS : 'its build differs';
    return [`${planned.item.kind} ${planned.effective}: ${why}`];
  });
  if (wrong.length > 0) throw differs(file, wrong);
}
