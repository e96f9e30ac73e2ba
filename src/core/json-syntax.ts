// Finds what is wrong in JSON text, and where.

export interface SyntaxFault {
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

const BLANK = /[ \t\r\n]*/y;
// No regular expression spans a text: a long one would overflow the engine's stack.
const SPECIAL = /["\\\u0000-\u001f]|$/g;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const CLOSING: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** Returns where and why text is not JSON, independent of the messages of an engine. Text that is gets the fault "expected the end". */
export function findSyntaxFault(text: string): SyntaxFault {
  const { offset, problem } = scan(text);
  return { ...positionOf(text, offset), problem };
}

/** Returns the line and column of an offset, counted from 1. */
export function positionOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  let column = 1;
  for (const _ of before.slice(before.lastIndexOf('\n') + 1)) column++;
  return { line: before.split('\n').length, column };
}

// Without recursion: the text may be nested very deeply.
function scan(text: string): { readonly offset: number; readonly problem: string } {
  const open: string[] = [];
  let at = 0;
  let expects: 'value' | 'key' | 'after' = 'value';
  // A closing bracket is valid here: nothing was read since the opening one.
  let isEmpty = false;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found !== null;
  };
  const fault = (wanted: string) => ({ offset: at, problem: `expected ${wanted}, found ${describe(text, at)}` });
  for (;;) {
    skip(BLANK);
    const character = text.charAt(at);
    const inner = open[open.length - 1];
    if (inner !== undefined && character === CLOSING[inner] && (expects === 'after' || isEmpty)) {
      open.pop();
      at++;
      expects = 'after';
      isEmpty = false;
    } else if (expects === 'after') {
      if (inner === undefined) return fault('the end');
      if (character !== ',') return fault(`"," or "${CLOSING[inner]}"`);
      at++;
      expects = inner === '{' ? 'key' : 'value';
    } else if (character === '"') {
      at++;
      do {
        SPECIAL.lastIndex = at;
        at = SPECIAL.exec(text)!.index;
      } while (skip(ESCAPE));
      if (text.charAt(at) !== '"') return { offset: at, problem: describeText(text, at) };
      at++;
      isEmpty = false;
      if (expects === 'value') expects = 'after';
      else {
        skip(BLANK);
        if (text.charAt(at) !== ':') return fault('":"');
        at++;
        expects = 'value';
      }
    } else if (expects === 'key') return fault(isEmpty ? 'a quoted key or "}"' : 'a quoted key');
    else if (character === '{' || character === '[') {
      open.push(character);
      at++;
      isEmpty = true;
      expects = character === '{' ? 'key' : 'value';
    } else if (skip(SCALAR)) {
      expects = 'after';
      isEmpty = false;
    } else return fault('a value');
  }
}

function describe(text: string, at: number): string {
  const point = text.codePointAt(at);
  if (point === undefined) return 'the end';
  const character = String.fromCodePoint(point);
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(character)
    ? `"${character}"`
    : `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}

function describeText(text: string, at: number): string {
  const character = text.charAt(at);
  if (character === '') return 'a quote is never closed';
  return character === '\\' ? 'invalid escape in a text' : 'a line break or control character in a text';
}
