// The test of the tool: by hand, and through the checks that every call goes through.

import { expect, test } from 'vitest';
import { createTestContext, createTestToolbox, expectError, expectOk } from 'wield/testing';
import { completeTaskTool } from './.agents/tools/complete-task.tool.ts';

test('says what was done', async () => {
  const { message } = await completeTaskTool.execute({ summary: 'tea made' }, createTestContext());
  expect(message).toBe('Task completed: tea made');
});

test('takes a summary and nothing else', async () => {
  const toolbox = createTestToolbox([completeTaskTool]);
  const done = expectOk(await toolbox.call('complete_task', { summary: 'tea made' }));
  expect(done.structured).toEqual({ message: 'Task completed: tea made', is_error: false });
  expectError(await toolbox.call('complete_task', {}), 'invalid_input');
  expectError(await toolbox.call('complete_task', { summary: 'tea', mood: 'good' }), 'invalid_input');
});
