// Parses the rules of a configuration file: selectors with their lines.

import { isToolError } from '../core/error.js';
import type { Rule } from '../core/rule.js';
import { parseSelectors } from '../core/selector.js';

export interface RulesSource {
  readonly key: string;
  readonly file: string;
  /** The line of the key. */
  readonly line: number;
  /** The whole text of the file. */
  readonly text: string;
}

// Every call checks every rule.
const MAX_RULES = 5000;

export interface RulesFault {
  readonly fault: string;
  readonly line: number;
}

/** Returns the rules, or what is wrong with them: then the policy denies everything (POL-9). */
export function readRules(texts: readonly string[], source: RulesSource): readonly Rule[] | RulesFault {
  const { key, file, line, text } = source;
  const lineOf = createLineFinder(text, line);
  const rules: Rule[] = [];
  for (const [index, entry] of texts.entries()) {
    try {
      for (const selector of parseSelectors(entry))
        rules.push(Object.freeze({ selector, file, line: lineOf(selector.text) }));
    } catch (error) {
      if (!isToolError(error)) throw error;
      const which = texts.length > 1 ? `entry ${index + 1} of ${key}` : key;
      return { fault: `${which}: ${error.message}`, line: lineOf(entry) };
    }
    if (rules.length > MAX_RULES) return { fault: `${key} has more than ${MAX_RULES} selectors`, line };
  }
  return rules;
}

// A list can span many lines, and the parser keeps no positions: each text is searched from the line of the previous one
// up to the next key. A text written with escapes gets the line of its key.
function createLineFinder(text: string, first: number): (wanted: string) => number {
  const lines = text.split('\n');
  let end = first;
  while (end < lines.length && !/^\s*(?:\[[^"'\]]*\]\s*(?:#.*)?$|[\w."'-]+\s*=)/.test(lines[end]!)) end++;
  let from = first - 1;
  return (wanted) => {
    for (let at = from; at < end; at++) {
      if (/^\s*#/.test(lines[at]!) || !lines[at]!.includes(wanted)) continue;
      from = at;
      return at + 1;
    }
    return first;
  };
}
