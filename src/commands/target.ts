// Maps a flag to the parameter it sets: `--x`, `--no-x`, `--x:=JSON`, `--x.field`.

import type { FlagKind } from './arguments.js';
import { createFlagTable, isSwitch, type Parameter } from './parameters.js';

export interface Target {
  readonly parameter: Parameter;
  readonly path: readonly string[];
  readonly json: boolean;
  readonly negated: boolean;
}

export type TargetFinder = (name: string) => Target | undefined;

/** Finds the target of a flag without its dashes: a parameter, else `no-`, a trailing colon, a field. */
export function createTargetFinder(
  parameters: readonly Parameter[],
  aliases?: Readonly<Record<string, string>>,
): TargetFinder {
  const table = createFlagTable(parameters, aliases);
  const find = (name: string): Target | undefined => {
    const direct = table(name);
    if (direct) return { parameter: direct, path: [], json: false, negated: false };
    if (name.endsWith(':')) {
      const target = find(name.slice(0, -1));
      return target && !target.negated ? { ...target, json: true } : undefined;
    }
    if (name.startsWith('no-')) {
      const parameter = table(name.slice(3));
      if (parameter && isSwitch(parameter)) return { parameter, path: [], json: false, negated: true };
    }
    return findField(name);
  };
  // Tries the longest parameter name first: a name may contain dots.
  const findField = (name: string): Target | undefined => {
    for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
      const parameter = table(name.slice(0, dot));
      const path = name.slice(dot + 1).split('.');
      if (parameter && path.every((step) => step !== '')) return { parameter, path, json: false, negated: false };
    }
    return undefined;
  };
  return find;
}

export function kindOfTarget(target: Target | undefined): FlagKind | undefined {
  if (target === undefined) return undefined;
  const { parameter, path, json } = target;
  return isSwitch(parameter) && path.length === 0 && !json ? 'switch' : 'value';
}
