// Selectors: parses and matches patterns for tools and their arguments (SEL-1).

import { compileGlob, type Glob, type MatchBudget } from './glob.js';
import { type PatternContext, selectorError } from './glob-syntax.js';
import { canonicalJson, isRecord, type Json } from './json.js';
import { type Condition, type Moment, SELECTOR_TERMS } from './selector-terms.js';
import { nearest } from './text.js';

export interface Selector {
  /** As it was written. */
  readonly text: string;
  /** What the glob is matched against. */
  readonly over: 'name' | 'tag';
  /** Matches built-in tools only (SEL-4). */
  readonly builtin: boolean;
  readonly glob: Glob;
  /** All of them must match (SEL-2). */
  readonly arguments: readonly ArgumentPattern[];
  /** Conditions of the moment; all of them must hold. */
  readonly conditions: readonly Condition[];
  /** The value of `$policy=…`; `deny` for `$deny` (SEL-3). */
  readonly policy: SelectorPolicy | undefined;
  /** Written as `$deny`: applies regardless of the order of rules (POL-3). */
  readonly denies: boolean;
}

export interface ArgumentPattern {
  readonly key: string;
  readonly glob: Glob;
}

export type SelectorPolicy = 'allow' | 'ask' | 'deny';

/** The properties of a tool that selectors match. */
export interface SelectedTool {
  readonly name: string;
  readonly tags?: readonly string[];
  readonly builtin?: boolean;
  /** Other names that match too. */
  readonly otherNames?: readonly string[];
}

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

/**
 * Whether a selector matches a tool and, if it has argument patterns, a call with this input. With `any`, one text of an
 * argument must match: its string form, or any text, key or scalar in it. With `every`, all texts and scalars in it must,
 * so that a list is not allowed because of one entry. Default: `every` for `$policy=allow`, else `any` (SEL-2).
 */
export function matchSelector(
  selector: Selector,
  tool: SelectedTool,
  input?: unknown,
  quantifier: 'any' | 'every' = selector.policy === 'allow' ? 'every' : 'any',
  matching: Matching = createMatching(),
): boolean {
  if (!matchSelectorTool(selector, tool, matching) || !isDue(selector, matching)) return false;
  const undecided = isRestricting(selector);
  return selector.arguments.every(({ key, glob }) => {
    const value = isRecord(input) && Object.hasOwn(input, key) ? input[key] : undefined;
    if (value === undefined) return false;
    return quantifier === 'any'
      ? textsOf(value, true, matching).some((text) => glob.matches(text, undecided, matching))
      : matchesEvery(glob, textsOf(value, false, matching), matching);
  });
}

/** What the matches of one decision share: the moment, their budget, and the texts of each value. */
export interface Matching extends MatchBudget, Partial<Moment> {
  readonly loose: Map<unknown, readonly string[]>;
  readonly strict: Map<unknown, readonly string[]>;
}

// About a tenth of a second, however many rules there are.
const DECISION_STEPS = 5_000_000;

export function createMatching(now?: number): Matching {
  return { now, steps: DECISION_STEPS, loose: new Map(), strict: new Map() };
}

/** Whether the conditions of a selector hold; of an unknown moment, only those of a rule that restricts. */
export function isDue(selector: Selector, { now }: Partial<Moment>): boolean {
  return selector.conditions.every((holds) => (now === undefined ? isRestricting(selector) : holds({ now })));
}

/** Whether a selector has what only rules can have: a policy, or a condition of the moment. */
export function isForRules({ policy, conditions }: Selector): boolean {
  return policy !== undefined || conditions.length > 0;
}

// What cannot be decided is denied: a rule that restricts matches, one that allows does not.
function isRestricting(selector: Selector): boolean {
  return selector.policy === 'deny' || selector.policy === 'ask';
}

function matchesEvery(glob: Glob, texts: readonly string[], budget: MatchBudget): boolean {
  return texts.length > 0 && texts.every((text) => glob.matches(text, false, budget));
}

function textsOf(value: unknown, withKeys: boolean, { loose, strict }: Matching): readonly string[] {
  const known = withKeys ? loose : strict;
  let texts = known.get(value);
  if (texts === undefined) {
    texts = withKeys ? [formOf(value), ...textsIn(value, true)] : textsIn(value, false);
    known.set(value, texts);
  }
  return texts;
}

function formOf(value: unknown): string {
  return typeof value === 'string' ? value : canonicalJson(value as Json);
}

// Returns the texts and scalars of a value at any depth, paths also without `.`, `..` and empty segments. A relative path
// that allows a call is matched as it was written.
function textsIn(value: unknown, withKeys: boolean): string[] {
  if (typeof value === 'string') {
    const path = value.startsWith('/') || (withKeys && DETOUR.test(value)) ? normalizePath(value) : value;
    return path === value ? [value] : [value, path];
  }
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.entries(value).flatMap(([key, child]) => [
    ...(withKeys && !Array.isArray(value) ? [key] : []),
    ...textsIn(child, withKeys),
  ]);
}

const DETOUR = /(?:^|\/)\.{0,2}(?:\/|$)/;

function normalizePath(path: string): string {
  const isAbsolute = path.startsWith('/');
  const steps: string[] = [];
  for (const step of path.split('/')) {
    if (step === '..' && (isAbsolute || (steps.length > 0 && steps.at(-1) !== '..'))) steps.pop();
    else if (step !== '' && step !== '.') steps.push(step);
  }
  return `${isAbsolute ? '/' : ''}${steps.join('/')}`;
}

/** Whether a selector matches a tool, regardless of the input and the moment. */
export function matchSelectorTool(selector: Selector, tool: SelectedTool, budget?: MatchBudget): boolean {
  const { builtin, over, glob } = selector;
  if (builtin && tool.builtin !== true) return false;
  const matches = (text: string): boolean =>
    glob.matches(text, budget !== undefined && isRestricting(selector), budget);
  if (over === 'name') return matches(tool.name) || tool.otherNames?.some(matches) === true;
  return (tool.tags ?? []).some(matches);
}

/** Whether a single pattern matches: a glob for the name, or `#` and a glob for tags (SEL-5). */
export function matchPattern(pattern: string, name: string, tags: readonly string[] = []): boolean {
  const context = { text: pattern, offset: 0 };
  const [selector, second] = parseSelectors(pattern);
  if (selector === undefined) throw emptyPattern(context, 0);
  const specified = selector.arguments.length > 0 || isForRules(selector);
  if (second !== undefined || selector.builtin || specified) {
    const hint = 'use parseSelectors and matchSelector for lists, specifiers and built-in tools';
    throw selectorError(context, 0, 'more than one plain pattern', hint);
  }
  return matchSelector(selector, { name, tags });
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
  const specifier = text[end] === '(' ? parseSpecifier(context, end) : undefined;
  const stop = specifier?.end ?? end;
  if (stop < text.length && !/\s/.test(text[stop]!)) {
    throw selectorError(context, stop, 'text after a specifier', 'put a space between two selectors');
  }
  const selector = Object.freeze({
    text: text.slice(start, stop),
    over: mark === '#' ? ('tag' as const) : ('name' as const),
    builtin: mark === '$',
    glob,
    arguments: Object.freeze(specifier?.arguments ?? []),
    conditions: Object.freeze(specifier?.conditions ?? []),
    policy: specifier?.policy,
    denies: specifier?.denies ?? false,
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
      const hint = `tools have names such as read_file; directives are in parentheses: name($deny); write \\${character} for the character itself`;
      throw selectorError(context, begin + at, `an unexpected "${character}"`, hint);
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

interface Specifier {
  readonly arguments: readonly ArgumentPattern[];
  readonly conditions: readonly Condition[];
  readonly policy: SelectorPolicy | undefined;
  readonly denies: boolean;
  readonly end: number;
}

function parseSpecifier(context: PatternContext, open: number): Specifier {
  const { text } = context;
  const patterns: ArgumentPattern[] = [];
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
    else if (!part.startsWith('$')) patterns.push(parseArgument(context, start, part));
    else if (policy === undefined) {
      policy = parseDirective(context, start, part);
      denies = part === '$deny';
    } else throw selectorError(context, start, 'a second directive', 'keep one of them');
  } while (text[end] === ',');
  return { arguments: patterns, conditions, policy, denies, end: end + 1 };
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
  const glob = compileGlob(part.slice(value), { ...context, offset: start + value });
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
  const directives = ['$deny', ...POLICIES.map((policy) => `$policy=${policy}`), ...terms];
  const near = nearest(part, directives)[0];
  const known = `known directives: ${directives.join(', ')}`;
  throw selectorError(
    context,
    start,
    `an unknown directive "${part}"`,
    near === undefined ? known : `did you mean ${near}? ${known}`,
  );
}

function emptyPattern(context: PatternContext, at: number): Error {
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
