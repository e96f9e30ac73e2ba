// The lists of mutations, their last results and the page about them. `node scripts/mutants-page.mjs` writes the page.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LISTS = new URL('../test/mutants/', import.meta.url);
const RESULTS = new URL('../test/mutation-results.json', import.meta.url);
const PAGE = new URL('../docs/reports/mutants.md', import.meta.url);

export function readMutations() {
  return readdirSync(LISTS)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => JSON.parse(readFileSync(new URL(name, LISTS), 'utf8')));
}

/** Returns the last result of each mutation by its description. */
export function readResults() {
  return existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {};
}

/** Adds results to the file, which another run may have written meanwhile, and writes the page. */
export function saveResults(added) {
  const mutations = readMutations();
  const results = { ...readResults(), ...added };
  const listed = mutations.filter(({ what }) => what in results).map(({ what }) => [what, results[what]]);
  writeFileSync(RESULTS, `${JSON.stringify(Object.fromEntries(listed), null, 2)}\n`);
  writeFileSync(PAGE, toPage(mutations, results));
}

export function toPage(mutations, results) {
  const isKilled = ({ what }) => results[what] === 'killed';
  const rows = [...new Set(mutations.map(({ area }) => area))].map((area) => {
    const own = mutations.filter((mutation) => mutation.area === area);
    return `| ${area} | ${own.filter(isKilled).length}/${own.length} |`;
  });
  const others = mutations.filter((mutation) => !isKilled(mutation));
  const list = others.map(({ area, what, file }) => `- ${area}: ${what} (${file}): ${results[what] ?? 'not run'}`);
  return `# Mutants

A mutation is a deliberate defect in a security-relevant line, which its tests must notice. \`test/mutants\` lists them,
\`test/mutation-results.json\` has their last results. A mutation with a finding undoes the fix of that finding.

\`npm run mutants\` tries all. With \`--rest\` it tries those that were not killed, with \`--only approvals\` those of one area,
file or description, with \`--changed HEAD~5\` those whose code or tests changed.

\`npm run mutants -- --random 100 --seed 7\` draws 100 mutations from the syntax trees of security-relevant folders instead:
a check or an \`await\` is dropped, a condition negated, a bound shifted, an operand swapped, a call that redacts or escapes
dropped, a verdict flipped. The same seed draws the same mutations from the same sources. For each, the tests beside the file
run first, then those listed for it, then those of its area (\`scripts/random-mutants.mjs\`). It prints each result with the
place and the text before and after; \`--out FILE\` writes it too, \`--from 40\` goes on with the 40th, and \`--only src/policy\`
tries some of them. A survivor is a missing test, or equal in effect: read it. Results are not stored.

${mutations.length - others.length} of ${mutations.length} mutations are killed.

| area | killed |
|---|---|
${rows.join('\n')}
${list.length === 0 ? '' : `\n## Not killed\n\n${list.join('\n')}\n`}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) saveResults({});
