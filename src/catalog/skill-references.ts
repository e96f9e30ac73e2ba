// References in the texts of skills: what they name for a model, and which of them name nothing (SKL-5).

import { pathToFileURL } from 'node:url';
import { isToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import type { Referent } from '../core/render.js';
import type { Skill, TextReference } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { anchorRef } from '../files/anchor.js';
import type { Catalog } from './catalog.js';

export interface References {
  /**
   * What a reference in a text of this directory names; undefined where that is nothing, or nothing that a model may
   * hear of.
   */
  refer(reference: TextReference, directory: string, snapshot: Snapshot): Referent | undefined;
  /** References that name nothing at all. */
  problems(skills: readonly Skill[], snapshot: Snapshot): readonly Problem[];
}

const LINE = 200;

/** Whether a tool is what calling this skill means, and not another of its name. */
export function isToolOf({ name, file, directory }: Skill, { name: own, origin }: Tool): boolean {
  const { uri } = origin;
  return (
    own === name &&
    origin.directory === directory &&
    (uri === pathToFileURL(file).href || uri === `inline://${name}`)
  );
}

/** `mayName` says whether a model may hear of a tool (POL-8). */
export function createReferences(
  { find, list }: Catalog,
  mayName: (tool: Tool, snapshot: Snapshot) => boolean,
): References {
  const seek = (ref: string, snapshot: Snapshot, visibleOnly: boolean): Tool | undefined => {
    const reach = {
      snapshot,
      visibleOnly,
      mayName: (tool: Tool) => mayName(tool, snapshot),
      namedOnly: true,
    };
    try {
      return find(ref, visibleOnly ? reach : { snapshot });
    } catch (error) {
      if (!isToolError(error)) throw error;
      return undefined;
    }
  };
  // A skill that another tool of its name keeps from being called is a skill all the same.
  const seekSkill = ({ kind, ref }: TextReference, snapshot: Snapshot): Skill | undefined =>
    kind === 'skill'
      ? list(snapshot).skills.find(
          ({ name, directory, file }) => name === ref || directory === ref || file === ref,
        )
      : undefined;

  // One that can also be called is named where it may be called.
  const mayNameSkill = (skill: Skill, snapshot: Snapshot): boolean => {
    const tool = seek(skill.name, snapshot, false);
    return tool === undefined || !isToolOf(skill, tool) || mayName(tool, snapshot);
  };

  return {
    refer(written, directory, snapshot) {
      const reference = anchored(written, directory);
      const skill = seekSkill(reference, snapshot);
      const found =
        skill?.hidden === false && mayNameSkill(skill, snapshot)
          ? skill
          : seek(reference.ref, snapshot, true);
      return found && { name: found.name, line: quoteOutside(found.description, LINE) };
    },
    problems: (skills, snapshot) =>
      skills.flatMap(({ file, directory, references }) =>
        references
          .filter((written) => {
            const reference = anchored(written, directory);
            return (
              seekSkill(reference, snapshot) === undefined &&
              seek(reference.ref, snapshot, false) === undefined
            );
          })
          .map(
            ({ kind, ref }): Problem => ({
              severity: 'warning',
              path: file,
              message: `refers to the ${kind} "${quoteOutside(ref, 80)}", which does not exist`,
              hint: 'mend the name, or put the words into backticks where no reference is meant',
            }),
          ),
      ),
  };
}

// RES-41: a path in a text begins beside the text.
function anchored({ kind, ref }: TextReference, directory: string): TextReference {
  return { kind, ref: anchorRef(ref, directory) };
}
