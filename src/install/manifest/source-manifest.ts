// The content of a source's manifest, `wield.toml` or `mind.toml`.

import type { ItemKind } from './item-name.js';
import type { Pin } from './pin.js';

export interface DeclaredHook {
  readonly run: string;
  readonly name: string | null;
  readonly event: 'install' | 'uninstall';
}

export interface DeclaredItem {
  readonly kind: ItemKind;
  readonly name: string;
  readonly path: string;
  readonly link: string | null;
  readonly description: string | null;
  readonly bin: string | null;
  readonly build: string | null;
  readonly install: string | null;
  readonly uninstall: string | null;
  readonly line: number;
}

export interface ItemGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export interface NestedSource {
  readonly source: string;
  readonly namespace: string | null;
  readonly pin: Pin | null;
}

export interface SourceManifest {
  readonly description: string | null;
  readonly namespace: string | null;
  readonly roots: readonly string[] | null;
  readonly pin: Pin | null;
  readonly minVersion: string | null;
  /** Which text files tokens are expanded in. */
  readonly expand: 'all' | 'markdown';
  readonly items: readonly DeclaredItem[];
  readonly globs: Readonly<Partial<Record<ItemKind, ItemGlobs>>>;
  readonly sources: readonly NestedSource[];
  readonly hooks: readonly DeclaredHook[];
}

export const EMPTY_MANIFEST: SourceManifest = {
  description: null,
  namespace: null,
  roots: null,
  pin: null,
  minVersion: null,
  expand: 'all',
  items: [],
  globs: {},
  sources: [],
  hooks: [],
};
