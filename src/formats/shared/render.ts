// Renders the text of a skill: replaces placeholders by arguments and references by names.

import { type Json, showValue } from '../../core/json.js';
import type { Referent, TextReference } from '../../core/skill.js';

export interface RenderOptions {
  /** Declared parameters with their values; undefined if not given. */
  readonly values?: ReadonlyMap<string, Json | undefined>;
  /** Resolves a reference; undefined leaves the text unchanged (SKL-5). */
  readonly refer?: (reference: TextReference) => Referent | undefined;
}

// Placeholder, inline reference, opening line of a block, closing line of a block.
const MARKS =
  /\{\{[ \t]*args\.([^\s{}]{1,128})[ \t]*\}\}|(?<![\\\w:]):(tool|skill)\[([^[\]\r\n]{1,200})\]|^[ ]{0,3}:::([\w-]+)(?:\{([^{}\r\n]{0,300})\})?[^\r\n]*(?=\r?$)|^[ ]{0,3}:::[ \t]*\r?$\n?/gm;

const ATTRIBUTE = /(?:^|\s)ref=(?:"([^"]*)"|'([^']*)'|([^\s"']+))/;

interface Mark {
  readonly at: number;
  readonly text: string;
  readonly parameter?: string;
  readonly reference?: TextReference;
  readonly block?: 'open' | 'close';
}

/**
 * Replaces each `{{args.name}}` of a declared parameter by its value, also in code, and each `:tool[ref]`, `:skill[ref]`,
 * `:::tool{ref="…"}` and `:::skill{ref="…"}` outside of code by a name and a line. Replacements are not rendered again.
 */
export function renderText(text: string, { values, refer }: RenderOptions): string {
  let rendered = '';
  let done = 0;
  // Open blocks; true if the opening line was replaced, so that the closing line is removed.
  const blocks: boolean[] = [];
  const replace = (mark: Mark): string | undefined => {
    if (mark.parameter !== undefined) {
      return values?.has(mark.parameter) ? valueText(values.get(mark.parameter)) : undefined;
    }
    if (mark.block === 'close') return blocks.pop() === true ? '' : undefined;
    const referent = mark.reference && refer?.(mark.reference);
    if (mark.block === 'open') blocks.push(referent !== undefined);
    if (referent === undefined) return undefined;
    return mark.block === 'open' ? `\`${referent.name}\`: ${referent.line}` : `\`${referent.name}\` (${referent.line})`;
  };
  for (const mark of findMarks(text)) {
    const instead = replace(mark);
    if (instead === undefined) continue;
    rendered += text.slice(done, mark.at) + instead;
    done = mark.at + mark.text.length;
  }
  return rendered + text.slice(done);
}

/** Returns the references of a text in order, without duplicates. */
export function findReferences(text: string): TextReference[] {
  const found = new Map<string, TextReference>();
  for (const { reference } of findMarks(text)) {
    if (reference) found.set(`${reference.kind} ${reference.ref}`, reference);
  }
  return [...found.values()];
}

function findMarks(text: string): Mark[] {
  const marks: Mark[] = [];
  let code: ReturnType<typeof findCode> | undefined;
  let range = 0;
  for (const match of text.matchAll(MARKS)) {
    const { 0: whole, index: at } = match;
    const [, parameter, inline, ref, block, attributes] = match;
    if (parameter !== undefined) {
      marks.push({ at, text: whole, parameter });
      continue;
    }
    code ??= findCode(text);
    while (range < code.length && code[range]![1] <= at) range++;
    if (range < code.length && code[range]![0] <= at) continue;
    if (inline !== undefined) {
      marks.push({ at, text: whole, reference: { kind: inline === 'tool' ? 'tool' : 'skill', ref: ref!.trim() } });
    } else if (block === undefined) marks.push({ at, text: whole, block: 'close' });
    else if ((block === 'tool' || block === 'skill') && attributes !== undefined) {
      const found = ATTRIBUTE.exec(attributes);
      const named = (found?.[1] ?? found?.[2] ?? found?.[3] ?? attributes).trim();
      marks.push({ at, text: whole, block: 'open', reference: { kind: block, ref: named } });
    } else marks.push({ at, text: whole, block: 'open' });
  }
  return marks;
}

function valueText(value: Json | undefined): string {
  return value === undefined ? '' : showValue(value);
}

/** Range of characters; the end is exclusive. */
type Range = readonly [start: number, end: number];

const FENCE = /^[ \t>]*(`{3,}|~{3,})(.*)$/;

/** Returns the code ranges of a text in order. An unclosed fence extends to the end. */
function findCode(text: string): Range[] {
  const ranges: Range[] = [];
  let fence: { mark: string; start: number } | undefined;
  let paragraph = 0;
  let at = 0;
  while (at <= text.length) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(at, end).replace(/\r$/, '');
    const match = FENCE.exec(line);
    if (fence !== undefined) {
      if (match !== null && closes(fence.mark, match[1]!, match[2]!)) {
        ranges.push([fence.start, end]);
        fence = undefined;
        paragraph = end;
      }
    } else if (match !== null && !(match[1]![0] === '`' && match[2]!.includes('`'))) {
      addSpans(text, paragraph, at, ranges);
      fence = { mark: match[1]!, start: at };
    } else if (line.trim() === '') {
      // A code span does not cross an empty line.
      addSpans(text, paragraph, at, ranges);
      paragraph = end;
    }
    at = end + 1;
  }
  if (fence === undefined) addSpans(text, paragraph, text.length, ranges);
  else ranges.push([fence.start, text.length]);
  return ranges;
}

function closes(open: string, mark: string, rest: string): boolean {
  return mark[0] === open[0] && mark.length >= open.length && rest.trim() === '';
}

// A span extends from a run of backticks to the next run of the same length; an unmatched run is text.
function addSpans(text: string, from: number, to: number, ranges: Range[]): void {
  const runs = [...text.slice(from, to).matchAll(/`+/g)].map(({ 0: run, index }) => ({
    at: from + index,
    length: run.length,
  }));
  const next = new Map<number, number>();
  const partner: (number | undefined)[] = [];
  for (let index = runs.length - 1; index >= 0; index--) {
    partner[index] = next.get(runs[index]!.length);
    next.set(runs[index]!.length, index);
  }
  for (let index = 0; index < runs.length; index++) {
    const other = partner[index];
    if (other === undefined) continue;
    ranges.push([runs[index]!.at, runs[other]!.at + runs[other]!.length]);
    index = other;
  }
}
