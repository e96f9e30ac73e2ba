// Makes the paths among the values of a command canonical; the plan, the rules and the program see only those.

import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { Slot } from '../../core/plan.js';
import { containedPath } from '../../files/contained-path.js';
import { splitValue, textsOf } from './arguments.js';

export interface ContainOptions {
  readonly workdir: string;
  /** Directories that paths must stay in. */
  readonly roots: readonly string[];
  /** Which slots are final; the value of another is not known yet. */
  readonly isFinal: (slot: Slot, index: number) => boolean;
}

export interface ContainedSlots {
  readonly slots: readonly Slot[];
  /** The directory that a parameter sets, if it is known. */
  readonly directory: string | undefined;
}

/** Replaces paths by their canonical form (TJS-24). Throws `path_escape` for one outside the roots. */
export function containSlots(slots: readonly Slot[], options: ContainOptions): ContainedSlots {
  const { workdir, roots, isFinal } = options;
  if (slots.every(({ mapping }) => !isPath(mapping))) return { slots, directory: undefined };
  const contain = (slot: Slot, path: string, base: string): string => {
    // Refused with the other arguments.
    if (path.includes('\0')) return path;
    const canonical = containedPath(path, { base, roots });
    // The links of a planned path changed since; it is not what was approved.
    if (canonical !== undefined && (slot.given === undefined || canonical === path)) return canonical;
    throw new ToolError('path_escape', `${slot.mapping.param} is outside ${workdir}`, {
      hint: 'use a path inside the working directory',
      data: { path },
    });
  };
  let directory: string | undefined;
  const moved = slots.map((slot, index): Slot => {
    const [first] = textsOf(slot.value);
    if (slot.mapping.kind !== 'workingdir' || first === undefined || !isFinal(slot, index)) return slot;
    directory = contain(slot, first, workdir);
    return { ...slot, value: directory, given: slot.given ?? slot.value };
  });
  // Relative to the directory that the program runs in.
  const base = directory ?? workdir;
  const contained = moved.map((slot, index): Slot => {
    const { mapping, value } = slot;
    if (!mapping.contained || mapping.kind === 'workingdir' || !isFinal(slot, index)) return slot;
    const split = mapping.split && slot.given === undefined;
    const paths = splitValue(mapping, value, split);
    if (paths.length === 0) return slot;
    const values: Json[] = paths.map((path) => contain(slot, path, base));
    return {
      // A canonical path may contain spaces.
      mapping: { ...mapping, split: false },
      value: values.length === 1 ? values[0] : values,
      given: slot.given ?? value,
    };
  });
  return { slots: contained, directory };
}

/** Returns the canonical values of parameters that are paths. */
export function containedValues(slots: readonly Slot[]): Record<string, Json> {
  return Object.fromEntries(
    slots.flatMap(({ mapping, value, given }) =>
      given === undefined || value === undefined ? [] : [[mapping.param, value]],
    ),
  );
}

function isPath({ contained, kind }: Slot['mapping']): boolean {
  return contained || kind === 'workingdir';
}
