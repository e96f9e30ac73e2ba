// Enforces the deny patterns of a declared command: values that a parameter must not have (TJS-26).

import { ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import type { Slot } from '../../core/plan.js';
import { quoteOutside, sanitize } from '../../core/text.js';
import { compilePattern, type Pattern } from '../../schema/pattern.js';
import { Budget, OverBudget } from '../../schema/run.js';
import { splitWords, textsOf, toFault } from './arguments.js';

/** Throws `invalid_input` if the given or the resulting value of a slot matches its deny pattern. */
export function assertNotDenied(given: Json, slots: readonly Slot[]): void {
  const input: JsonObject = isRecord(given) ? (given as JsonObject) : {};
  // One for all values, so that many take no longer than one.
  const budget = new Budget();
  for (const { mapping, value, given: before } of slots) {
    const { deny, param } = mapping;
    if (deny === undefined || deny.always) continue;
    const texts = new Set([input[param], before, value].flatMap((one) => textsOf(one as Json | undefined)));
    for (const text of texts) assertText(deny.pattern, param, text, budget);
  }
}

/** Whether the value to check comes from a command: always, or because the parameter is missing or empty. */
export function needsDenyCommand({ mapping, value }: Slot): boolean {
  const { deny } = mapping;
  if (deny?.resolve === undefined) return false;
  return deny.always || textsOf(value).every((text) => text.trim() === '');
}

// Steps of a budget for the forms of a text, and of each character of it.
const STEPS_OF_TEXT = 50;
const STEPS_OF_CHARACTER = 1 / 4;

/** Throws `invalid_input` if a text matches, in any of the forms in which a program may read it; `too_large` if it takes too long. */
export function assertText(pattern: string, param: string, text: string, budget = new Budget()): void {
  try {
    budget.spend(STEPS_OF_TEXT + text.length * STEPS_OF_CHARACTER);
    const { matches } = compiled(pattern);
    if (![...formsOf(text)].some((form) => matches(form, budget))) return;
  } catch (error) {
    // Fails closed.
    if (error instanceof OverBudget) throw tooMuch(param);
    throw error;
  }
  throw new ToolError('invalid_input', `${param} must not be "${quoteOutside(text, 60)}": the tool denies it`, {
    hint: 'use another value; tools.json lists the denied ones in denyPattern',
    data: toFault(param, `not ${pattern}`, quoteOutside(text)),
  });
}

// The last pattern: the values of a parameter are checked one after the other.
let last: { readonly pattern: string; readonly compiled: Pattern } | undefined;

function compiled(pattern: string): Pattern {
  if (last?.pattern !== pattern) last = { pattern, compiled: compilePattern(pattern) };
  return last.compiled;
}

function tooMuch(param: string): ToolError {
  return new ToolError('too_large', `${param} is too large to be checked against the values that the tool denies`, {
    hint: 'pass fewer and shorter values',
    data: { param },
  });
}

// Many programs ignore blanks, invisible characters and compatibility forms, or read words and lines one by one.
function formsOf(text: string): Set<string> {
  const forms = new Set<string>();
  for (const form of [text, text.normalize('NFKC'), sanitize(text), sanitize(text).normalize('NFKC')]) {
    for (const part of [form, ...splitWords(form)]) {
      forms.add(part);
      forms.add(part.replace(/^["']+|["']+$/g, ''));
    }
    forms.add(form.trim());
  }
  return forms;
}

/** The error for a deny check whose value is not known, so that the command must not run. */
export function denyUnknown(param: string, reason: string): ToolError {
  return new ToolError('unavailable', `not run: could not check ${param} against its denied values: ${reason}`, {
    hint: reason.includes('allow-scripts')
      ? 'set skills.allow-scripts = true if you trust the scripts of this skill'
      : 'fix denyResolveCommand of the tool, or call it with other input',
    data: { param },
  });
}
