// Reads the allowed tools of a skill, in any notation and spelling.

import type { Finding } from '../../core/problem.js';

// A misspelled key must not allow everything.
export function findAllowedTools(fields: Readonly<Record<string, unknown>>, warnings: Finding[]): unknown {
  if (Object.hasOwn(fields, 'allowed-tools')) return fields['allowed-tools'];
  const key = Object.keys(fields).find((name) => /^allowed[-_ ]?tools?$/i.test(name));
  if (key === undefined) return undefined;
  if (key !== 'allowedTools')
    warnings.push({ message: `"${key}" is read as allowed-tools`, hint: 'write allowed-tools' });
  return fields[key];
}

// Accepts a list, or a string separated by commas or spaces.
export function readAllowedTools(value: unknown, warnings: Finding[]): readonly string[] | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  if (typeof value === 'string') return splitSelectors(value);
  warnings.push({
    message: 'allowed-tools must be a string or a list, so no tool is allowed',
    hint: 'write allowed-tools: name name',
  });
  return [];
}

// Commas and spaces inside parentheses or braces belong to a selector.
function splitSelectors(text: string): string[] {
  const selectors: string[] = [];
  let depth = 0;
  let current = '';
  for (const character of text) {
    if (character === '(' || character === '{') depth++;
    if (character === ')' || character === '}') depth--;
    if (depth <= 0 && /[\s,]/.test(character)) {
      if (current !== '') selectors.push(current);
      current = '';
    } else current += character;
  }
  if (current !== '') selectors.push(current);
  return selectors;
}
