// Skills for a model: the built-in tool `read_skill` and the instructions about skills.

import { ToolError } from '../core/error.js';
import { type Part, textPart } from '../core/result.js';
import type { Referent, RemoteSkill, Skill, TextReference } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { formatBytes, nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { CALL_TOOL, type Mode, RUN_SKILL_SCRIPT } from '../core/view.js';
import { readTextFile } from '../files/read.js';
import { toFileUri } from '../files/within.js';
import { renderText } from '../formats/shared/render.js';
import { defineBuiltin, defineForwarding } from './builtin.js';
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

/** Resolves a reference in a text of this directory. */
type Refer = (reference: TextReference, directory: string) => Referent | undefined;

export interface ReadSkillOptions {
  /** Skills that the caller may read, or those of a name. */
  readonly skills: (snapshot: Snapshot, name?: string) => readonly Skill[];
  /** Skills of upstream servers, which give way to others. */
  readonly remote: (snapshot: Snapshot) => readonly RemoteSkill[];
  readonly refer: (reference: TextReference, directory: string, snapshot: Snapshot) => Referent | undefined;
  /** Returns what a skill requires and is missing, in a line; undefined if nothing is. */
  readonly missing: (skill: Skill, snapshot: Snapshot) => Promise<string | undefined>;
}

interface Asked {
  readonly skill_name: string;
  readonly file?: string;
  readonly page?: number;
}

/** Creates `read_skill`, which reads visible skills and their files; a hidden skill is called by its own name. */
export function createReadSkillTool({ skills, remote, refer, missing }: ReadSkillOptions): Tool {
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
      const skill = findSkill(name, (only) => [...skills(snapshot, only).filter(isVisible), ...remote(snapshot)]);
      if ('server' in skill) return readRemoteSkill(skill, { file, page }, internals);
      const at = file === undefined ? undefined : locate(skill, file);
      if (at !== undefined && isDirectoryOf(at.skill, at.path, snapshot))
        return { content: [textPart(describeFiles(at.skill, snapshot, at.path))] };
      if (at !== undefined && pathInSkill(at.skill, at.path) !== skill.file)
        return readFile(at.skill, at.path, page, snapshot);
      const text = readText(skill, snapshot, (reference, directory) => refer(reference, directory, snapshot));
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

export interface RunScriptOptions extends Pick<ReadSkillOptions, 'skills'> {
  /** Returns the tool of a name. */
  readonly find: (name: string, snapshot: Snapshot) => Tool;
}

/** Creates `run_skill_script`, whose calls are calls of the tool of a script: one tool in lists instead of many (SKL-13). */
export function createRunScriptTool({ skills, find }: RunScriptOptions): Tool {
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
    const skill = findSkill(String(name), (only) => skills(snapshot, only).filter(isVisible));
    const at = locate(skill, String(script));
    const path = at.skill === skill ? at.path : toSkillPath(skill, String(script));
    const scripts = skill.scripts ?? [];
    const found = scripts.find((one) => one.path === path) ?? scripts.find((one) => one.path === `scripts/${path}`);
    const tool = found && find(found.tool, snapshot);
    // Another tool of this name is not the script.
    if (found === undefined || tool?.origin.uri !== toFileUri(pathInSkill(skill, found.path)))
      throw new ToolError('not_found', `the skill "${skill.name}" has no script ${quoteOutside(path, 200)}`, {
        hint: scripts.length === 0 ? 'it has none' : `it has ${scripts.map((one) => one.path).join(', ')}`,
      });
    return { ref: found.tool, input };
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
  /** Skills of upstream servers. */
  readonly remote: readonly RemoteSkill[];
  /** Whether a model may call the tool that reads one. */
  readonly mayRead: boolean;
  readonly refer: Refer;
}

/**
 * Returns the instructions about skills (SKL-2); empty without skills. Texts of an untrusted workspace are not sent to
 * the model: its skills are only named.
 */
export function describeSkills(
  all: readonly Skill[],
  { snapshot, remote, mayRead, refer }: DescribeSkillsOptions,
): string {
  const skills = all.filter(isVisible);
  const { view } = snapshot.settings;
  const mode = snapshot.settings.skills.contextMode;
  const isWhole = (skill: Skill): boolean => mode === 'full' && (snapshot.trusted || skill.owner !== 'workspace');
  // Not mentioned if the model may not call `read_skill` (POL-8).
  const named = mayRead ? skills.filter((skill) => !isWhole(skill)) : [];
  const names = new Set(skills.map(({ name }) => name));
  const others = mayRead ? remote.filter(({ name, isStartable }) => isStartable && !names.has(name)) : [];
  const lines = [...named.map(toLine), ...describeRemote(others)];
  return [
    ...skills.filter(isWhole).map((skill) => `# Skill: ${skill.name}\n\n${readText(skill, snapshot, refer).trim()}`),
    ...(lines.length === 0
      ? []
      : [[`Skills. ${READ[view.mode]} with a name before doing what that skill is for.`, ...lines].join('\n')]),
  ].join('\n\n');
}

function toLine({ name, description }: Pick<Skill, 'name' | 'description'>): string {
  return `- ${name}: ${quoteOutside(description, 200)}`;
}

// Of one server: its author decides how many there are.
const MAX_ANNOUNCED = 50;

function describeRemote(skills: readonly RemoteSkill[]): readonly string[] {
  const servers = [...new Set(skills.map(({ server }) => server))];
  return servers.flatMap((server) => {
    const own = skills.filter((skill) => skill.server === server);
    const more = own.length - MAX_ANNOUNCED;
    return [...own.slice(0, MAX_ANNOUNCED).map(toLine), ...(more > 0 ? [`- … and ${more} more of ${server}`] : [])];
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

export function isVisible(skill: Skill): boolean {
  return !skill.hidden;
}

/** Returns the whole file with references in its text resolved (SKL-5). */
function readText(skill: Skill, snapshot: Snapshot, refer: Refer): string {
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
