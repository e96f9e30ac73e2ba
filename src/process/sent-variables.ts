// Variables that a front sends with a call, and what a worker grants of them.

import type { Variables } from '../core/executor.js';
import type { Plan } from '../core/plan.js';
import type { Settings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { BASE, grantsOf, isGranted, LOADERS, OWN } from './environment.js';

// A reference in a credential: `${NAME}`, `${env:NAME}`.
const REFERENCE = /\$\{(?:env:)?([A-Za-z_]\w*)/g;

// Of no use on another machine.
const isOfMachine = (name: string): boolean =>
  BASE.includes(name) || name === 'HOME' || [/^LC_/, LOADERS, OWN].some((form) => form.test(name));

/** Returns the variables that a plan was granted; those of the machine itself are not sent (FLT-70). */
export function findSentVariables(plan: Plan, settings: Settings, { env }: World): Variables | undefined {
  const granted =
    plan.kind === 'http'
      ? plan.credentials.flatMap(({ value }) => [...value.matchAll(REFERENCE)].map(([, name = '']) => name))
      : grantsOf(plan.tool, settings);
  if (granted.length === 0) return undefined;
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !isOfMachine(entry[0]) && isGranted(entry[0], granted),
    ),
  );
}

/** Returns the names of sent variables that this machine does not grant a tool, which would arrive without them (FLT-70). */
export function findUngrantedVariables(tool: Tool, settings: Settings, variables: Variables): readonly string[] {
  // Those of credentials are granted by the entry of the operation.
  if (tool.action.kind === 'http') return [];
  const granted = grantsOf(tool, settings);
  return Object.keys(variables).filter((name) => !isGranted(name, granted));
}
