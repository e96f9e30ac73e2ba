// A large result is stored without entering the context, and reduced in place: node examples/04-pipe-and-query/run.mjs

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf } from 'wield';
import { createNodeToolbox } from 'wield/node';

// A temporary home, so that the example leaves nothing in yours.
const home = mkdtempSync(join(tmpdir(), 'wield-example-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const workdir = fileURLToPath(new URL('.', import.meta.url));
const toolbox = createNodeToolbox({ workdir, env: { PATH: process.env.PATH, HOME: home } });

async function call(name, input) {
  const result = await toolbox.call(name, input);
  assert.equal(result.error, undefined);
  return result;
}

// Stores 303 messages in a document and returns its path and a preview.
const piped = await call('context_pipe', {
  tool_name: 'inbox',
  tool_input: { count: 303 },
  path: 'mail/inbox.json',
});
assert.equal(piped.structured.path, 'mail/inbox.json');
assert.ok(piped.structured.bytes_written > 70_000);
assert.ok(piped.structured.preview.length <= 200);
console.log(`piped: ${piped.structured.bytes_written} bytes; ${textOf(piped).length} characters are shown`);

// Messages per day: only the answer enters the context.
const days = await call('context_query', {
  path: 'mail/inbox.json',
  expression: '${ $substring(ts,0,10): $count($) }',
});
assert.deepEqual(days.structured, {
  result: { '2026-05-31': 144, '2026-06-01': 144, '2026-06-02': 15 },
  result_type: 'object',
});
console.log(`by day: ${JSON.stringify(days.structured.result)}`);

// The result of a query can be queried again: the large amounts, then their sum.
const large = await call('context_query', {
  path: 'mail/inbox.json',
  expression: '$[amount > 300].{ "id": id, "from": from, "amount": amount }',
  output_path: 'mail/large.json',
});
assert.equal(large.structured.result_type, 'array');
const sum = await call('context_query', { path: 'mail/large.json', expression: '$sum(amount)' });
console.log(`${large.structured.result_count} large amounts, ${sum.structured.result} in all`);
const messages = Array.from({ length: 303 }, (_, id) => (id * 37) % 400).filter((amount) => amount > 300);
assert.equal(large.structured.result_count, messages.length);
assert.equal(
  sum.structured.result,
  messages.reduce((total, amount) => total + amount, 0),
);

// Documents can be searched.
const found = await call('context_search', { query: 'lorem ipsum' });
assert.equal(found.structured.hits[0].path, 'mail/inbox.json');

// 10 MB work the same way.
const many = await call('context_pipe', {
  tool_name: 'inbox',
  tool_input: { count: 42_000 },
  path: 'mail/archive.json',
});
assert.ok(many.structured.bytes_written > 10_000_000);
const top = await call('context_query', {
  path: 'mail/archive.json',
  expression: '$^(>ts)[[0..2]].id',
});
assert.deepEqual(top.structured.result, [41_999, 41_998, 41_997]);
console.log(`sorted: the newest of 42,000 are ${top.structured.result.join(', ')}`);

// An existing document is not overwritten, and a syntax error has a position.
const taken = await toolbox.call('context_pipe', {
  tool_name: 'inbox',
  tool_input: { count: 1 },
  path: 'mail/inbox.json',
});
assert.equal(taken.error.code, 'path_conflict');
const wrong = await toolbox.call('context_query', { path: 'mail/large.json', expression: '$sum(amount' });
assert.equal(wrong.error.code, 'invalid_input');
assert.equal(wrong.error.data.position, 11);
console.log(`refused: ${taken.error.message}; ${wrong.error.message}`);

await toolbox.close();
