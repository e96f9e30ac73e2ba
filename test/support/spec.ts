// Ties a test to the statements of spec/ that it proves; `spec-reporter.ts` counts the tests that ran.

import { type TestOptions, test } from 'vitest';
import { ALL_TESTS } from './effort.js';
import { patience } from './patience.js';
import { runInTest } from './share.js';

declare module 'vitest' {
  interface TaskMeta {
    /** Ids of the statements that the test proves. */
    statements?: readonly string[];
    /** Ids of the review findings that the test closes. */
    findings?: readonly string[];
    /** Why the test is skipped on this machine, and after `; to run: ` what to do about it. */
    skipReason?: string;
    /** Whether the test is for `npm run thorough`. */
    thorough?: boolean;
  }
}

type Body = () => void | Promise<void>;

/** A test that proves one or more statements: `spec('SCR-7', 'requires a starred parameter', fn)`. */
export function spec(ids: string, title: string, body: Body, timeoutMs?: number): void {
  define(ids, title, body, { timeout: timeoutMs, meta: toStatements(ids) });
}

/** A further proof of statements that other tests prove in `npm test`, which takes long: for `npm run thorough`. */
spec.thorough = (ids: string, title: string, body: Body, timeoutMs?: number): void =>
  defineThorough(ids, title, body, { timeout: timeoutMs, meta: toStatements(ids) });

/** The reason to skip a test that is the only one of a statement, in `npm test`. */
export const TAKES_LONG = 'takes long; to run: npm run thorough';

/** Like `spec()`, but skipped with a reason on a machine that lacks what the test needs. */
export function specIf(
  condition: boolean,
  reason: string,
  ids: string,
  title: string,
  body: Body,
  timeoutMs?: number,
): void {
  const meta = { ...toStatements(ids), skipReason: reason };
  if (condition) spec(ids, title, body, timeoutMs);
  else test.skip(`${ids}: ${title} (skipped: ${reason})`, { meta }, body);
}

/** Likewise a further proof, for `npm run thorough`. */
specIf.thorough = (
  condition: boolean,
  reason: string,
  ids: string,
  title: string,
  body: Body,
  timeoutMs?: number,
): void => {
  if (condition) spec.thorough(ids, title, body, timeoutMs);
  else specIf(false, reason, ids, title, body);
};

/**
 * A test that closes one or more review findings: `finding('B2', 'keeps links in the directory of their kind', fn)`. Ids
 * of statements may follow.
 */
export function finding(ids: string, title: string, body: Body, timeoutMs?: number): void {
  define(ids, title, body, { timeout: timeoutMs, meta: toFindings(ids) });
}

/** A further test of findings that other tests close in `npm test`, which takes long: for `npm run thorough`. */
finding.thorough = (ids: string, title: string, body: Body, timeoutMs?: number): void =>
  defineThorough(ids, title, body, { timeout: timeoutMs, meta: toFindings(ids) });

/** Like `finding()`, but skipped with a reason on a machine that lacks what the test needs. */
export function findingIf(
  condition: boolean,
  reason: string,
  ids: string,
  title: string,
  body: Body,
  timeoutMs?: number,
): void {
  const meta = { ...toFindings(ids), skipReason: reason };
  if (condition) finding(ids, title, body, timeoutMs);
  else test.skip(`${ids}: ${title} (skipped: ${reason})`, { meta }, body);
}

function define(ids: string, title: string, body: Body, options: TestOptions): void {
  const { timeout } = options;
  const scaled = timeout === undefined ? options : { ...options, timeout: patience(timeout) };
  test(`${ids}: ${title}`, scaled, (context) => runInTest(context, body));
}

// Skipped without a reason of the machine: the ids are not proven by that.
function defineThorough(ids: string, title: string, body: Body, options: TestOptions): void {
  if (ALL_TESTS) define(ids, title, body, options);
  else test.skip(`${ids}: ${title} (npm run thorough)`, toSkipped(options), body);
}

const toSkipped = (options: TestOptions): TestOptions => ({ ...options, meta: { ...options.meta, thorough: true } });

/** A test of no statement, for `npm run thorough`. */
export function testThorough(title: string, body: Body): void {
  if (ALL_TESTS) test(title, (context) => runInTest(context, body));
  else test.skip(`${title} (npm run thorough)`, toSkipped({}), body);
}

const toStatements = (ids: string): { statements: readonly string[] } => ({ statements: ids.split(/\s+/) });

// `000-14` is a row of a list; a statement has a prefix of letters.
function toFindings(ids: string): { findings: readonly string[]; statements?: readonly string[] } {
  const all = ids.split(/\s+/);
  const statements = all.filter((id) => /^[A-Z]+-\d+$/.test(id));
  const findings = all.filter((id) => !statements.includes(id));
  return statements.length === 0 ? { findings } : { findings, statements };
}
