// Types of configuration values and files.

import type { Problem } from '../core/problem.js';
import type { Rule } from '../core/rule.js';
import type { ServerEntry } from '../core/upstream.js';

/** Highest first. */
export const LAYERS = ['managed', 'user', 'project'] as const;
export type Layer = (typeof LAYERS)[number];

export interface ConfigValue {
  readonly path: readonly string[];
  /** In internal units. */
  readonly value: unknown;
  /** As written in the file. */
  readonly written: string;
  readonly layer: Layer;
  readonly file: string;
  readonly line: number;
  /** The rules, if the key contains rules. */
  readonly rules?: readonly Rule[];
  /** The server, if the key is one; `value` has no secrets. */
  readonly server?: ServerEntry;
}

export interface ConfigFile {
  readonly values: readonly ConfigValue[];
  readonly problems: readonly Problem[];
  /** Set if the file cannot be used at all; then everything is denied (POL-9). */
  readonly fault?: string;
}
