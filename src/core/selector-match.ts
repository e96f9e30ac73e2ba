// Matches selectors against tools and the arguments of calls (SEL-2).

import type { Glob, MatchBudget } from './glob.js';
import { selectorError } from './glob-syntax.js';
import { canonicalJson, isRecord, type Json } from './json.js';
import { emptyPattern, isForRules, parseSelectors, type Selector } from './selector.js';
import type { Moment } from './selector-terms.js';

/** The properties of a tool that selectors match. */
export interface SelectedTool {
  /** The name of the tool. */
  readonly name: string;
  /** Its tags. */
  readonly tags?: readonly string[];
  /** Whether it is part of wield. */
  readonly builtin?: boolean;
  /** Other names that match too. */
  readonly otherNames?: readonly string[];
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
  if (!matchSelectorTool(selector, tool, matching) || !isDue(selector, matching.moment)) return false;
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
export interface Matching extends MatchBudget {
  readonly moment: Moment | undefined;
  readonly loose: Map<unknown, readonly string[]>;
  readonly strict: Map<unknown, readonly string[]>;
}

// About a tenth of a second, however many rules there are.
const DECISION_STEPS = 20_000_000;

export function createMatching(moment?: Moment): Matching {
  return { moment, steps: DECISION_STEPS, loose: new Map(), strict: new Map() };
}

/** Whether the conditions of a selector hold; of an unknown moment, only those of a rule that restricts. */
export function isDue(selector: Selector, moment: Moment | undefined): boolean {
  const { conditions, after } = selector;
  if (conditions.length === 0 && after.length === 0) return true;
  if (moment === undefined) return isRestricting(selector);
  return conditions.every((holds) => holds(moment)) && after.every((label) => moment.labels?.includes(label) === true);
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
  const { builtin, over, glob, tags } = selector;
  if (builtin && tool.builtin !== true) return false;
  const undecided = budget !== undefined && isRestricting(selector);
  const hasTag = (tag: Glob): boolean => (tool.tags ?? []).some((text) => tag.matches(text, undecided, budget));
  if (!tags.every(hasTag)) return false;
  const matches = (text: string): boolean => glob.matches(text, undecided, budget);
  if (over === 'name') return matches(tool.name) || tool.otherNames?.some(matches) === true;
  return hasTag(glob);
}

/** Whether a single pattern matches: a glob for the name, or `#` and a glob for tags (SEL-5). */
export function matchPattern(pattern: string, name: string, tags: readonly string[] = []): boolean {
  const context = { text: pattern, offset: 0 };
  const [selector, second] = parseSelectors(pattern);
  if (selector === undefined) throw emptyPattern(context, 0);
  const specified = selector.arguments.length + selector.tags.length > 0 || isForRules(selector);
  if (second !== undefined || selector.builtin || specified) {
    const hint = 'use parseSelectors and matchSelector for lists, specifiers and built-in tools';
    const what = second !== undefined ? 'more than one pattern' : specified ? 'a specifier' : 'a built-in tool';
    throw selectorError(context, 0, `${what} instead of a plain pattern`, hint);
  }
  return matchSelector(selector, { name, tags });
}
