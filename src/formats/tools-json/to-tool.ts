// Turns a declared command into a tool.

import { join } from 'node:path';
import type { Place } from '../../core/origin.js';
import { NO_TRAITS, type Tool } from '../../core/tool.js';
import { toFileUri } from '../../files/within.js';
import { createJsonSchema } from '../../schema/json.js';
import type { DeclaredTool, ToolsDescriptor } from './parse.js';
import type { SkillFacts } from './skill-facts.js';

interface ToToolOptions {
  readonly descriptor: ToolsDescriptor;
  readonly directory: string;
  readonly skill: SkillFacts;
  readonly owner: Place['owner'];
}

export function toTool(
  { name, description, parameters, executions, sandbox }: DeclaredTool,
  { descriptor, directory, skill, owner }: ToToolOptions,
): Tool {
  const { allowlist, wholeSubcommands } = descriptor;
  const { binGroups, allowedTools } = skill;
  return {
    name,
    description,
    input: createJsonSchema(parameters, { closed: true }),
    action: { kind: 'process', runs: 'command', directory, allowlist, executions, wholeSubcommands, binGroups },
    origin: {
      format: 'tools-json',
      uri: toFileUri(join(directory, 'tools.json')),
      directory,
      source: null,
      digest: null,
      server: null,
      owner,
    },
    traits: { ...NO_TRAITS, ...(allowedTools === null ? {} : { allowedTools }), sandbox: sandbox ?? skill.sandbox },
  };
}
