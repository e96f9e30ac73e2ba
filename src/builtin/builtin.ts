// What built-in tools use of their toolbox, and tools whose calls go on as calls of others.

import type { Catalog } from '../catalog/catalog.js';
import type { References } from '../catalog/skill-references.js';
import type { CascadeResolver, RemoteSkill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { FunctionAction, Tool } from '../core/tool.js';
import { type BuiltinDefinition, defineBuiltin } from '../formats/module/builtin.js';
import type { SearchTools } from '../runtime/list.js';

/** What built-in tools use of the toolbox that they belong to. */
export interface BuiltinParts {
  readonly catalog: Catalog;
  readonly cascade: CascadeResolver;
  readonly references: References;
  readonly search: SearchTools;
  readonly remoteSkills: (snapshot: Snapshot) => readonly RemoteSkill[];
}

/** A function, because these parts are created after the built-in tools. */
export type GetParts = () => BuiltinParts;

/** Defines a built-in tool whose calls go on as calls of another tool. */
export function defineForwarding(
  definition: Omit<BuiltinDefinition<never>, 'run'>,
  forward: NonNullable<FunctionAction['forward']>,
): Tool {
  const run = (): never => {
    throw new TypeError(`${definition.name} is not run`);
  };
  const tool = defineBuiltin({ ...definition, run });
  return { ...tool, action: { ...(tool.action as FunctionAction), forward } };
}
