// Row tokens: what a model reads and writes for the same tasks by plain calls, in search mode and in code mode, with JSON
// and with tables.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runAnthropicCall, toAnthropicTools } from '../../dist/adapters/anthropic/index.js';
import { estimateTokens } from '../../dist/core/text.js';
import { createNodeToolbox } from '../../dist/node.js';
import { ratios, sized, spread } from '../support/measure.mjs';
import { TASKS, TOOLS } from '../support/tasks.mjs';
import { createWorkspace } from '../support/workspace.mjs';

const MODES = { all: 'plain calls', search: 'search mode', code: 'code mode' };
const TABLES = Object.keys(MODES).map((mode) => [`${mode}, tables`, mode]);
const ANSWER = 'Done. Here is the result that you asked for.';

export const row = {
  id: 'tokens',
  title: `${TASKS.length} tasks over ${TOOLS.length} tools, tokens that a model reads and writes`,
  async run() {
    const { dir, env } = createWorkspace(0);
    const tasks = TASKS.slice(0, sized(TASKS.length, 2));
    const counted = {};
    const count = async (name, mode) => {
      const toolbox = createNodeToolbox({ workdir: dir, env, tools: TOOLS, mode });
      counted[name] = [];
      for (const task of tasks) counted[name].push(await countTask(toolbox, mode, task));
      await toolbox.close();
    };
    for (const mode of Object.keys(MODES)) await count(mode, mode);
    mkdirSync(env.WIELD_HOME, { recursive: true, mode: 0o700 });
    writeFileSync(join(env.WIELD_HOME, 'config.toml'), '[results]\nencode = "auto"\n', { mode: 0o600 });
    for (const [name, mode] of TABLES) await count(name, mode);
    if (sized(true, false)) printTasks(tasks, counted);
    return Object.entries(MODES)
      .map(([mode, name]) => ({
        case: name,
        value: spread(counted[mode]),
        unit: 'tokens',
        ratio: mode === 'all' ? undefined : ratios(counted[mode], counted.all),
      }))
      .concat(
        TABLES.map(([name, mode]) => ({
          case: `${MODES[mode]}, with tables, against the same without`,
          value: spread(counted[name]),
          unit: 'tokens',
          ratio: ratios(counted[name], counted[mode]),
        })),
      );
  },
};

/** Returns the tokens of all requests and responses of a task: every request contains the tools and all messages before. */
async function countTask(toolbox, mode, task) {
  const tools = estimateTokens(JSON.stringify(await toAnthropicTools(toolbox)));
  let context = tools + estimateTokens(`${task.title}.`);
  let total = 0;
  for (const calls of toRounds(mode, task)) {
    const uses = calls.map(({ name, input }, at) => ({ type: 'tool_use', id: `call_${at}`, name, input }));
    const results = [];
    for (const use of uses) {
      const result = await runAnthropicCall(toolbox, use);
      if (result.is_error) throw new Error(`${task.title}: ${JSON.stringify(result)}`);
      results.push(result);
    }
    const written = estimateTokens(JSON.stringify(uses));
    total += context + written;
    context += written + estimateTokens(JSON.stringify(results));
  }
  return total + context + estimateTokens(ANSWER);
}

function toRounds(mode, { queries, rounds, code }) {
  if (mode === 'all') return rounds;
  const search = [{ name: 'search_tools', input: { queries } }];
  if (mode === 'code') return [search, [{ name: 'run_code', input: { code } }]];
  return [search, ...rounds.map((calls) => calls.map((call) => ({ name: 'call_tool', input: call })))];
}

function printTasks(tasks, counted) {
  console.error('| task | plain calls | search mode | code mode |\n|---|---|---|---|');
  const show = (value) => Math.round(value).toLocaleString('en');
  for (const [at, { title }] of tasks.entries())
    console.error(
      `| ${title} | ${Object.keys(MODES)
        .map((mode) => show(counted[mode][at]))
        .join(' | ')} |`,
    );
  const totals = Object.keys(MODES).map((mode) => show(counted[mode].reduce((sum, one) => sum + one, 0)));
  console.error(`| all | ${totals.join(' | ')} |`);
}
