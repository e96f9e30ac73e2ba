// The content of a source manifest, `wield.toml` or `mind.toml`, and pins.

import type { JsonObject } from '../../core/json.js';
import type { ItemKind } from './item-name.js';

export interface Pin {
  /** `ref`: a tag, a branch or the beginning of a commit, whichever exists; `HEAD` is the commit that is current now. */
  readonly to: 'branch' | 'tag' | 'commit' | 'ref';
  readonly name: string;
}

/** Parses `branch=NAME`, `tag=NAME`, a full commit hash, or the name of a tag or branch. */
export function parsePin(value: string): Pin {
  const named = /^(branch|tag)=(.+)$/s.exec(value);
  if (named) return { to: named[1] as 'branch' | 'tag', name: named[2]! };
  return { to: /^[0-9a-f]{40}$/.test(value) ? 'commit' : 'ref', name: value };
}

export interface DeclaredHook {
  readonly run: string;
  readonly name: string | null;
  readonly event: 'install' | 'uninstall';
}

/** The fields of an item that `[[items]]` can declare. */
export interface ItemFields {
  readonly kind: ItemKind;
  readonly name: string;
  /** Relative to the source: a directory, or a file for an agent or a rule. */
  readonly path: string;
  /** Where it is linked in an agent home, if not at the default path of its kind. */
  readonly link: string | null;
  readonly description: string | null;
  readonly bin: string | null;
  readonly build: string | null;
  readonly install: string | null;
  readonly uninstall: string | null;
}

export interface DeclaredItem extends ItemFields {
  /** The line of its table in the manifest. */
  readonly line: number;
}

export interface ItemGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** What a source says about a nested one that has no manifest of its own. */
export interface Adoption {
  /** Directories to search instead of the root; null for the root. */
  readonly roots: readonly string[] | null;
  /** Directories to search besides everything else. */
  readonly addRoots: readonly string[];
  readonly hooks: readonly DeclaredHook[];
  /** Plugins that a marketplace lists: nothing else of the source is read. */
  readonly plugins?: readonly PluginEntry[];
}

/** A plugin as a marketplace lists it. */
export interface PluginEntry {
  readonly name: string;
  readonly description: string | null;
  /** Its directory, relative to its source; empty for the source itself. */
  readonly path: string;
  /** False: the entry describes the plugin, not a manifest of its own. */
  readonly strict: boolean;
  /** The fields of the entry that name components. */
  readonly components: JsonObject;
}

export interface NestedSource {
  readonly source: string;
  readonly namespace: string | null;
  readonly pin: Pin | null;
  /** Which of its items are installed with those of the outer source: references are bare, such as `skill:scan`. */
  readonly install: 'all' | 'none' | readonly string[];
  readonly adoption: Adoption | null;
  readonly onAuthFailure: { readonly action: 'error' | 'skip'; readonly message: string | null } | null;
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
