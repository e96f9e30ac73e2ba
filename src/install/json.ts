// Documents of available, planned, applied and installed items: JSON, and a source manifest.

import type { AppliedItem } from './apply/stage.js';
import type { Inventory, ListedItem } from './inventory.js';
import { itemKey } from './manifest/item-name.js';
import type { PlannedItem, RefusedItem } from './plan/plan-items.js';
import type { FetchedSource } from './sources/fetch.js';
import { availableKey, installedName, type LoadedSource, listItems, prefixOf } from './sources/load.js';
import type { SourceItem } from './sources/source-item.js';
import type { InstalledItem } from './state.js';

function toOfferJson(source: string, { kind, name, plugin, description, bin, path }: SourceItem, effective: string) {
  return { source, kind, name, plugin, effective, description, bin, path };
}

export function toListedJson({ source, item, effective, installed }: ListedItem) {
  return { ...toOfferJson(source.record.id, item, effective), installed };
}

/** A source with everything that it offers, and what it does not. */
export function toSourceJson({ record, scan }: FetchedSource) {
  const { id, kind, location, commit, ref, pin, hooks, signer = null } = record;
  const items = scan.items.filter((item) => item.kind !== 'plugin');
  return {
    id,
    kind,
    location,
    namespace: prefixOf(record, scan),
    commit,
    ref,
    pin,
    signer,
    hooks,
    description: scan.manifest.description,
    plugins: scan.plugins.map(({ name, description, path }) => ({ name, description, path })),
    items: items.map((item) => toOfferJson(id, item, installedName(item, prefixOf(record, scan, item.plugin)))),
    warnings: scan.warnings,
    skipped: scan.skipped,
  };
}

export function toPlannedJson({ change, effective, neededBy, existing, form, source, item }: PlannedItem) {
  return {
    ...toOfferJson(source.record.id, item, effective),
    change,
    neededBy,
    before:
      existing === undefined
        ? null
        : { effective: existing.effective, commit: existing.commit, hash: existing.sourceHash },
    commit: source.record.commit,
    hash: form.hash,
  };
}

export function toAppliedJson({ planned, files, installedHash, build }: AppliedItem) {
  const { store, links } = planned;
  return {
    ...toPlannedJson(planned),
    store,
    links: links.map(({ path }) => path),
    installedHash,
    build,
    files: files.map((file) => ({ ...file })),
  };
}

export function toRefusedJson({ kind, effective, source, error }: RefusedItem) {
  return { kind, effective, source, error: error.toJSON() };
}

export function toInstalledJson(item: InstalledItem) {
  const { files: _files, digests: _digests, ...rest } = item;
  return rest;
}

/**
 * Returns the registered sources and installed items as a source manifest, which reproduces them when it is added. `whole`:
 * every source with all its items, not only the installed ones.
 */
export function toExportedManifest({ sources, installed }: Inventory, whole: boolean): string {
  const installedKeys = new Set(installed.items.map(itemKey));
  const tables = sources.map((source) => {
    const items = listItems([source]);
    const chosen = items.filter((one) => installedKeys.has(availableKey(one)));
    const entries: readonly (readonly [string, string | readonly string[] | boolean | null])[] = [
      ...sourceEntries(source),
      whole || chosen.length === items.length || chosen.length === 0
        ? ['install', whole || chosen.length > 0]
        : ['install-items', chosen.map(({ item }) => `${item.kind}:${item.name}`)],
    ];
    // Strings and arrays of strings are written in TOML as in JSON.
    const lines = entries.flatMap(([key, value]) => (value === null ? [] : `${key} = ${JSON.stringify(value)}`));
    return ['[[discover.sources]]', ...lines, ''].join('\n');
  });
  const head = '[source]\ndescription = "Written by wield list --manifest; adding it installs the same items."\n';
  return [head, ...tables].join('\n');
}

function sourceEntries({
  record,
  prefix,
}: LoadedSource): readonly (readonly [string, string | readonly string[] | null])[] {
  const { location, commit, roots, addRoots = [] } = record;
  return [
    ['source', location],
    ['namespace', prefix],
    ['pin-ref', commit],
    ['roots', roots.length === 0 ? null : roots],
    ['add-roots', addRoots.length === 0 ? null : addRoots],
  ];
}
