// The report: a Markdown table, a JSON file with all numbers, and a description of the machine.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { CLOCK } from './measure.mjs';

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));
const PAGE = fileURLToPath(new URL('../README.md', import.meta.url));

export function describeMachine() {
  const [first] = cpus();
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cores: cpus().length,
    cpu: first?.model ?? 'unknown',
    clock: CLOCK,
  };
}

const HEAD = ['row', 'case', 'value', 'ratio to floor (p10–p90)', 'target', 'met', 'measured'];

/** The day, and how busy the machine was when it began. */
export function describeTime() {
  return `${new Date().toISOString().slice(0, 10)}, load ${loadavg()[0].toFixed(1)}`;
}

/** Returns the table cells of results, one line per case. */
function toLines(results) {
  return results.flatMap(({ row, cases, measured }) =>
    cases.map((one) => [
      row,
      one.case,
      one.shown ?? formatValue(one.value, one.unit),
      one.ratio === undefined ? '' : `${fixed(one.ratio.median)} (${fixed(one.ratio.p10)}–${fixed(one.ratio.p90)})`,
      one.goal?.text ?? (one.target === undefined ? '' : formatTarget(one.target)),
      hasGoal(one) ? (isMet(one) ? 'yes' : 'no') : '',
      measured ?? '',
    ]),
  );
}

/** Formats results as a Markdown table. */
export function formatTable(results) {
  return formatLines(toLines(results));
}

function formatLines(rows) {
  const widths = HEAD.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(HEAD), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const TABLE = /(?<=<!-- measured -->\n)[\s\S]*(?=<!-- end -->)/;

/** Replaces the table between two comments. */
export function replaceTable(page, table) {
  if (!TABLE.test(page)) throw new Error('the page has no place for a table');
  return page.replace(TABLE, () => `\n${table}\n\n`);
}

/** Writes the rows that were measured into the table of README.md; others stay. `order` lists the ids of all rows. */
export function updatePage(results, order) {
  const page = readFileSync(PAGE, 'utf8');
  const kept = [...(TABLE.exec(page)?.[0] ?? '').matchAll(/^\| (.*) \|$/gm)]
    .map(([, line]) => line.split(' | ').map((cell) => cell.trim()))
    .filter(([id]) => order.includes(id) && !results.some(({ row }) => row === id));
  const lines = [...kept, ...toLines(results)];
  const sorted = order.flatMap((id) => lines.filter(([row]) => row === id));
  writeFileSync(PAGE, replaceTable(page, formatLines(sorted)));
  return PAGE;
}

function hasGoal({ target, goal }) {
  return target !== undefined || goal !== undefined;
}

/** Returns whether the median value or ratio is within the target, or the goal is reached. */
export function isMet({ target, goal, ratio, value }) {
  if (goal !== undefined) return goal.met;
  return (target.of === 'ratio' ? ratio : value).median <= target.atMost;
}

export function saveResults(results) {
  mkdirSync(RESULTS, { recursive: true });
  const file = `${RESULTS}${new Date().toISOString().replace(/[:.]/g, '-')}.json`;
  const cases = results.map((result) => ({
    ...result,
    cases: result.cases.map((one) => (hasGoal(one) ? { ...one, met: isMet(one) } : one)),
  }));
  writeFileSync(file, `${JSON.stringify({ machine: describeMachine(), results: cases }, null, 2)}\n`);
  return file;
}

function formatValue(value, unit) {
  return value === undefined ? '' : `${fixed(value.median)} ${unit} (${fixed(value.p10)}–${fixed(value.p90)})`;
}

function formatTarget({ of, atMost, unit }) {
  return of === 'ratio' ? `≤ ${atMost} ×` : `≤ ${atMost} ${unit}`;
}

function fixed(number) {
  return number.toFixed(2);
}
