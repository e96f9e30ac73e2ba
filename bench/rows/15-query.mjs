// Row 15: reducing a JSON document with context_query, compared with a script that parses it and loops.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createNodeToolbox } from '../../dist/node.js';
import { ENVIRONMENT, measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createDirectory, createWorkspace } from '../support/workspace.mjs';

const MEGABYTES = sized([1, 10, 100], [0.1]);
const ROUNDS = 5;
const RECORD_BYTES = 110;
const SCRIPT = fileURLToPath(new URL('../support/reduce.cjs', import.meta.url));
const LOOP_TARGET = { of: 'ratio', atMost: 5, unit: '×' };
const SORT_TARGET = { of: 'ratio', atMost: 10, unit: '×' };

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: JSONata syntax for grouping
const QUERIES = {
  sum: { expression: '$sum(amount)', target: LOOP_TARGET },
  filter: { expression: '$count($[amount > 900])', target: LOOP_TARGET },
  group: { expression: '${ $substring(ts,0,10): $count($) }', target: LOOP_TARGET },
  sort: { expression: '$^(>ts)[[0..9]].id', target: SORT_TARGET },
};
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above

export const row = {
  id: '15',
  title: 'a JSON document reduced, process and parsing included',
  async run() {
    const { dir, env } = createWorkspace(0);
    const toolbox = createNodeToolbox({ workdir: dir, env });
    const results = [];
    for (const megabytes of MEGABYTES) {
      const file = join(createDirectory(), 'records.json');
      writeFileSync(file, makeRecords(megabytes));
      const path = `${megabytes}.json`;
      await toolbox.state.stores.documents.write(path, makeRecords(megabytes));
      for (const [name, query] of Object.entries(QUERIES))
        results.push(...(await measureQuery({ toolbox, file, path, name, query, megabytes })));
    }
    await toolbox.close();
    return results;
  },
};

async function measureQuery({ toolbox, file, path, name, query, megabytes }) {
  let plain;
  let ours;
  const samples = await measureRounds(
    {
      script: () =>
        timed(() => {
          plain = spawnSync(process.execPath, ['--max-old-space-size=4096', SCRIPT, file, name], {
            env: ENVIRONMENT,
            encoding: 'utf8',
          }).stdout;
        }),
      query: () =>
        timed(async () => {
          ours = await toolbox.call('context_query', { path, expression: query.expression }, { full: true });
        }),
    },
    ROUNDS,
  );
  if (JSON.stringify(ours.structured?.result) !== plain) {
    throw new Error(`${name} of ${megabytes} MB: ${JSON.stringify(ours).slice(0, 200)} is not ${plain.slice(0, 200)}`);
  }
  return [
    { case: `plain script, ${name}, ${megabytes} MB (floor)`, value: spread(samples.script), unit: 'ms' },
    {
      case: `context_query, ${name}, ${megabytes} MB`,
      value: spread(samples.query),
      unit: 'ms',
      ratio: ratios(samples.query, samples.script),
      target: query.target,
    },
  ];
}

async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function makeRecords(megabytes) {
  const count = Math.round((megabytes * 1e6) / RECORD_BYTES);
  const records = Array.from({ length: count }, (_, id) => ({
    id,
    ts: new Date(Date.UTC(2026, 0, 1) + ((id * 7919) % count) * 60_000).toISOString(),
    email: `user${id % 997}@example.org`,
    amount: (id * 31) % 1000,
    subject: `subject ${id}`,
  }));
  return Buffer.from(JSON.stringify(records));
}
