// Turns a skill into a tool: its text, a delegate, or inline code.

import { isToolName } from '../../core/name.js';
import { type FileIdentity, toOrigin } from '../../core/origin.js';
import { type Problem, toProblem } from '../../core/problem.js';
import { fillDefaults, NO_PARAMETERS, type Schema } from '../../core/schema.js';
import { isSkillDirectory, type Skill } from '../../core/skill.js';
import { quoteOutside } from '../../core/text.js';
import type { Action, Tool } from '../../core/tool.js';
import { type ReadModuleFile, toModuleFile } from '../../files/closure.js';
import { toFileUri } from '../../files/within.js';
import { createJsonSchema } from '../../schema/json.js';
import { readSkillSandbox } from '../shared/skill-file.js';
import type { SkillMetadata } from './metadata.js';

/** The content of a SKILL.md, and the files that its inline code imports. */
export interface SkillSource {
  readonly text: string;
  readonly identity: FileIdentity;
  readonly imports: readonly ReadModuleFile[];
}

// SKL-2: a listing shows one line of the description.
const DESCRIPTION_LENGTH = 200;
const DEFAULT_EXPORT = /\bexport\s+default\b|\bas\s+default\b/;

/** Returns the tool of a skill, or the reason why there is none (SKL-3). */
export function toTool(skill: Skill, metadata: SkillMetadata, source: SkillSource): Tool | Problem {
  const { params, delegate, tags } = metadata;
  const code = delegate !== null && 'code' in delegate ? delegate.code : undefined;
  if (!isToolName(skill.name)) {
    return toProblem(skill.file, 'warning', {
      message: `name "${quoteOutside(skill.name, 64)}" is not a tool name: the skill can be read but not called`,
      hint: 'use letters, digits, _ and - in its name',
    });
  }
  if (code !== undefined && !DEFAULT_EXPORT.test(code)) {
    return toProblem(skill.file, 'error', {
      message: 'metadata.delegate has code without a default export, so it cannot be called',
      hint: 'write code: export default (input, context) => …',
    });
  }
  let input: Schema;
  try {
    input = createJsonSchema(params ?? NO_PARAMETERS, { closed: true });
    if (code !== undefined) input = withDefaults(input);
  } catch (error) {
    return toProblem(skill.file, 'error', {
      message: `metadata.params cannot be used: ${(error as Error).message}`,
      hint: (error as { hint?: string }).hint ?? 'fix the schema',
    });
  }
  return {
    name: skill.name,
    description: quoteOutside(skill.description, DESCRIPTION_LENGTH),
    input,
    action: toAction(skill, metadata, source),
    origin: toOrigin(
      isSkillDirectory(skill) ? 'skill' : 'skill-file',
      code === undefined ? toFileUri(skill.file) : `inline://${skill.name}`,
      skill,
    ),
    traits: {
      tags,
      hidden: skill.hidden,
      terminal: false,
      text: delegate === null ? true : undefined,
      readOnly: delegate === null ? true : undefined,
      timeoutMs: skill.timeoutMs,
      sandbox: readSkillSandbox(skill.metadata),
      requires: skill.requires,
      allowedTools: skill.allowedTools ?? undefined,
      examples: [],
    },
  };
}

function toAction(
  { file, start }: Skill,
  { delegate, params }: SkillMetadata,
  { text, identity, imports }: SkillSource,
): Action {
  if (delegate === null) return { kind: 'text', file, identity, start };
  if ('ref' in delegate) return { kind: 'delegate', ref: delegate.ref, ownInput: params !== undefined };
  const source = { inline: padToLine(delegate.code, text), file, files: imports.map(toModuleFile) };
  return { kind: 'module', source, export: 'default' };
}

// Inline code receives the defaults of its parameters, like the function of a module (MOD-4).
function withDefaults({ json, check }: Schema): Schema {
  return {
    json,
    check: async (value) => {
      const checked = await check(value);
      return checked.ok ? { ok: true, value: fillDefaults(checked.value, json) } : checked;
    },
  };
}

// Pads inline code with blank lines, so that line numbers in errors are those of SKILL.md.
function padToLine(code: string, text: string): string {
  const first = code.split('\n').find((line) => line.trim() !== '') ?? '';
  const at = text.indexOf(first.trim(), Math.max(0, text.search(/^\s*code\s*:/m)));
  const before = code.slice(0, code.indexOf(first)).split('\n').length - 1;
  const line = text.slice(0, Math.max(0, at)).split('\n').length - 1;
  return '\n'.repeat(Math.max(0, line - before)) + code;
}
