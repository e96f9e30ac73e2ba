// Writes the registered sources and installed items as a source manifest, which reproduces them when it is added.

import type { Inventory } from './inventory.js';
import { itemKey } from './manifest/item-name.js';
import { availableKey, type LoadedSource, listItems } from './sources/load.js';

/** `whole`: every source with all its items, not only the installed ones. */
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
