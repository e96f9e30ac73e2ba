// Adds entries to an array of strings in a TOML file, where its comments and other lines stay as they are.

import type { KeyPath } from './form.js';
import { findHeaders, stringAt } from './toml.js';

/** A line to add: the text of a value, and a comment after it. */
export interface AddedLine {
  readonly value: string;
  readonly comment: string;
}

/** Lines to add before the element at this position; that after the last one is the number of elements. */
export type Additions = ReadonlyMap<number, readonly AddedLine[]>;

/**
 * Returns the text with the lines in the array of a key of a table, which is created if the table has none. Undefined if there is
 * no such table, or the value is neither a string nor an array of strings: then nothing can be added in place.
 */
export function addToArray(text: string, table: KeyPath, key: string, additions: Additions): string | undefined {
  const eol = /\r?\n/.exec(text)?.[0] ?? '\n';
  const headers = findHeaders(text);
  const at = headers.findIndex(({ keys }) => keys.join('\0') === table.join('\0'));
  if (at === -1) return undefined;
  const start = headers[at]!.offset;
  const end = headers[at + 1]?.offset ?? text.length;
  const assignment = new RegExp(`^[ \\t]*(?:${key}|"${key}"|'${key}')[ \\t]*=[ \\t]*`, 'm').exec(
    text.slice(start, end),
  );
  if (assignment === null) {
    const lines = [...additions.values()].flat().map(print);
    const line = /^[^\n]*/.exec(text.slice(start))![0].replace(/\r$/, '');
    const block = [`${key} = [`, ...lines.map((one) => `  ${one}`), ']'].join(eol);
    return `${text.slice(0, start + line.length)}${eol}${block}${text.slice(start + line.length)}`;
  }
  const from = start + assignment.index + assignment[0].length;
  const single = text[from] === '[' ? undefined : stringAt(text, from);
  if (single !== undefined) {
    const whole = `${text.slice(0, from)}[${single}]${text.slice(from + single.length)}`;
    return addToArray(whole, table, key, additions);
  }
  const array = text[from] === '[' ? findElements(text, from) : undefined;
  if (array === undefined) return undefined;
  const { elements, close } = array;
  if (!text.slice(from, close).includes('\n')) {
    const own = elements.map(({ start: first, end: last }) => ({ value: text.slice(first, last), comment: '' }));
    const lines = [...own, undefined].flatMap((line, index) => [
      ...(additions.get(index) ?? []),
      ...(line ? [line] : []),
    ]);
    return `${text.slice(0, from)}[${eol}${lines.map((line) => `  ${print(line)}${eol}`).join('')}${text.slice(close)}`;
  }
  const edits: { readonly at: number; readonly text: string }[] = [];
  for (const [index, lines] of additions) {
    const before = elements[index - 1];
    const place = before === undefined ? from + 1 : (before.comma ?? before.end);
    const comment = /^[ \t]*(?:#[^\n]*)?(?=\r?\n|$)/.exec(text.slice(place))?.[0] ?? '';
    const rest = /^[^\n]*/.exec(text.slice(place + comment.length))![0].trim();
    const added = lines.map((line) => `${eol}  ${print(line)}`).join('');
    edits.push({ at: place + comment.length, text: rest === '' ? added : `${added}${eol}  ` });
    // After the last element, which may have none.
    if (before !== undefined && before.comma === undefined) edits.push({ at: before.end, text: ',' });
  }
  return edits
    .toSorted((a, b) => b.at - a.at)
    .reduce((edited, edit) => edited.slice(0, edit.at) + edit.text + edited.slice(edit.at), text);
}

function print({ value, comment }: AddedLine): string {
  return `${value},${comment === '' ? '' : ` # ${comment}`}`;
}

interface Element {
  readonly start: number;
  readonly end: number;
  /** After the comma. */
  comma: number | undefined;
}

// Undefined if it has others than strings.
function findElements(text: string, open: number): { elements: Element[]; close: number } | undefined {
  const elements: Element[] = [];
  for (let at = open + 1; at < text.length; ) {
    const character = text[at]!;
    if (character === ']') return { elements, close: at };
    if (character === '#') at += /^[^\n]*/.exec(text.slice(at))![0].length;
    else if (character === ',') {
      const last = elements.at(-1);
      if (last === undefined) return undefined;
      at++;
      last.comma = at;
    } else if (/\s/.test(character)) at++;
    else {
      const string = stringAt(text, at);
      if (string === undefined) return undefined;
      elements.push({ start: at, end: at + string.length, comma: undefined });
      at += string.length;
    }
  }
  return undefined;
}
