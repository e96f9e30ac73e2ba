// The items of a bundle: its server, and the directory with its files. Nothing else of it is read.

import { readBundle } from '../manifest/bundle.js';
import { parseSourceManifest } from '../manifest/parse-source-manifest.js';
import { BLANK } from './plugin-items.js';
import type { Scan } from './scan.js';

/** Throws `invalid_definition` if the bundle cannot be used. */
export function scanBundle(tree: string): Scan {
  const { name, description, template } = readBundle(tree);
  const own = { ...BLANK, name, ownName: name, plugin: name, path: '' };
  const items = [
    {
      ...own,
      kind: 'server' as const,
      description: description ?? `MCP server ${name}`,
      content: `${JSON.stringify(template, null, 2)}\n`,
    },
    { ...own, kind: 'plugin' as const, description: `files of the bundle ${name}` },
  ];
  const { manifest } = parseSourceManifest('');
  return { items, plugins: [], warnings: [], skipped: [], manifest: { ...manifest, description } };
}
