// Authority: the main skills of the directories above a tool, cached while their files are unchanged.

import { basename, dirname, join } from 'node:path';
import { isToolOf } from '../catalog/skill-references.js';
import type { Format, Place, Reading } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Owner, Tool } from '../core/tool.js';
import { readWithin } from '../files/boundary.js';
import { createStatCache, type FileText } from '../files/read.js';
import { isWithin } from '../files/within.js';

export interface AuthorityOptions {
  /** The format that reads skills. */
  readonly skills: Format;
  /** Directories above which the search stops, with their owners; the first that contains the tool applies. */
  readonly roots: (snapshot: Snapshot) => Iterable<{ readonly directory: string; readonly owner: Owner }>;
  readonly now: () => number;
}

// Frontmatter is not longer (SKL-1).
const HEADER_CHARACTERS = 64 * 1024;

/** The `SKILL.md` at the root of a directory: a skill, or a problem if the file is invalid. */
export type MainSkill = { readonly skill: Skill } | UnreadableSkill;

interface UnreadableSkill {
  readonly fault: Problem;
  /** Whether its text mentions rules, which cannot be applied. */
  readonly hasRules: boolean;
}

export interface Authorities {
  /** Returns the skill of which the tool is the callable form, if any. */
  skillOf(tool: Tool, snapshot: Snapshot): Skill | undefined;
  /** Returns the main skills that govern a tool, nearest first, without itself (RES-16). */
  above(tool: Tool, snapshot: Snapshot): readonly MainSkill[];
  /** Returns the main skills that govern the tools of a directory, its own first; null for tools not on disk. */
  governing(directory: string | null, owner: Owner, snapshot: Snapshot): readonly MainSkill[];
  /** Provides the skills of a listing, so that they are not read again for this snapshot. */
  know(skills: readonly Skill[], snapshot: Snapshot): void;
}

export function createAuthorities({ skills: format, roots, now }: AuthorityOptions): Authorities {
  const readSkill = (directory: string, owner: Owner, snapshot: Snapshot): Reading | undefined => {
    const boundary = snapshot.boundaryOf({ directory, owner });
    const place: Place = { directory: dirname(directory), owner, kind: 'skills', boundary };
    return readWithin(format, basename(directory), place, snapshot).reading;
  };
  const cache = createStatCache<MainSkill | undefined>({ now });

  // Main skills by directory; a snapshot has one state of each.
  const seen = new WeakMap<Snapshot, Map<string, MainSkill | undefined>>();
  const seenIn = (snapshot: Snapshot): Map<string, MainSkill | undefined> => {
    const known = seen.get(snapshot) ?? new Map<string, MainSkill | undefined>();
    seen.set(snapshot, known);
    return known;
  };

  const mainSkillOf = (directory: string, owner: Owner, snapshot: Snapshot): MainSkill | undefined => {
    const known = seenIn(snapshot);
    const key = `${owner} ${directory}`;
    if (known.has(key)) return known.get(key);
    const main = cache.get(
      key,
      [join(directory, 'SKILL.md')],
      ([text]) => (text === undefined ? undefined : toMainSkill(readSkill(directory, owner, snapshot), text)),
      snapshot.boundaryOf({ directory, owner }),
    );
    known.set(key, main);
    return main;
  };

  const rootOf = (directory: string, snapshot: Snapshot) => {
    for (const root of roots(snapshot)) if (isWithin(root.directory, directory)) return root;
    return undefined;
  };

  const skillOf = (tool: Tool, snapshot: Snapshot): Skill | undefined => {
    const { directory, owner } = tool.origin;
    const main = directory === null ? undefined : mainSkillOf(directory, owner, snapshot);
    // Not by its action, which may have to be read from the files of a listed tool (RES-22).
    return main !== undefined && 'skill' in main && isToolOf(main.skill, tool) ? main.skill : undefined;
  };

  const governing = (directory: string | null, owner: Owner, snapshot: Snapshot): MainSkill[] => {
    // A tool that is not on disk belongs to the project.
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
    know(skills, snapshot) {
      const known = seenIn(snapshot);
      for (const skill of skills) {
        const key = `${skill.owner} ${skill.directory}`;
        if (!known.has(key)) known.set(key, { skill });
      }
    },
    above(tool, snapshot) {
      const { directory, owner } = tool.origin;
      const isSkill = directory !== null && skillOf(tool, snapshot) !== undefined;
      return governing(isSkill ? dirname(directory) : directory, owner, snapshot);
    },
  };
}

function toMainSkill(reading: Reading | undefined, text: FileText): MainSkill | undefined {
  const skill = reading?.skills?.[0];
  if (skill) return { skill };
  const fault = reading?.problems.find(({ severity }) => severity === 'error');
  return (
    fault && { fault, hasRules: typeof text !== 'string' || /\btrust["']?\s*:/.test(text.slice(0, HEADER_CHARACTERS)) }
  );
}
