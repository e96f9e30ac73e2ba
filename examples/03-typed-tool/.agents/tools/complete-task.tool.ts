// One definition for a model, a shell and a test.

import type { ToolDefinition } from 'wield';
import { z } from 'zod';

const inputSchema = z.object({
  summary: z.string().describe('Summary of work done'),
});

const outputSchema = z.object({
  message: z.string(),
  is_error: z.boolean(),
});

export const completeTaskTool = {
  name: 'complete_task',
  description: 'Mark the current task as complete with a summary of what was accomplished.',
  group: 'task',
  terminal: true,
  inputSchema,
  outputSchema,
  // biome-ignore lint/correctness/noUnusedFunctionParameters: this is what a tool is given, used or not
  execute: async (input, ctx) => ({
    message: `Task completed: ${input.summary}`,
    is_error: false,
  }),
} satisfies ToolDefinition<typeof inputSchema, typeof outputSchema>;
