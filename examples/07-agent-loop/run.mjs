// Lets a scripted model complete a task with the tools of this directory: node examples/07-agent-loop/run.mjs

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import { runAgentLoop } from 'wield/agent-loop';
import { createNodeToolbox } from 'wield/node';
import { serveModel } from './model.mjs';

const workdir = fileURLToPath(new URL('.', import.meta.url));
// A temporary home, so that the example leaves nothing in yours.
const home = mkdtempSync(join(tmpdir(), 'wield-example-'));
const env = { PATH: process.env.PATH, HOME: home };
const toolbox = createNodeToolbox({ workdir, env, trust: true });

const server = await serveModel([
  // Two calls at once; the second is malformed.
  () => [
    ['stock', { item: 'lamp' }],
    ['stock', { itm: 'chair' }],
  ],
  ([lamps, wrong]) => {
    assert.equal(lamps, '3\n');
    assert.match(wrong, /^\[invalid_input\]/);
    return [['stock', { item: 'chair' }]];
  },
  ([chairs]) => {
    assert.equal(chairs, '0\n');
    return [['order', { item: 'chair', count: 4 }]];
  },
  ([ordered]) => [['complete_task', { summary: ordered.trim() }]],
]);

// For a real model, change these three lines as in the comments.
const client = new Anthropic({ baseURL: server.url, apiKey: 'none' }); // new Anthropic()
const model = 'scripted'; // 'claude-sonnet-5-5'
const stop = server.close; // () => {}

try {
  const { status, turns, terminal, messages } = await runAgentLoop({
    client,
    model,
    toolbox,
    messages: [{ role: 'user', content: 'Order four chairs if none is left.' }],
    offer: ['task'],
    // Ask a person here; this example approves every call that needs approval.
    approve: async () => 'once',
    onMessage: ({ role, content }) => console.log(role, JSON.stringify(content)),
  });
  assert.equal(status, 'completed');
  assert.equal(turns, 4);
  assert.equal(messages.length, 9);
  assert.equal(terminal.result.structured, 'Task completed: ordered 4 of chair');
  console.log(status, terminal.result.structured);
} finally {
  stop();
  await toolbox.close();
  rmSync(home, { recursive: true, force: true });
}
