// Runs the benchmarks against the built package and updates the table of README.md: `npm run bench` runs all rows,
// `npm run bench -- 2 3` some of them, `npm run bench -- flame` draws a flame graph instead.
// `--quick` runs every case once with small sizes and saves nothing; it shows only that the rows work, and with `--peers`
// that the peers do.

import { readdirSync } from 'node:fs';
import { answerHelp } from '../scripts/usage.mjs';
import { QUICK } from './support/measure.mjs';
import { describeMachine, describeTime, formatTable, saveResults, updatePage } from './support/report.mjs';

answerHelp(import.meta.url);

const { NODE_EXTRA_CA_CERTS: _unused, ...environment } = process.env;
process.env = environment;

for (const other of ['flame', 'memory']) {
  if (!process.argv.includes(other)) continue;
  await import(`./${other}.mjs`);
  process.exit();
}
const files = readdirSync(new URL('./rows/', import.meta.url)).sort();
const rows = await Promise.all(files.map(async (file) => (await import(`./rows/${file}`)).row));
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const unknown = wanted.filter((id) => !rows.some((row) => row.id === id));
if (unknown.length > 0) {
  console.error(`unknown row: ${unknown.join(', ')}; rows: ${rows.map((row) => row.id).join(', ')}`);
  process.exit(2);
}

const results = [];
let page;
for (const row of rows) {
  if (wanted.length > 0 && !wanted.includes(row.id)) continue;
  if (row.missing !== undefined) {
    console.error(`row ${row.id} is left out: ${row.missing}`);
    continue;
  }
  console.error(`row ${row.id}: ${row.title}`);
  const measured = describeTime();
  results.push({ row: row.id, title: row.title, cases: await row.run(), measured });
  // After every row: a later one may fail.
  if (!QUICK) {
    page = updatePage(
      results,
      rows.map(({ id }) => id),
    );
  }
}
if (QUICK) console.log(JSON.stringify(results));
else {
  const { node, cores, cpu, clock } = describeMachine();
  console.log(formatTable(results));
  console.log(`\nNode ${node}, ${cores} cores (${cpu}); processes by ${clock}`);
  console.error(`written to ${saveResults(results)} and ${page}`);
}
