// Reads the name of a skill; another one than the format allows is changed or refused.

import type { Finding } from '../../core/problem.js';
import { quoteOutside } from '../../core/text.js';

const MAX_NAME = 64;

// Wider than the Agent Skills format, for existing skills. Not a constant: compiling a Unicode pattern takes a
// millisecond, and most commands read no skill.
function isAllowedName(name: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._:-]*$/u.test(name);
}

export function readName(value: unknown, directoryName: string, errors: Finding[], warnings: Finding[]): string {
  const given = readText(value);
  const name = given === '' ? directoryName : given;
  if (given === '')
    warnings.push({
      message: `has no name, so it has that of its directory: ${quoteOutside(directoryName, 60)}`,
      hint: 'add name: the name of its directory; some agents require it',
    });
  if (isAllowedName(name) && name.length <= MAX_NAME) return name;
  const hint = hintFor(name);
  const usable = name.includes('..') ? '' : toAllowedName(name);
  const message = `name "${quoteOutside(name, 60)}" is not allowed`;
  if (usable === '' || usable.length > MAX_NAME) errors.push({ message, hint });
  else warnings.push({ message: `${message}, using "${usable}"`, hint });
  return usable;
}

function toAllowedName(name: string): string {
  return name
    .replace(/ *[^\p{L}\p{N} ._:-]+ */gu, '-')
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .replace(/-+$/, '');
}

function hintFor(name: string): string {
  if (name.length > MAX_NAME) return `use at most ${MAX_NAME} characters`;
  const odd = /[^\p{L}\p{N} ._:-]/u.exec(name)?.[0];
  if (odd === undefined) return 'start with a letter or digit';
  return /[\p{P}\p{S}]/u.test(odd)
    ? `leave out "${odd}"; use letters, digits and hyphens`
    : 'use letters, digits and hyphens';
}

export function readText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
}
