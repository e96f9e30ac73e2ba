// Two scripts as tools: listed, called, rejected, planned. Exits with 0 if every assertion holds.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { textOf } from 'wield';
import { createNodeToolbox } from 'wield/node';

const workdir = fileURLToPath(new URL('.', import.meta.url));
const toolbox = createNodeToolbox({ workdir });

// Both files in .agents/tools are tools, without any registration.
const names = (await toolbox.list()).map((tool) => tool.name);
assert.ok(names.includes('greet') && names.includes('sum'));
console.log(`tools: ${names.join(', ')}`);

// A result is text.
const greeting = await toolbox.call('greet', { name: 'Ada', language: 'fr' });
assert.equal(greeting.ok, true);
assert.equal(textOf(greeting), 'Bonjour, Ada !\n');
console.log(`greet: ${textOf(greeting).trim()}`);

// JSON output is also available as data, validated against @returns.
const sum = await toolbox.call('sum', { numbers: [1, 2, 3.5] });
assert.deepEqual(sum.structured, { total: 6.5, count: 3 });
console.log(`sum: ${JSON.stringify(sum.structured)}`);

// A call never throws. Invalid input is rejected before anything runs, with a hint.
const misspelt = await toolbox.call('greet', { nmae: 'Ada' });
assert.equal(misspelt.error.code, 'invalid_input');
assert.match(misspelt.error.hint, /did you mean name\?/);
console.log(`refused: ${misspelt.error.message} (${misspelt.error.hint})`);

// The output of a failed script is kept.
const failed = await toolbox.call('greet', { name: 'Ada', language: 'tlh' });
assert.equal(failed.error.code, 'tool_failed');
assert.equal(failed.meta.exitCode, 1);
assert.match(textOf(failed), /no greeting in "tlh"/);
console.log(`failed: ${failed.error.message}`);

// A plan shows what would run, without running it.
const { plan, verdict } = await toolbox.plan('sum', { numbers: [1] });
assert.equal(plan.kind, 'process');
assert.equal(plan.cwd, toolbox.workspace.workdir);
assert.equal(verdict.verdict, 'allow');
console.log(`planned: ${plan.argv[0].slice(workdir.length)}, ${verdict.verdict}`);

await toolbox.close();
