// Finds tasks that look harmless by their names and descriptions: tests, checks and builds (CLI-39).

import { findDestructiveWord, isActingWord } from '../core/destructive-words.js';
import type { Tool } from '../core/tool.js';

const HARMLESS = new Set([
  ...['test', 'tests', 'unit', 'spec', 'specs', 'pytest', 'vitest', 'jest', 'coverage', 'e2e'],
  ...['lint', 'eslint', 'ruff', 'clippy', 'vet', 'check', 'checks', 'verify', 'validate'],
  ...['build', 'compile', 'typecheck', 'types', 'tsc', 'mypy', 'pyright'],
]);

/**
 * Whether the first or last word of a task's name is that of a test, check or build, nothing in its name and description says
 * that it deletes, publishes or changes something, and everything that it runs is known.
 */
export function isHarmless({ name, description, traits, action }: Tool): boolean {
  if (traits.background === true || traits.destructive === true || action.kind !== 'process') return false;
  if (traits.metadata?.mentions !== undefined) return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    // Without the program: `npm`.
    .slice(1);
  if (!HARMLESS.has(words[0] ?? '') && !HARMLESS.has(words.at(-1) ?? '')) return false;
  if (words.some(isActingWord) || soundsDestructive(words.join(''))) return false;
  // Other letters may look like those of a word.
  if (action.runs === 'command' && /[^ -~]/.test(JSON.stringify(action.executions))) return false;
  return !soundsDestructive(description) && !/\brimraf\b|(?:^|\s)--(?:fix|write)\b/.test(description);
}

function soundsDestructive(text: string): boolean {
  return findDestructiveWord(text) !== undefined;
}
