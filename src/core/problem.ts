// A Problem: something wrong in a file or a definition, reported instead of thrown.

import { isToolError } from './error.js';

/** Something wrong in a file or a definition. */
export interface Problem {
  /** `error`: the tool or skill is not available. `warning`: it is available, but should be fixed. */
  readonly severity: 'error' | 'warning';
  /** The file, if known. */
  readonly path: string;
  /** Line in the file, counted from 1. */
  readonly line?: number;
  /** Column in the line, counted from 1. */
  readonly column?: number;
  /** JSON Pointer or dotted key within the file. */
  readonly pointer?: string;
  /** What code may compare; messages and hints are for people only. */
  readonly kind?: string;
  /** What is wrong. */
  readonly message: string;
  /** What to do next. */
  readonly hint: string;
}

/** The kind of the problems of an installed tool, whose name is known: it defines no other. */
export const OF_INSTALLED_TOOL = 'installed-tool';

/** A problem as a parser reports it: the caller knows the file and how bad it is. */
export type Finding = Omit<Problem, 'severity' | 'path'> & Partial<Pick<Problem, 'severity' | 'path'>>;

/** A description that people and models would read differently (ERR-7). */
export const HIDDEN_CHARACTERS: Finding = {
  message: 'has invisible characters in a description, which are removed',
  hint: 'remove them from the file',
};

/** Completes a finding with its file. */
export function toProblem(path: string, severity: Problem['severity'], finding: Finding): Problem {
  const { line, column, pointer, kind, message, hint } = finding;
  return { severity, path, line, column, pointer, kind, message, hint };
}

/** Turns an error into the problem of a file. Throws any other error than a ToolError. */
export function problemOf(error: unknown, path: string): Problem {
  if (!isToolError(error)) throw error;
  return { severity: 'error', path, message: error.message, hint: error.hint ?? '' };
}

/** Formats a position in a file: `tools.json:3:14`. */
export function formatPosition(path: string, { line, column }: Pick<Problem, 'line' | 'column'>): string {
  if (line === undefined) return path;
  return column === undefined ? `${path}:${line}` : `${path}:${line}:${column}`;
}

/** Drops repeated problems: several formats can report the same file. */
export function withoutRepeats(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}
