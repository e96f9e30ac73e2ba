// Reads the rules of a configuration file: selectors, each with the line that it stands on.

import { isToolError } from '../core/error.js';
import type { Rule } from '../core/rule.js';
import { parseSelectors } from '../core/selector.js';

export interface RulesPlace {
  readonly key: string;
  readonly file: string;
  /** The line of the key. */
  readonly line: number;
  /** The whole text of the file. */
  readonly text: string;
}

// Every call looks at every rule; a policy beyond this is no policy that someone wrote.
const MAX_RULES = 5000;

/** The rules of texts, or why they are none: the whole policy then denies (POL-9). */
export function readRules(texts: readonly string[], place: RulesPlace): readonly Rule[] | string {
  const { key, file, line, text } = place;
  const lineOf = createLineFinder(text, line);
  const rules: Rule[] = [];
  for (const [index, entry] of texts.entries()) {
    try {
      for (const selector of parseSelectors(entry))
        rules.push(Object.freeze({ selector, file, line: lineOf(selector.text) }));
    } catch (error) {
      if (!isToolError(error)) throw error;
      const which = texts.length > 1 ? `entry ${index + 1} of ${key}` : key;
      return `${file}:${lineOf(entry)}: ${which}: ${error.message}`;
    }
    if (rules.length > MAX_RULES) return `${file}:${line}: ${key} has more than ${MAX_RULES} selectors`;
  }
  return rules;
}

// A list can go over many lines, and the parser keeps no positions: each text is looked for from where the last
// one stood, up to the next key. One that is written with escapes is told with the line of its key.
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
