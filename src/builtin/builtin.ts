// Defines built-in tools, whose functions get the caller and the snapshot of their call.

import type { Catalog } from '../catalog/catalog.js';
import type { References } from '../catalog/skill-references.js';
import type { ToolContext } from '../core/context.js';
import { BUILTIN_TAG } from '../core/name.js';
import type { CascadeResolver, RemoteSkill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { CallInternals, FunctionAction, Tool } from '../core/tool.js';
import { type BuiltinTool, toBuiltin } from '../formats/module/builtin.js';
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

type Described = Omit<BuiltinTool, 'run' | 'internal'>;

export interface BuiltinDefinition<Input> extends Described {
  readonly run: (input: Input, context: ToolContext, internals: CallInternals) => unknown;
}

export function defineBuiltin<Input>({ traits, ...definition }: BuiltinDefinition<Input>): Tool {
  return toBuiltin({ ...definition, traits: { ...traits, tags: [BUILTIN_TAG] }, internal: true });
}

/** Defines a built-in tool whose calls go on as calls of another tool. */
export function defineForwarding(definition: Described, forward: NonNullable<FunctionAction['forward']>): Tool {
  const run = (): never => {
    throw new TypeError(`${definition.name} is not run`);
  };
  const tool = defineBuiltin({ ...definition, run });
  return { ...tool, action: { ...(tool.action as FunctionAction), forward } };
}
