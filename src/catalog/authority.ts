// Authority: the main skills of the directories above a tool, read anew only when one of their files changed.

import { dirname, join } from 'node:path';
import type { Reading } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Action, Owner, Tool } from '../core/tool.js';
import { createStatCache } from '../files/stat-cache.js';
import { isWithin } from '../files/within.js';

export interface AuthorityOptions {
  /** Reads the skill of a directory. */
  readonly readSkill: (directory: string, owner: Owner, snapshot: Snapshot) => Reading | undefined;
  /** Directories that nobody looks above, each with its owner; the first that holds a tool counts, and ends the asking. */
  readonly roots: (snapshot: Snapshot) => Iterable<{ readonly directory: string; readonly owner: Owner }>;
  readonly now: () => number;
}

/** What a `SKILL.md` at the root of a directory is: a skill, or a file that cannot be one. */
export type MainSkill = { readonly skill: Skill } | { readonly fault: Problem };

export interface Authorities {
  /** The skill that a tool itself is, if it is one. */
  skillOf(tool: Tool, snapshot: Snapshot): Skill | undefined;
  /** The main skills that govern a tool, nearest first; itself is none of them (RES-16). */
  above(tool: Tool, snapshot: Snapshot): readonly MainSkill[];
  /** The main skills that govern what lies in a directory, its own first; null: what lies nowhere. */
  governing(directory: string | null, owner: Owner, snapshot: Snapshot): readonly MainSkill[];
}

export function createAuthorities({ readSkill, roots, now }: AuthorityOptions): Authorities {
  const cache = createStatCache<MainSkill | undefined>({ now });

  const mainSkillOf = (directory: string, owner: Owner, snapshot: Snapshot): MainSkill | undefined =>
    cache.get(`${owner} ${directory}`, [join(directory, 'SKILL.md')], ([text]) =>
      text === undefined ? undefined : toMainSkill(readSkill(directory, owner, snapshot)),
    );

  const rootOf = (directory: string, snapshot: Snapshot) => {
    for (const root of roots(snapshot)) if (isWithin(root.directory, directory)) return root;
    return undefined;
  };

  const skillOf = ({ action, origin }: Tool, snapshot: Snapshot): Skill | undefined => {
    if (!standsInSkill(action) || origin.directory === null) return undefined;
    const main = mainSkillOf(origin.directory, origin.owner, snapshot);
    return main && 'skill' in main ? main.skill : undefined;
  };

  const governing = (directory: string | null, owner: Owner, snapshot: Snapshot): MainSkill[] => {
    // What has no place on disk belongs to the project.
    const start = directory ?? snapshot.workdir;
    const root = rootOf(start, snapshot);
    const found: MainSkill[] = [];
    for (let here = start; ; here = dirname(here)) {
      const main = mainSkillOf(here, root?.owner ?? owner, snapshot);
      if (main) found.push(main);
      if (root === undefined || here === root.directory || here === dirname(here)) return found;
    }
  };

  return {
    skillOf,
    governing,
    above(tool, snapshot) {
      const { directory, owner } = tool.origin;
      const isSkill = directory !== null && skillOf(tool, snapshot) !== undefined;
      return governing(isSkill ? dirname(directory) : directory, owner, snapshot);
    },
  };
}

// Its text, the tool in its place, or the code that its file holds.
function standsInSkill(action: Action): boolean {
  if (action.kind === 'module') return 'inline' in action.source;
  return action.kind === 'text' || action.kind === 'delegate';
}

function toMainSkill(reading: Reading | undefined): MainSkill | undefined {
  const skill = reading?.skills?.[0];
  if (skill) return { skill };
  const fault = reading?.problems.find(({ severity }) => severity === 'error');
  return fault && { fault };
}
