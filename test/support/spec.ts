// Ties a test to the statements of spec/ that it proves; `spec-reporter.ts` counts the tests that ran.

import { test } from 'vitest';
import { runInTest } from './share.js';

declare module 'vitest' {
  interface TaskMeta {
    /** Ids of the statements that the test proves. */
    statements?: readonly string[];
    /** Ids of the review findings that the test closes. */
    findings?: readonly string[];
    /** Why the test is skipped on this machine. */
    skipReason?: string;
  }
}

type Body = () => void | Promise<void>;

/** A test that proves one or more statements: `spec('SCR-7', 'requires a starred parameter', fn)`. */
export function spec(ids: string, title: string, body: Body, timeoutMs?: number): void {
  test(`${ids}: ${title}`, { timeout: timeoutMs, meta: { statements: ids.split(/\s+/) } }, (context) =>
    runInTest(context, body),
  );
}

/** Like `spec()`, but skipped with a reason on a machine that lacks what the test needs. */
export function specIf(
  condition: boolean,
  reason: string,
  ids: string,
  title: string,
  body: Body,
  timeoutMs?: number,
): void {
  const meta = { statements: ids.split(/\s+/), skipReason: reason };
  if (condition) spec(ids, title, body, timeoutMs);
  else test.skip(`${ids}: ${title} (skipped: ${reason})`, { meta }, body);
}

/**
 * A test that closes one or more review findings: `finding('B2', 'keeps links in the directory of their kind', fn)`. Ids
 * of statements may follow.
 */
export function finding(ids: string, title: string, body: Body, timeoutMs?: number): void {
  test(`${ids}: ${title}`, { timeout: timeoutMs, meta: toFindings(ids) }, (context) => runInTest(context, body));
}

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

// `000-14` is a row of a list; a statement has a prefix of letters.
function toFindings(ids: string): { findings: readonly string[]; statements?: readonly string[] } {
  const all = ids.split(/\s+/);
  const statements = all.filter((id) => /^[A-Z]+-\d+$/.test(id));
  const findings = all.filter((id) => !statements.includes(id));
  return statements.length === 0 ? { findings } : { findings, statements };
}
