// A Hook: a shell command that a source or an item runs when it is built, installed or uninstalled.

import { digestParts } from '../../files/digest.js';
import type { ItemKind } from '../manifest/item-name.js';

export interface Hook {
  /** SHA-256 over the source location, the item, the command and the bytes it runs on. */
  readonly digest: string;
  readonly source: string;
  readonly commit: string | null;
  /** The item it belongs to; null for a hook of the source itself. */
  readonly item: string | null;
  readonly kind: ItemKind | null;
  readonly event: 'install' | 'uninstall' | 'build';
  /** The command, passed to `/bin/sh -c`. */
  readonly run: string;
  /** The working directory, as shown in the approval prompt. */
  readonly where: string;
}

/** Adds the digest that approvals are stored by; `bytes` is the hash of the files the command runs on (A31). */
export function toHook(facts: Omit<Hook, 'digest'>, location: string, bytes: string): Hook {
  const { item, kind, event, run } = facts;
  return { ...facts, digest: digestParts(['hook', location, kind ?? '', item ?? '', event, run, bytes]) };
}
