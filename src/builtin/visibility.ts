// Who sees a built-in tool, and which tools and skills a caller may know of.

import type { Catalog } from '../catalog/catalog.js';
import type { Audience, Listed } from '../catalog/listing.js';
import { isToolOf } from '../catalog/skill-references.js';
import type { CallerKind } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import type { Settings } from '../core/settings.js';
import type { CascadeResolver, RemoteSkill, Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { didYouMean, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { RUN_SKILL_SCRIPT } from '../core/view.js';
import { findDenial } from '../policy/decide.js';
import { toRules } from '../policy/rules.js';
import { newNameOf } from '../policy/view.js';
import { isBackgroundTool } from './background.js';
import { QUERY_RESULT } from './query-result.js';
import { READ_RESULT } from './read-result.js';
import { isModeTool, usesTool } from './search-mode.js';
import { READ_SKILL } from './skill-content.js';

/** Whether a skill is shown. */
export function isVisible(skill: Skill): boolean {
  return !skill.hidden;
}

/** Whether a built-in tool is offered, by its name or group. */
export function isOffered(
  name: string,
  group: string | undefined,
  offered: readonly string[],
  { offer }: Settings,
): boolean {
  const isNamed = (entry: string): boolean => entry === name || entry === group;
  return offered.some(isNamed) || offer.some(isNamed);
}

/** Throws `usage` if a name is neither a built-in tool nor a group of them. */
export function checkOffer(offered: readonly string[], builtin: readonly Tool[]): void {
  if (offered.length === 0) return;
  const groups = [...new Set(builtin.map(({ name, traits }) => traits.group ?? name))];
  const known = [...groups, ...builtin.map(({ name }) => name)];
  const unknown = offered.find((entry) => !known.includes(entry));
  if (unknown === undefined) return;
  throw new ToolError('usage', `unknown built-in tool or group "${quoteOutside(unknown, 60)}"`, {
    hint: didYouMean(unknown, known, `use one of ${groups.join(', ')}, or the name of a built-in tool`),
  });
}

export interface OfferedOptions {
  /** Names and groups that code offers. */
  readonly offered: readonly string[];
  readonly remoteSkills: (snapshot: Snapshot) => readonly RemoteSkill[];
}

/** Returns who sees a built-in tool. */
export function offeredTo(
  { name, traits }: Tool,
  { skills, hasBackground }: Listed,
  snapshot: Snapshot,
  { offered, remoteSkills }: OfferedOptions,
): Audience {
  if (isOffered(name, traits.group, offered, snapshot.settings)) return 'all';
  const isReadOnDemand = ({ owner }: Skill): boolean =>
    snapshot.settings.skills.contextMode === 'readOnDemand' || (owner === 'workspace' && !snapshot.trusted);
  if (name === READ_SKILL && skills.some((skill) => isVisible(skill) && isReadOnDemand(skill))) return 'all';
  if (name === READ_SKILL && remoteSkills(snapshot).length > 0) return 'all';
  if (name === RUN_SKILL_SCRIPT && skills.some((skill) => isVisible(skill) && skill.scripts !== undefined))
    return 'models';
  if (isBackgroundTool({ name })) return hasBackground() ? 'models' : 'none';
  if (isModeTool({ name })) return usesTool(snapshot.settings.view.mode, { name }) ? 'models' : 'none';
  // SRV-14: a model that gets a handle must be able to read it; a person gets the whole output.
  return name === READ_RESULT || name === QUERY_RESULT ? 'models' : 'none';
}

/** What decides whether a caller may know of a tool. */
export interface NamingParts {
  readonly catalog: Catalog;
  readonly cascade: CascadeResolver;
}

/** Whether a caller of this kind may know of a tool (POL-8). */
export function mayName(
  cascade: CascadeResolver,
  tool: Tool,
  kind: CallerKind,
  snapshot: Snapshot,
  skills: readonly Skill[],
): boolean {
  // RES-48: a model knows a renamed tool by its new name only.
  if (kind === 'model' && newNameOf(tool, snapshot.settings.view) !== undefined) return false;
  return findDenialOf(cascade, tool, kind, snapshot, skills) === undefined;
}

// Includes the rules of skills that govern the tool (RES-44).
function findDenialOf(
  cascade: CascadeResolver,
  tool: Tool,
  kind: CallerKind,
  snapshot: Snapshot,
  skills: readonly Skill[],
) {
  const narrowing = cascade.narrowingAbove(tool, skills, snapshot);
  return findDenial(tool, { kind, door: 'library' }, toRules(snapshot, { narrowing }));
}

/** Returns the skills that a model may read, or those of a name. Only a rule that names a skill hides it (POL-12). */
export function readableSkills({ catalog, cascade }: NamingParts, snapshot: Snapshot, name?: string): readonly Skill[] {
  const skills = catalog.skills(snapshot);
  if (skills.length === 0) return skills;
  const { tools } = catalog.listed(snapshot);
  const isNamed = (one: { readonly name: string }): boolean => name === undefined || one.name === name;
  const byName = new Map(tools.filter(isNamed).map((tool) => [tool.name, tool]));
  return skills.filter(isNamed).filter((skill) => {
    const tool = byName.get(skill.name);
    if (tool === undefined || !isToolOf(skill, tool)) return true;
    return (findDenialOf(cascade, tool, 'model', snapshot, skills)?.rule ?? null) === null;
  });
}

/** Returns the skills of servers that a model may read. */
export function readableRemoteSkills(all: readonly RemoteSkill[], snapshot: Snapshot): readonly RemoteSkill[] {
  const rules = toRules(snapshot);
  return all.filter(({ tool }) => findDenial(tool, { kind: 'model', door: 'library' }, rules) === undefined);
}
