// Skills for a model: the built-in tool `read_skill`, and what is told of skills at the beginning.

import { ToolError } from '../core/error.js';
import type { Settings } from '../core/settings.js';
import type { Skill } from '../core/skill.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { readTextFile } from '../files/read.js';
import { toTool } from '../formats/module/define.js';

type ContextMode = Settings['skills']['contextMode'];

export const READ_SKILL = 'read_skill';

export function createReadSkillTool(skills: () => readonly Skill[]): Tool {
  const tool = toTool({
    name: READ_SKILL,
    description: 'Read the instructions of a skill before doing what it is for.',
    readOnly: true,
    inputSchema: {
      type: 'object',
      properties: { skill_name: { type: 'string', description: 'Name of the skill' } },
      required: ['skill_name'],
    },
    execute: ({ skill_name: name }: { skill_name: string }) => ({
      content: [{ type: 'text', text: readText(findSkill(name, skills())) }],
    }),
  });
  return {
    ...tool,
    origin: { ...tool.origin, format: 'builtin' },
    traits: { ...tool.traits, tags: ['meta-internal'] },
  };
}

/**
 * What a model is told of skills before anything else (SKL-2); empty where there is none. The text of a checkout
 * that nobody trusts is not put into a model's mouth: its skills are named, and read when asked for.
 */
export function describeSkills(
  skills: readonly Skill[],
  { mode, trusted, mayRead }: { mode: ContextMode; trusted: boolean; mayRead: boolean },
): string {
  const isWhole = (skill: Skill): boolean => mode === 'full' && (trusted || skill.owner !== 'workspace');
  // Who may not call the tool that reads one is not told of it (POL-8).
  const named = mayRead ? skills.filter((skill) => !isWhole(skill)) : [];
  const lines = named.map((skill) => `- ${skill.name}: ${quoteOutside(skill.description, 200)}`);
  return [
    ...skills.filter(isWhole).map((skill) => `# Skill: ${skill.name}\n\n${readText(skill).trim()}`),
    ...(named.length === 0
      ? []
      : [
          [`Skills. Call ${READ_SKILL} with a name before doing what that skill is for.`, ...lines].join(
            '\n',
          ),
        ]),
  ].join('\n\n');
}

function findSkill(name: string, skills: readonly Skill[]): Skill {
  const found = skills.find((skill) => skill.name === name);
  if (found) return found;
  const names = skills.map((skill) => skill.name);
  const close = nearest(name, names);
  throw new ToolError('not_found', `there is no skill "${quoteOutside(name, 60)}"`, {
    hint:
      close.length > 0
        ? `did you mean ${close.join(', ')}?`
        : `there are ${names.slice(0, 20).join(', ') || 'none'}`,
  });
}

function readText(skill: Skill): string {
  try {
    const text = readTextFile(skill.file);
    if (text !== undefined) return text;
  } catch {
    // Said below: one that cannot be read any more is gone.
  }
  throw new ToolError('not_found', `the text of the skill "${skill.name}" is gone`, {
    hint: `look at ${skill.file}`,
  });
}
