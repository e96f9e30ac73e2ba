// The built-in tools `read_skill` and `run_skill_script`.

import type { References } from '../catalog/skill-references.js';
import { ToolError } from '../core/error.js';
import { type Part, textPart } from '../core/result.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { formatBytes, nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { RUN_SKILL_SCRIPT } from '../core/view.js';
import { readTextFile } from '../files/read.js';
import { toFileUri } from '../files/within.js';
import { defineBuiltin } from '../formats/module/builtin.js';
import { renderText } from '../formats/shared/render.js';
import { defineForwarding, type GetParts } from './builtin.js';
import { readRemoteSkill } from './remote-skills.js';
import { describeListed, READ_SKILL, showContent, toPageContent } from './skill-content.js';
import {
  type Bounds,
  isDirectoryOf,
  listNamedFiles,
  listSkillFiles,
  locate,
  pathInSkill,
  readSkillContent,
  toSkillPath,
} from './skill-files.js';
import { isVisible, readableRemoteSkills, readableSkills } from './visibility.js';

/** Returns what a skill requires and is missing, in a line; undefined if nothing is. */
export type DescribeMissingOf = (skill: Skill, snapshot: Snapshot) => Promise<string | undefined>;

interface Asked {
  readonly skill_name: string;
  readonly file?: string;
  readonly page?: number;
}

/** Creates `read_skill`, which reads visible skills and their files; a hidden skill is called by its own name. */
export function createReadSkillTool(parts: GetParts, missing: DescribeMissingOf): Tool {
  return defineBuiltin<Asked>({
    name: READ_SKILL,
    description: 'Read the instructions of a skill before doing its task.',
    inputSchema: {
      type: 'object',
      properties: {
        skill_name: { type: 'string', description: 'Name of the skill' },
        file: { type: 'string', description: 'A file or directory of the skill, such as references/api.md' },
        page: { type: 'integer', minimum: 1, description: 'Of a long text, from 1' },
      },
      required: ['skill_name'],
    },
    traits: { readOnly: true, text: true, positional: ['skill_name', 'file'] },
    async run({ skill_name: name, file, page = 1 }, _context, internals) {
      const { snapshot } = internals;
      const { remoteSkills, references } = parts();
      const skill = findSkill(name, (only) => [
        ...readableSkills(parts(), snapshot, only).filter(isVisible),
        ...readableRemoteSkills(remoteSkills(snapshot), snapshot),
      ]);
      if ('server' in skill) return readRemoteSkill(skill, { file, page }, internals);
      const at = file === undefined ? undefined : locate(skill, file);
      if (at !== undefined && isDirectoryOf(at.skill, at.path, snapshot))
        return { content: [textPart(describeFiles(at.skill, snapshot, at.path))] };
      if (at !== undefined && pathInSkill(at.skill, at.path) !== skill.file)
        return readFile(at.skill, at.path, page, snapshot);
      const text = readText(skill, snapshot, references);
      const lacks = page === 1 ? await missing(skill, snapshot) : undefined;
      const about =
        page === 1 ? [textPart(describeFiles(skill, snapshot) + (lacks === undefined ? '' : `\n${lacks}`))] : [];
      return { content: [...toPageContent(skill, text, page), ...about] };
    },
  });
}

function readFile(skill: Skill, path: string, page: number, bounds: Bounds): { readonly content: readonly Part[] } {
  const content = readSkillContent(skill, path, bounds);
  if (content.kind !== 'binary') return { content: showContent(skill, content, page, path) };
  const what = `${path} is a binary file of ${formatBytes(content.bytes.length)}, at ${pathInSkill(skill, path)}`;
  return { content: [textPart(`${what}; give that path to a tool that reads such files.`)] };
}

// SKL-9: where the skill is, and what can be read of it.
function describeFiles(skill: Skill, bounds: Bounds, below = '.'): string {
  const [own, named] = [listSkillFiles(skill, bounds), listNamedFiles(skill, bounds)];
  const scripts = below === '.' ? (skill.scripts ?? []) : [];
  return [
    `\nDirectory of the skill: ${skill.directory}`,
    ...describeListed([...own.files, ...named.files], below, own.isCut || named.isCut),
    ...(scripts.length === 0
      ? []
      : [`Scripts, run with ${RUN_SKILL_SCRIPT}: ${scripts.map(({ path }) => path).join(', ')}`]),
  ].join('\n');
}

/** Creates `run_skill_script`, whose calls are calls of the tool of a script: one tool in lists instead of many (SKL-13). */
export function createRunScriptTool(parts: GetParts): Tool {
  const definition = {
    name: RUN_SKILL_SCRIPT,
    description: "Run a script of a skill, in the skill's directory. Name files elsewhere by absolute paths.",
    inputSchema: {
      type: 'object',
      properties: {
        skill_name: { type: 'string' },
        script: { type: 'string', description: 'Such as scripts/convert.py' },
        args: { type: 'array', items: { type: 'string' } },
        stdin: { type: 'string' },
      },
      required: ['skill_name', 'script'],
    },
    traits: { positional: ['skill_name', 'script', 'args'] },
  } as const;
  return defineForwarding(definition, ({ skill_name: name, script, ...input }, snapshot) => {
    const skill = findSkill(String(name), (only) => readableSkills(parts(), snapshot, only).filter(isVisible));
    const at = locate(skill, String(script));
    const path = at.skill === skill ? at.path : toSkillPath(skill, String(script));
    const scripts = skill.scripts ?? [];
    const found = scripts.find((one) => one.path === path) ?? scripts.find((one) => one.path === `scripts/${path}`);
    const tool = found && parts().catalog.find(found.tool, { snapshot });
    // Another tool of this name is not the script.
    if (found === undefined || tool?.origin.uri !== toFileUri(pathInSkill(skill, found.path)))
      throw new ToolError('not_found', `the skill "${skill.name}" has no script ${quoteOutside(path, 200)}`, {
        hint: scripts.length === 0 ? 'it has none' : `it has ${scripts.map((one) => one.path).join(', ')}`,
      });
    return { ref: found.tool, input };
  });
}

function findSkill<S extends Pick<Skill, 'name'>>(name: string, skills: (name?: string) => readonly S[]): S {
  const found = skills(name).find((skill) => skill.name === name);
  if (found) return found;
  const names = skills().map((skill) => skill.name);
  const close = nearest(name, names);
  throw new ToolError('not_found', `skill not found: ${quoteOutside(name, 60)}`, {
    hint:
      close.length > 0 ? `did you mean ${close.join(', ')}?` : `there are ${names.slice(0, 20).join(', ') || 'none'}`,
  });
}

/** Returns the whole file with references in its text resolved (SKL-5). */
export function readText(skill: Skill, snapshot: Snapshot, { refer }: References): string {
  try {
    const text = readTextFile(skill.file, undefined, { within: snapshot.boundaryOf(skill) });
    if (text !== undefined) {
      const rendered = renderText(text.slice(skill.start), {
        refer: (reference) => refer(reference, skill.directory, snapshot),
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
