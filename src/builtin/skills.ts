// Skills for a model: the built-in tool `read_skill` and the instructions about skills.

import { ToolError } from '../core/error.js';
import { textPart } from '../core/result.js';
import type { Referent, Skill, TextReference } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { CALL_TOOL, type Mode } from '../core/view.js';
import { readTextFile } from '../files/read.js';
import { renderText } from '../formats/shared/render.js';
import { defineBuiltin } from './builtin.js';

export const READ_SKILL = 'read_skill';

/** Resolves a reference in a text of this directory. */
type Refer = (reference: TextReference, directory: string) => Referent | undefined;

export interface ReadSkillOptions {
  readonly skills: (snapshot: Snapshot) => readonly Skill[];
  readonly refer: (reference: TextReference, directory: string, snapshot: Snapshot) => Referent | undefined;
}

/** Creates `read_skill`, which reads visible skills; a hidden skill is called by its own name. */
export function createReadSkillTool({ skills, refer }: ReadSkillOptions): Tool {
  return defineBuiltin<{ skill_name: string }>({
    name: READ_SKILL,
    description: 'Read the instructions of a skill before doing its task.',
    inputSchema: {
      type: 'object',
      properties: { skill_name: { type: 'string', description: 'Name of the skill' } },
      required: ['skill_name'],
    },
    traits: { readOnly: true },
    run({ skill_name: name }, _context, { snapshot }) {
      const skill = findSkill(name, skills(snapshot).filter(isVisible));
      const text = readText(skill, snapshot, (reference, directory) => refer(reference, directory, snapshot));
      return { content: [textPart(text)] };
    },
  });
}

// In search mode it is not listed (SRV-9).
const READ: Readonly<Record<Mode, string>> = {
  all: `Call ${READ_SKILL}`,
  search: `Use ${CALL_TOOL} to call ${READ_SKILL}`,
  code: `In a program, await tools.${READ_SKILL}({ skill_name })`,
  auto: `Call ${READ_SKILL}, with ${CALL_TOOL} if it is not listed,`,
};

export interface DescribeSkillsOptions {
  readonly snapshot: Snapshot;
  /** Whether a model may call the tool that reads one. */
  readonly mayRead: boolean;
  readonly refer: Refer;
}

/**
 * Returns the instructions about skills (SKL-2); empty without skills. Texts of an untrusted workspace are not sent to
 * the model: its skills are only named.
 */
export function describeSkills(all: readonly Skill[], { snapshot, mayRead, refer }: DescribeSkillsOptions): string {
  const skills = all.filter(isVisible);
  const { view } = snapshot.settings;
  const mode = snapshot.settings.skills.contextMode;
  const isWhole = (skill: Skill): boolean => mode === 'full' && (snapshot.trusted || skill.owner !== 'workspace');
  // Not mentioned if the model may not call `read_skill` (POL-8).
  const named = mayRead ? skills.filter((skill) => !isWhole(skill)) : [];
  const lines = named.map((skill) => `- ${skill.name}: ${quoteOutside(skill.description, 200)}`);
  return [
    ...skills.filter(isWhole).map((skill) => `# Skill: ${skill.name}\n\n${readText(skill, snapshot, refer).trim()}`),
    ...(named.length === 0
      ? []
      : [[`Skills. ${READ[view.mode]} with a name before doing what that skill is for.`, ...lines].join('\n')]),
  ].join('\n\n');
}

function findSkill(name: string, skills: readonly Skill[]): Skill {
  const found = skills.find((skill) => skill.name === name);
  if (found) return found;
  const names = skills.map((skill) => skill.name);
  const close = nearest(name, names);
  throw new ToolError('not_found', `skill not found: ${quoteOutside(name, 60)}`, {
    hint:
      close.length > 0 ? `did you mean ${close.join(', ')}?` : `there are ${names.slice(0, 20).join(', ') || 'none'}`,
  });
}

export function isVisible(skill: Skill): boolean {
  return !skill.hidden;
}

/** Returns the whole file with references in its text resolved (SKL-5). */
export function readText(skill: Skill, snapshot: Snapshot, refer: Refer): string {
  try {
    const text = readTextFile(skill.file, undefined, { within: snapshot.boundaryOf(skill) });
    if (text !== undefined) {
      const rendered = renderText(text.slice(skill.start), {
        refer: (reference) => refer(reference, skill.directory),
      });
      return text.slice(0, skill.start) + rendered;
    }
  } catch {
    // Reported below as missing.
  }
  throw new ToolError('not_found', `the file of the skill "${skill.name}" is missing`, {
    hint: 'a person can see its path with: wield check',
  });
}
