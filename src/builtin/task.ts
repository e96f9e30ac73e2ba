// The built-in tools that end a loop: the task is done, failed, or must wait.

import type { Tool } from '../core/tool.js';
import { defineBuiltin } from '../formats/module/builtin.js';

const KINDS = [
  {
    name: 'complete_task',
    description: 'Mark the current task as complete with a summary of what was accomplished.',
    parameter: 'summary',
    about: 'What was accomplished',
    says: 'Task completed',
  },
  {
    name: 'fail_task',
    description: 'Give up the current task because it cannot be done, and say why.',
    parameter: 'reason',
    about: 'Why it cannot be done',
    says: 'Task failed',
  },
  {
    name: 'wait_task',
    description: 'Put the current task aside until something happens that is not in your hands, and say what.',
    parameter: 'reason',
    about: 'What is waited for',
    says: 'Task waiting',
  },
] as const;

export function createTaskTools(): Tool[] {
  return KINDS.map(({ name, description, parameter, about, says }) =>
    defineBuiltin<Record<string, string>>({
      name,
      description,
      inputSchema: {
        type: 'object',
        properties: { [parameter]: { type: 'string', description: about } },
        required: [parameter],
      },
      traits: { group: 'task', terminal: true },
      run: (input) => `${says}: ${input[parameter]}`,
    }),
  );
}
