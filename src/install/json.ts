// JSON documents of available, planned, applied and installed items.

import type { AppliedItem } from './apply/stage.js';
import type { InstalledItem } from './manifest/installed.js';
import type { PlannedItem } from './plan/change-of.js';
import type { RefusedItem } from './plan/plan-many.js';
import type { SourceItem } from './sources/source-item.js';

export function toOfferJson(source: string, { kind, name, description, bin, path }: SourceItem, effective: string) {
  return { source, kind, name, effective, description, bin, path };
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
  const { files: _files, ...rest } = item;
  return rest;
}
