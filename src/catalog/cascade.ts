// Resolves the cascade of a tool: which levels there are, and what they give together, kept while all of them stand.

import { dirname } from 'node:path';
import {
  type Cascade,
  type CascadeResolver,
  INHERITED_SETTINGS,
  type Level,
  toCascade,
  toOwnLevel,
} from '../core/cascade.js';
import { isToolError, ToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { anchorRef } from '../files/anchor.js';
import type { Authorities, MainSkill } from './authority.js';

export interface CascadeOptions {
  readonly authorities: Authorities;
  /** The tool of a reference. Throws where there is none. */
  readonly find: (ref: string, snapshot: Snapshot) => Tool;
}

interface Levels {
  readonly authority: Skill | null;
  readonly own: Level;
  readonly above: readonly Level[];
  readonly limiting: readonly Level[];
}

export function createCascadeResolver({ authorities, find }: CascadeOptions): CascadeResolver {
  const cascades = new WeakMap<Tool, { readonly parts: readonly unknown[]; readonly cascade: Cascade }>();
  // Made once for each tool and main skill, so that equal levels are the same object (RES-18).
  const ofTools = new WeakMap<Tool, { readonly skill: Skill | undefined; readonly level: Level }>();
  const ofMains = new WeakMap<MainSkill, Level>();

  const levelOfTool = (tool: Tool, skill: Skill | undefined): Level => {
    const known = ofTools.get(tool);
    if (known !== undefined && known.skill === skill) return known.level;
    const level = toOwnLevel(tool, skill && settingsOf(skill));
    ofTools.set(tool, { skill, level });
    return level;
  };

  const levelOfMain = (main: MainSkill): Level => {
    let level = ofMains.get(main);
    if (level === undefined) {
      level = 'skill' in main ? toLevel(main.skill) : closedLevel(main.fault);
      ofMains.set(main, level);
    }
    return level;
  };

  // The levels of skills that are named, each with those that it names in turn; each skill once.
  const inherited = (
    from: Step,
    snapshot: Snapshot,
    way: readonly Step[] = [from],
    seen = new Set<string>(),
  ): Level[] => {
    if (!from.inherit) return [];
    return from.inherit.flatMap((ref) => {
      const tool = findInherited(ref, from, snapshot);
      const skill = authorities.skillOf(tool, snapshot);
      const next = toStep(tool, skill);
      const back = way.findIndex(({ key }) => key === next.key);
      if (back !== -1) throw circle([...way.slice(back), next]);
      if (seen.has(next.key)) return [];
      seen.add(next.key);
      return [levelOfTool(tool, skill), ...inherited(next, snapshot, [...way, next], seen)];
    });
  };

  const findInherited = (ref: string, { name, directory }: Step, snapshot: Snapshot): Tool => {
    try {
      return find(anchorRef(ref, directory), snapshot);
    } catch (error) {
      if (!isToolError(error)) throw error;
      throw new ToolError('invalid_ref', `${name} inherits from "${ref}", which does not exist`, {
        hint: 'name a skill that `wield list --all` shows in metadata.$inherit',
        data: { ref },
        cause: error,
      });
    }
  };

  const gather = (tool: Tool, snapshot: Snapshot): Levels => {
    const skill = authorities.skillOf(tool, snapshot);
    const [nearest, ...further] = authorities.above(tool, snapshot);
    const authority = nearest && 'skill' in nearest ? nearest.skill : null;
    const ownRefs = inherited(toStep(tool, skill), snapshot);
    const theirRefs = authority === null ? [] : inherited(skillStep(authority), snapshot);
    const governing = nearest === undefined ? [] : [levelOfMain(nearest)];
    // Where nobody says from whom to inherit, the directories further up are asked.
    const rest = authority?.inherit === null || authority === null ? further.map(levelOfMain) : theirRefs;
    return {
      authority,
      own: levelOfTool(tool, skill),
      above: [...governing, ...(skill?.inherit === false ? [] : [...ownRefs, ...rest])],
      limiting: [...governing, ...further.map(levelOfMain), ...theirRefs],
    };
  };

  const of = (tool: Tool, snapshot: Snapshot): Cascade => {
    const levels = gather(tool, snapshot);
    const parts = [levels.authority, levels.own, ...levels.above, null, ...levels.limiting];
    const known = cascades.get(tool);
    if (known?.parts.length === parts.length && known.parts.every((part, at) => part === parts[at]))
      return known.cascade;
    const cascade = toCascade(levels);
    cascades.set(tool, { parts, cascade });
    return cascade;
  };

  return {
    of,
    authorityOf(tool, snapshot) {
      const [nearest] = authorities.above(tool, snapshot);
      return nearest && 'skill' in nearest ? nearest.skill : null;
    },
    permissionsOf: (tool, snapshot) => of(tool, snapshot).permissions,
    inheritedTimeout(tool, snapshot) {
      const { timeout } = of(tool, snapshot);
      const standard = snapshot.settings.limits.timeoutMs;
      // What calls another tool leaves the time to that one.
      if (timeout === null) return tool.action.kind === 'delegate' ? Number.POSITIVE_INFINITY : standard;
      const mayRaise =
        timeout.owner !== 'workspace' || (tool.origin.owner === 'workspace' && snapshot.trusted);
      return mayRaise ? timeout.ms : Math.min(timeout.ms, standard);
    },
    problems(tools, skills, snapshot) {
      const problems = new Map<string, Problem>();
      const add = (problem: Problem): void => {
        problems.set(`${problem.path}\n${problem.message}`, problem);
      };
      const checkInherited = (skill: Skill): void => {
        try {
          inherited(skillStep(skill), snapshot);
        } catch (error) {
          if (!isToolError(error)) throw error;
          add({ severity: 'error', path: skill.file, message: error.message, hint: error.hint ?? '' });
        }
      };
      for (const skill of skills) checkInherited(skill);
      // Tools of one directory are governed alike, and skills were complained of where they are read.
      const own = new Set(skills.map(({ directory }) => directory));
      const places = new Map<string | null, Tool>();
      for (const tool of tools) {
        const { directory } = tool.origin;
        places.set(directory !== null && own.has(directory) ? dirname(directory) : directory, tool);
      }
      for (const [directory, { origin }] of places) {
        for (const main of authorities.governing(directory, origin.owner, snapshot)) {
          if ('fault' in main) add(main.fault);
          else checkInherited(main.skill);
        }
      }
      return [...problems.values()];
    },
  };
}

/** A skill or tool on the way along `$inherit`. */
interface Step {
  readonly key: string;
  readonly name: string;
  readonly inherit: Skill['inherit'];
  /** Where its relative paths begin (RES-41). */
  readonly directory: string | null;
}

function toStep(tool: Tool, skill: Skill | undefined): Step {
  if (skill) return skillStep(skill);
  return { key: tool.origin.uri ?? tool.name, name: tool.name, inherit: null, directory: null };
}

function skillStep({ file, name, inherit, directory }: Skill): Step {
  return { key: file, name, inherit, directory };
}

function circle(way: readonly Step[]): ToolError {
  const names = way.map(({ name }) => name);
  return new ToolError('invalid_ref', `skills inherit from each other in a circle: ${names.join(' → ')}`, {
    hint: "take one of them out of the other's metadata.$inherit",
    data: { circle: names },
  });
}

function settingsOf({ metadata }: Skill): Record<string, Json> {
  return Object.fromEntries(
    INHERITED_SETTINGS.filter((name) => Object.hasOwn(metadata, name)).map((name) => [name, metadata[name]!]),
  );
}

function toLevel(skill: Skill): Level {
  const { name, owner, allowedTools, timeoutMs } = skill;
  return {
    name,
    owner,
    allowedTools,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    settings: settingsOf(skill),
  };
}

// What cannot be read may have meant a limit: what it governs calls nothing until it is mended.
function closedLevel({ path }: Problem): Level {
  return { name: path, owner: 'workspace', allowedTools: [], settings: {} };
}
