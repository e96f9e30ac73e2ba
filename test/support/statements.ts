// Reads the statements of spec/ and compares them with the tests that cite them.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SPEC = fileURLToPath(new URL('../../spec', import.meta.url));
const STATEMENT = /^- `([A-Z]+-\d+)` (.*)$/;

export interface Statement {
  readonly id: string;
  readonly file: string;
  readonly status: 'built' | 'planned' | 'untested';
}

/** A test that cites statements, and how it ended. */
export interface Citation {
  readonly ids: readonly string[];
  readonly file: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped, if the machine lacks something. */
  readonly skipReason?: string;
}

export interface Coverage {
  /** Number of statements that a passed test proves. */
  readonly proven: number;
  /** Built statements whose only tests were skipped, with the reason. */
  readonly skipped: ReadonlyMap<string, string>;
  readonly errors: readonly string[];
}

export function readStatements(): Statement[] {
  return readdirSync(SPEC).flatMap((file) =>
    readFileSync(join(SPEC, file), 'utf8')
      .split('\n')
      .map((line) => STATEMENT.exec(line))
      .filter((match) => match !== null)
      .map(([, id, text]) => ({ id: id!, file, status: parseStatus(text!) })),
  );
}

function parseStatus(text: string): Statement['status'] {
  if (text.endsWith('(planned)')) return 'planned';
  return /\(untested: [^)]+\)$/.test(text) ? 'untested' : 'built';
}

/** Returns the ids in the texts of test files. */
export function readIds(files: readonly string[]): ReadonlySet<string> {
  return new Set(files.flatMap((file) => readFileSync(file, 'utf8').match(/\b[A-Z]+-\d+\b/g) ?? []));
}

/**
 * Compares statements and citations; a partial run is not required to prove every statement, and a full run none that another
 * command proves.
 */
export function checkCoverage(
  statements: readonly Statement[],
  citations: readonly Citation[],
  fullRun: boolean,
  others: ReadonlySet<string> = new Set(),
): Coverage {
  const byId = new Map(statements.map((statement) => [statement.id, statement]));
  const errors: string[] = [];
  const passed = new Set<string>();
  const reasons = new Map<string, string>();
  for (const { ids, file, outcome, skipReason } of citations)
    for (const id of ids) {
      const status = byId.get(id)?.status;
      if (status === undefined) errors.push(`${file}: cites ${id}, which is not a statement`);
      else if (status === 'planned') errors.push(`${file}: cites ${id}, which is still (planned)`);
      else if (outcome === 'passed') passed.add(id);
      else if (outcome === 'skipped' && skipReason !== undefined) reasons.set(id, skipReason);
    }
  const unproven = statements.filter(({ id, status }) => status === 'built' && !passed.has(id) && !others.has(id));
  if (fullRun)
    for (const { id, file } of unproven) if (!reasons.has(id)) errors.push(`spec/${file}: no passed test proves ${id}`);
  return {
    proven: passed.size,
    skipped: new Map([...reasons].filter(([id]) => !passed.has(id))),
    errors: [...new Set(errors)],
  };
}
