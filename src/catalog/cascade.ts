// Resolves the cascade of a tool; cached while its levels are the same.

import { dirname } from 'node:path';
import { type Cascade, type CascadeResolver, toCascade } from '../core/cascade.js';
import { isToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { createLevels, type LevelsOptions } from './levels.js';

export function createCascadeResolver(options: LevelsOptions): CascadeResolver {
  const { authorities } = options;
  const levels = createLevels(options);
  const cascades = new WeakMap<Tool, { readonly parts: readonly unknown[]; readonly cascade: Cascade }>();

  const of = (tool: Tool, snapshot: Snapshot): Cascade => {
    const applied = levels.of(tool, snapshot);
    const parts = [applied.authority, applied.own, ...applied.above, null, ...applied.limiting];
    const known = cascades.get(tool);
    if (known?.parts.length === parts.length && known.parts.every((part, at) => part === parts[at]))
      return known.cascade;
    const cascade = toCascade(applied);
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
      // A delegate leaves the time limit to the tool it calls.
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
          levels.inheritedBy(skill, snapshot);
        } catch (error) {
          if (!isToolError(error)) throw error;
          add({ severity: 'error', path: skill.file, message: error.message, hint: error.hint ?? '' });
        }
      };
      for (const skill of skills) checkInherited(skill);
      // Once per directory, because its tools have the same authority. Problems of skills are reported by their format.
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
