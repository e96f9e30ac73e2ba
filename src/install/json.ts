// What sources offer, what is planned and what is installed, as plain JSON for programs.

import type { AppliedItem } from './apply/apply.js';
import type { InstalledItem } from './manifest/installed.js';
import type { Offer, PlannedItem } from './plan/plan-items.js';

export function toOfferJson({ source, item }: Offer, effective: string) {
  const { kind, name, description, bin, path } = item;
  return { source: source.record.id, kind, name, effective, description, bin, path };
}

export function toPlannedJson({ change, effective, neededBy, existing, form, ...offer }: PlannedItem) {
  return {
    ...toOfferJson(offer, effective),
    change,
    neededBy,
    before:
      existing === undefined
        ? null
        : { effective: existing.effective, commit: existing.commit, hash: existing.sourceHash },
    commit: offer.source.record.commit,
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

export function toInstalledJson(item: InstalledItem) {
  const { files: _files, ...rest } = item;
  return rest;
}
