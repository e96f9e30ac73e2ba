// Resolves references in the texts of skills (SKL-5).

import { pathToFileURL } from 'node:url';
import { isToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import type { Referent, Skill, TextReference } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { anchorRef } from '../files/anchor.js';
import type { Catalog } from './catalog.js';

export type References = ReturnType<typeof createReferences>;

const MAX_LINE = 200;

/** Whether a tool is the callable form of a skill, and not another tool of its name. */
export function isToolOf({ name, file, directory }: Skill, { name: own, origin }: Tool): boolean {
  const { uri } = origin;
  return (
    own === name && origin.directory === directory && (uri === pathToFileURL(file).href || uri === `inline://${name}`)
  );
}

/** `mayName` returns whether a model may know of a tool (POL-8). */
export function createReferences(
  { find, list }: Catalog,
  mayName: (tool: Tool, snapshot: Snapshot, skills: readonly Skill[]) => boolean,
) {
  const seek = (ref: string, snapshot: Snapshot, visibleOnly: boolean): Tool | undefined => {
    const reach = {
      snapshot,
      visibleOnly,
      mayName: (tool: Tool, skills: readonly Skill[]) => mayName(tool, snapshot, skills),
      namedOnly: true,
    };
    try {
      return find(ref, visibleOnly ? reach : { snapshot });
    } catch (error) {
      if (!isToolError(error)) throw error;
      return undefined;
    }
  };
  // Also finds skills that are shadowed as tools.
  const seekSkill = ({ kind, ref }: TextReference, snapshot: Snapshot): Skill | undefined =>
    kind === 'skill'
      ? list(snapshot).skills.find(({ name, directory, file }) => name === ref || directory === ref || file === ref)
      : undefined;

  // A skill that is also a tool may be named if the tool may.
  const mayNameSkill = (skill: Skill, snapshot: Snapshot): boolean => {
    const tool = seek(skill.name, snapshot, false);
    return tool === undefined || !isToolOf(skill, tool) || mayName(tool, snapshot, list(snapshot).skills);
  };

  return {
    /**
     * Resolves a reference in a text of this directory; undefined if there is no such tool or skill, or a model may not
     * know of it.
     */
    refer(written: TextReference, directory: string, snapshot: Snapshot): Referent | undefined {
      const reference = anchored(written, directory);
      const skill = seekSkill(reference, snapshot);
      const found =
        skill?.hidden === false && mayNameSkill(skill, snapshot) ? skill : seek(reference.ref, snapshot, true);
      return found && { name: found.name, line: quoteOutside(found.description, MAX_LINE) };
    },
    /** Returns a problem for each reference that cannot be resolved. */
    problems: (skills: readonly Skill[], snapshot: Snapshot): readonly Problem[] =>
      skills.flatMap(({ file, directory, references }) =>
        references
          .filter((written) => {
            const reference = anchored(written, directory);
            return seekSkill(reference, snapshot) === undefined && seek(reference.ref, snapshot, false) === undefined;
          })
          .map(
            ({ kind, ref }): Problem => ({
              severity: 'warning',
              path: file,
              message: `refers to the ${kind} "${quoteOutside(ref, 80)}", which does not exist`,
              hint: 'fix the name, or put the text in backticks if it is not a reference',
            }),
          ),
      ),
  };
}

// RES-41: paths are relative to the directory of the text.
function anchored({ kind, ref }: TextReference, directory: string): TextReference {
  return { kind, ref: anchorRef(ref, directory) };
}
