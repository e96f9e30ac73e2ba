// Selectors: patterns for tools and their arguments (SEL-1).

import { compileGlob, type Glob } from './glob.js';
import { type PatternContext, selectorError } from './glob-syntax.js';
import { isLabel } from './label.js';
import { type Condition, SELECTOR_TERMS } from './selector-terms.js';
import { nearest, spellOut } from './text.js';

/** A parsed selector. */
export interface Selector {
  /** As it was written. */
  readonly text: string;
  /** What the glob is matched against. */
  readonly over: 'name' | 'tag';
  /** Matches built-in tools only (SEL-4). */
  readonly builtin: boolean;
  /** What the name or tag must match. */
  readonly glob: Glob;
  /** All of them must match (SEL-2). */
  readonly arguments: readonly ArgumentPattern[];
  /** Patterns of tags or labels that it must have besides, written as `#tag` in parentheses. */
  readonly tags: readonly Glob[];
  /** Conditions of the moment; all of them must hold. */
  readonly conditions: readonly Condition[];
  /** Labels of `$after=…`: all of them must have entered the session (FLW-4). */
  readonly after: readonly string[];
  /** The value of `$policy=…`; `deny` for `$deny` (SEL-3). */
  readonly policy: SelectorPolicy | undefined;
  /** Written as `$deny`: applies regardless of the order of rules (POL-3). */
  readonly denies: boolean;
}

/** A pattern for one argument of a call. */
export interface ArgumentPattern {
  /** The name of the argument. */
  readonly key: string;
  /** What its value must match. */
  readonly glob: Glob;
}

/** What a selector decides about a call. */
export type SelectorPolicy = 'allow' | 'ask' | 'deny';

const POLICIES: readonly string[] = ['allow', 'ask', 'deny'];

/**
 * Parses a list of selectors: text separated by white space, or several such texts. Throws `invalid_definition` with
 * the column; of several texts, `data.entry` is the number of the text, counted from 1.
 */
export function parseSelectors(source: string | readonly string[]): readonly Selector[] {
  const texts = typeof source === 'string' ? [source] : source;
  const numbered = typeof source !== 'string' && source.length > 1;
  return texts.flatMap((text, index) => parseList({ text, offset: 0, entry: numbered ? index + 1 : undefined }));
}

/** Whether a selector has what only rules can have: a policy, or a condition of the moment. */
export function isForRules({ policy, conditions, after }: Selector): boolean {
  return policy !== undefined || conditions.length > 0 || after.length > 0;
}

function parseList(context: PatternContext): Selector[] {
  const { text } = context;
  const selectors: Selector[] = [];
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const [selector, end] = parseSelector(context, at);
    selectors.push(selector);
    at = end;
  }
  return selectors;
}

function parseSelector(context: PatternContext, start: number): [Selector, number] {
  const { text } = context;
  const mark = text[start] === '#' || text[start] === '$' ? text[start] : '';
  const begin = start + mark.length;
  const end = findStop(text, begin, /[\s()]/);
  const pattern = text.slice(begin, end);
  if (text[end] === ')') {
    throw selectorError(context, end, 'a ")" without its "("', 'remove it, or write \\) for the character');
  }
  if (pattern === '') throw emptyPattern(context, start);
  rejectMisplaced(context, start, mark, pattern);
  rejectUnmatchable(context, begin, mark, pattern);
  const glob = compileGlob(pattern, { ...context, offset: begin });
  const [specifier, stop] = text[end] === '(' ? parseSpecifier(context, end) : [NOTHING_SPECIFIED, end];
  if (stop < text.length && !/\s/.test(text[stop]!)) {
    throw selectorError(context, stop, 'text after a specifier', 'put a space between two selectors');
  }
  const selector = Object.freeze({
    text: text.slice(start, stop),
    over: mark === '#' ? ('tag' as const) : ('name' as const),
    builtin: mark === '$',
    glob,
    ...specifier,
  });
  return [selector, stop];
}

// Rejects patterns that could never match and are probably mistakes.
function rejectMisplaced(context: PatternContext, start: number, mark: string, pattern: string): void {
  if (mark === '$' && /^(?:deny$|policy=)/.test(pattern)) {
    const hint = `put the directive in the parentheses of a selector: name($${pattern})`;
    throw selectorError(context, start, `the directive "$${pattern}" without a selector`, hint);
  }
  if (mark !== '' && /^[#$]/.test(pattern)) {
    const hint = 'write #tag for a tag, or $name for a built-in tool';
    throw selectorError(context, start, `"${mark}${pattern[0]}"`, hint);
  }
}

// Characters that no name of a tool begins with, and that no name contains. The others are glob syntax.
const NEVER_FIRST = /["-)+-/:->@^`|~]/;
const NEVER = /["#$&';<=>^`|]/;

// Rejects what would silently match nothing: `x（$deny）`, `/x/($deny)`, `-x`, `x=deny`, `#Slow` (SEL-3).
function rejectUnmatchable(context: PatternContext, begin: number, mark: string, pattern: string): void {
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    if (character === '\\') at++;
    else if (character === '[') at = endOfClass(pattern, at);
    else if ((at === 0 && NEVER_FIRST.test(character)) || NEVER.test(character) || isLookalike(character)) {
      const shown = spellOut(character);
      const hint = `tools have names such as read_file; directives are in parentheses: name($deny); write \\${shown} for the character itself`;
      throw selectorError(context, begin + at, `an unexpected "${shown}"`, hint);
    } else if (mark === '#' && /[A-Z_]/.test(character)) {
      const hint = `tags are lower case, with dashes: #${pattern.toLowerCase().replaceAll('_', '-')}`;
      throw selectorError(context, begin + at, `an unexpected "${character}" in a tag`, hint);
    }
  }
}

// Punctuation, symbols and invisible characters that look like those of a selector or like nothing: （ “ − and others.
// Also letters and digits in another width.
function isLookalike(character: string): boolean {
  if (character <= '\x7f') return false;
  return /[\p{P}\p{S}\p{Cc}\p{Cf}\p{Z}]/u.test(character) || /^[\x00-\x7f]+$/.test(character.normalize('NFKC'));
}

type Specifier = Pick<Selector, 'arguments' | 'tags' | 'conditions' | 'after' | 'policy' | 'denies'>;

const NOTHING_SPECIFIED: Specifier = {
  arguments: [],
  tags: [],
  conditions: [],
  after: [],
  policy: undefined,
  denies: false,
};

function parseSpecifier(context: PatternContext, open: number): [Specifier, number] {
  const { text } = context;
  const patterns: ArgumentPattern[] = [];
  const tags: Glob[] = [];
  const after: string[] = [];
  const conditions: Condition[] = [];
  let policy: SelectorPolicy | undefined;
  let denies = false;
  let end = open;
  do {
    const start = skipSpace(text, end + 1);
    end = findStop(text, start, /[,()]/, true);
    if (end >= text.length) {
      const hint = 'close it with ), and close every [ and { inside it';
      throw selectorError(context, open, 'an unclosed specifier', hint);
    }
    if (text[end] === '(') {
      throw selectorError(context, end, 'a "(" inside a specifier', 'write \\( and \\) for the characters');
    }
    const part = trimEnd(text.slice(start, end));
    if (part === '') {
      throw selectorError(context, start, 'an empty specifier', 'write key=value or $deny, or leave it out');
    }
    const condition = parseTerm(context, start, part);
    if (condition !== undefined) conditions.push(condition);
    else if (part.startsWith('#')) tags.push(parseTag(context, start, part));
    else if (AFTER.test(part)) after.push(...parseAfter(context, start, part));
    else if (!part.startsWith('$')) patterns.push(parseArgument(context, start, part));
    else if (policy === undefined) {
      policy = parseDirective(context, start, part);
      denies = part === '$deny';
    } else throw selectorError(context, start, 'a second directive', 'keep one of them');
  } while (text[end] === ',');
  if (after.length > 0 && policy === 'allow') {
    const hint = 'what a session has read only restricts: write $policy=ask, $policy=deny or $deny';
    throw selectorError(context, open, '$after in a rule that allows', hint);
  }
  return [{ arguments: patterns, tags, conditions, after, policy, denies }, end + 1];
}

function parseTag(context: PatternContext, start: number, part: string): Glob {
  const pattern = part.slice(1);
  if (pattern === '') throw emptyPattern(context, start);
  rejectMisplaced(context, start, '#', pattern);
  rejectUnmatchable(context, start + 1, '#', pattern);
  return compileGlob(pattern, { ...context, offset: start + 1 });
}

const AFTER = /^\$after\s*=/;

function parseAfter(context: PatternContext, start: number, part: string): readonly string[] {
  const labels = part
    .slice(part.indexOf('=') + 1)
    .split('+')
    .map((label) => label.trim());
  if (labels.every(isLabel)) return labels;
  throw selectorError(
    context,
    start,
    'an invalid $after',
    'write $after=LABEL, or $after=LABEL+LABEL if all are needed',
  );
}

function parseArgument(context: PatternContext, start: number, part: string): ArgumentPattern {
  const equals = part.indexOf('=');
  const key = part.slice(0, Math.max(equals, 0)).trim();
  if (key === '') {
    throw selectorError(
      context,
      start,
      'a specifier without "key=value"',
      'name the argument, as in command=git*, or write $deny',
    );
  }
  if (key.normalize('NFKC').startsWith('$') || /(?<!\\)[$＄](?:deny|policy)/i.test(part.slice(equals + 1))) {
    const hint = 'separate a directive by an ASCII comma, as in path=/etc/*,$deny, or write \\$ for the character';
    throw selectorError(context, start, 'a directive inside "key=value"', hint);
  }
  const value = skipSpace(part, equals + 1);
  const glob = compileGlob(part.slice(value), { ...context, offset: start + value, isValue: true });
  return Object.freeze({ key, glob });
}

// Returns undefined if the part is not a term.
function parseTerm(context: PatternContext, start: number, part: string): Condition | undefined {
  const [name, ...values] = part.split('=');
  const term = SELECTOR_TERMS.find((one) => one.name === name!.trim());
  try {
    return term?.parse(values.join('=').trim());
  } catch (error) {
    throw selectorError(context, start, `an invalid ${term!.name}`, (error as Error).message);
  }
}

function parseDirective(context: PatternContext, start: number, part: string): SelectorPolicy {
  const [name, value = '', ...rest] = part.split('=').map((piece) => piece.trim());
  if (name === '$deny' && !part.includes('=')) return 'deny';
  if (name === '$policy' && rest.length === 0 && POLICIES.includes(value)) return value as SelectorPolicy;
  const terms = SELECTOR_TERMS.map((term) => `${term.name}=…`);
  const directives = ['$deny', ...POLICIES.map((policy) => `$policy=${policy}`), '$after=…', ...terms];
  const near = nearest(part, directives)[0];
  const known = `known directives: ${directives.join(', ')}`;
  throw selectorError(
    context,
    start,
    `an unknown directive "${part}"`,
    near === undefined ? known : `did you mean ${near}? ${known}`,
  );
}

/** The error of a selector without a pattern. */
export function emptyPattern(context: PatternContext, at: number): Error {
  return selectorError(context, at, 'an empty pattern', 'write * to match everything');
}

// Returns the index of the first stop outside brackets, escapes and, within a specifier, braces.
function findStop(text: string, from: number, stop: RegExp, braces = false): number {
  let depth = 0;
  let at = from;
  for (; at < text.length; at++) {
    const character = text[at]!;
    if (character === '\\') at++;
    else if (character === '[') at = endOfClass(text, at);
    else if (braces && character === '{') depth++;
    else if (braces && character === '}') depth = Math.max(0, depth - 1);
    else if (stop.test(character) && !(depth > 0 && character === ',')) return at;
  }
  return text.length;
}

// Returns the index of the closing bracket of a class, or of its start if unclosed; the glob parser reports that.
function endOfClass(text: string, open: number): number {
  const first = /[!^]/.test(text.charAt(open + 1)) ? open + 2 : open + 1;
  for (let at = first; at < text.length; at++) {
    const named = text.startsWith('[:', at) ? text.indexOf(':]', at) : -1;
    if (named > at) at = named + 1;
    else if (text[at] === '\\') at++;
    else if (text[at] === ']' && at > first) return at;
  }
  return open;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text[at]!)) at++;
  return at;
}

// Trims white space at the end, except an escaped space.
function trimEnd(text: string): string {
  const trimmed = text.trimEnd();
  const backslashes = /\\*$/.exec(trimmed)![0].length;
  return backslashes % 2 === 1 && trimmed.length < text.length ? text.slice(0, trimmed.length + 1) : trimmed;
}
