// Resolves the cascade of a tool: its level, the main skills that govern it, and the skills it inherits from (RES-17).

import { dirname } from 'node:path';
import { findForeignPaths } from '../catalog/narrow-places.js';
import { isToolError, ToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import { type Problem, problemOf, toProblem } from '../core/problem.js';
import {
  type Cascade,
  type CascadeResolver,
  isSkillDirectory,
  type Narrowing,
  NO_NARROWING,
  type Skill,
} from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { anchorRef } from '../files/anchor.js';
import { readSkillMetadata } from '../formats/skill/metadata.js';
import { type Authorities, type AuthorityOptions, createAuthorities, type MainSkill } from './authority.js';
import { INHERITED_SETTINGS, type Level, toCascade, toNarrowing, toOwnLevel } from './levels.js';

export interface CascadeOptions extends AuthorityOptions {
  /** Returns the tool of a reference; throws if there is none. */
  readonly find: (ref: string, snapshot: Snapshot) => Tool;
}

export function createCascadeResolver(options: CascadeOptions): CascadeResolver {
  const authorities = createAuthorities(options);
  const levels = createLevels(authorities, options.find);
  const of = (tool: Tool, snapshot: Snapshot): Cascade => toCascade(levels.of(tool, snapshot));

  return {
    of,
    authorityOf(tool, snapshot) {
      const [nearest] = authorities.above(tool, snapshot);
      return nearest && 'skill' in nearest ? nearest.skill : null;
    },
    narrowingOf: (tool, snapshot) => of(tool, snapshot).narrowing,
    narrowingAbove: levels.above,
    inheritedTimeout(tool, snapshot) {
      const { timeout } = of(tool, snapshot);
      const standard = snapshot.settings.limits.timeoutMs;
      // A delegate leaves the time limit to the tool it calls.
      if (timeout === null) return tool.action.kind === 'delegate' ? Number.POSITIVE_INFINITY : standard;
      const mayRaise = timeout.owner !== 'workspace' || (tool.origin.owner === 'workspace' && snapshot.trusted);
      return mayRaise ? timeout.ms : Math.min(timeout.ms, standard);
    },
    problems: createProblems(authorities, levels),
  };
}

// Reports what is wrong with what tools and skills inherit.
function createProblems(
  authorities: Authorities,
  levels: ReturnType<typeof createLevels>,
): CascadeResolver['problems'] {
  return (tools, skills, snapshot) => {
    const problems = new Map<string, Problem>();
    const add = (problem: Problem): void => {
      problems.set(`${problem.path}\n${problem.message}`, problem);
    };
    const checkInherited = (skill: Skill): void => {
      const narrowing = toNarrowing(skill);
      if (narrowing !== undefined) for (const problem of findForeignPaths(narrowing, snapshot.places)) add(problem);
      try {
        levels.inheritedBy(skill, snapshot);
      } catch (error) {
        add(problemOf(error, skill.file));
      }
    };
    for (const skill of skills) checkInherited(skill);
    // Once per directory, because its tools have the same authority. Problems of skills are reported by their format.
    const own = new Set(skills.filter(isSkillDirectory).map(({ directory }) => directory));
    const places = new Map<string | null, Tool>();
    for (const tool of tools) {
      const { directory } = tool.origin;
      places.set(directory !== null && own.has(directory) ? dirname(directory) : directory, tool);
    }
    for (const [directory, { origin }] of places) {
      for (const main of authorities.governing(directory, origin.owner, snapshot)) {
        if ('fault' in main) add(main.fault);
        else {
          checkInherited(main.skill);
          for (const warning of readSkillMetadata(main.skill.metadata).warnings)
            add(toProblem(main.skill.file, 'warning', warning));
        }
      }
    }
    return [...problems.values()];
  };
}

function createLevels(authorities: Authorities, find: CascadeOptions['find']) {
  // Depth first, each skill once.
  const follow = (
    from: Skill | undefined,
    snapshot: Snapshot,
    above: readonly Skill[] = [],
    seen = new Set(),
  ): Level[] => {
    if (!from?.inherit) return [];
    const chain = [...above, from];
    return from.inherit.flatMap((ref) => {
      const tool = findInherited(ref, from, snapshot);
      const skill = authorities.skillOf(tool, snapshot);
      const start = chain.findIndex(({ file }) => file === skill?.file);
      if (start !== -1) throw cycle([...chain.slice(start), skill!]);
      const key = skill?.file ?? tool;
      if (seen.has(key)) return [];
      seen.add(key);
      return [levelOfTool(tool, skill), ...follow(skill, snapshot, chain, seen)];
    });
  };

  const findInherited = (ref: string, { name, directory }: Skill, snapshot: Snapshot): Tool => {
    try {
      return find(anchorRef(ref, directory), snapshot);
    } catch (error) {
      if (!isToolError(error)) throw error;
      throw new ToolError('invalid_ref', `${name} inherits from "${ref}", which does not exist`, {
        hint: 'use the name of a skill that `wield list --all` shows in metadata.$inherit',
        data: { ref },
        cause: error,
      });
    }
  };

  return {
    /** Returns the levels that a skill inherits. Throws `invalid_ref` for a missing skill or a cycle (RES-15). */
    inheritedBy: (skill: Skill, snapshot: Snapshot): Level[] => follow(skill, snapshot),
    /** Returns what the main skills above a tool restrict. */
    above(tool: Tool, skills: readonly Skill[], snapshot: Snapshot): readonly Narrowing[] {
      const found = authorities
        .aboveListed(tool, skills, snapshot)
        .flatMap((main) => levelOfMain(main).narrowing ?? []);
      return found.length === 0 ? NO_NARROWING : found;
    },
    of(tool: Tool, snapshot: Snapshot) {
      const skill = authorities.skillOf(tool, snapshot);
      const [nearest, ...further] = authorities.above(tool, snapshot);
      const authority = nearest && 'skill' in nearest ? nearest.skill : null;
      const own = follow(skill, snapshot);
      const inherited = follow(authority ?? undefined, snapshot);
      const governing = nearest === undefined ? [] : [levelOfMain(nearest)];
      const outer = further.map(levelOfMain);
      // An authority without `$inherit` is followed by the main skills further up.
      const rest = (authority?.inherit ?? null) === null ? outer : inherited;
      return {
        authority,
        own: levelOfTool(tool, skill),
        above: [...governing, ...(skill?.inherit === false ? [] : [...own, ...rest])],
        limiting: [...governing, ...outer, ...inherited],
      };
    },
  };
}

function cycle(chain: readonly Skill[]): ToolError {
  const names = chain.map(({ name }) => name);
  return new ToolError('invalid_ref', `skills inherit from each other in a cycle: ${names.join(' → ')}`, {
    hint: 'remove one of them from metadata.$inherit of the other',
    data: { circle: names },
  });
}

function settingsOf({ metadata }: Skill): Record<string, Json> {
  return Object.fromEntries(
    INHERITED_SETTINGS.filter((name) => Object.hasOwn(metadata, name)).map((name) => [name, metadata[name]!]),
  );
}

function levelOfTool(tool: Tool, skill: Skill | undefined): Level {
  return toOwnLevel(tool, skill && settingsOf(skill), skill && toNarrowing(skill));
}

function levelOfMain(main: MainSkill): Level {
  if ('fault' in main) return closedLevel(main.fault, main.hasRules);
  const { file, name, owner, allowedTools, timeoutMs } = main.skill;
  const settings = settingsOf(main.skill);
  return { key: `main ${file}`, name, owner, allowedTools, timeoutMs, settings, narrowing: toNarrowing(main.skill) };
}

// A skill that cannot be read may have declared a limit, so it allows nothing until it is fixed.
function closedLevel({ path, message }: Problem, hasRules: boolean): Level {
  const trust = { rules: [], line: null, fault: message };
  const narrowing = hasRules ? { name: path, file: path, directory: dirname(path), trust } : undefined;
  return { key: `main ${path}`, name: path, owner: 'workspace', allowedTools: [], settings: {}, narrowing };
}
