// JSON documents of available, planned, applied and installed items.

import type { AppliedItem } from './apply/stage.js';
import type { ListedItem } from './inventory.js';
import type { PlannedItem, RefusedItem } from './plan/plan-items.js';
import type { FetchedSource } from './sources/fetch.js';
import { installedName, prefixOf } from './sources/load.js';
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
