// Path tokens in texts: finds `{{self}}`, `{{tools:…}}`, `{{path:…}}` and `{{ns:…}}`, and puts values in their place.

export type TokenHead = 'self' | 'tools' | 'path' | 'ns';

export interface Token {
  readonly head: TokenHead;
  /** What stands after the colon, without white space around it. */
  readonly ref: string;
  /** As it stands in the text. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

// Bounded, and without braces inside: each character is looked at a bounded number of times (TOK-9). Three braces are
// another language's.
const BRACES = /(?<!\{)\{\{([^{}\n]{1,300})\}\}(?!\})/g;
const TOKEN = /^\s*(?:(self)|(tools|path|ns)\s*:(.*))\s*$/s;

/** The tokens of a text, in order. Anything else between braces is not ours (TOK-3). */
export function findTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(BRACES)) {
    const inner = TOKEN.exec(match[1]!);
    if (inner === null) continue;
    tokens.push({
      head: (inner[1] ?? inner[2]) as TokenHead,
      ref: (inner[3] ?? '').trim(),
      text: match[0],
      start: match.index,
      end: match.index + match[0].length,
    });
  }
  return tokens;
}

/** The text with a value in the place of each token. */
export function replaceTokens(
  text: string,
  tokens: readonly Token[],
  render: (token: Token) => string,
): string {
  const parts: string[] = [];
  let at = 0;
  for (const token of tokens) {
    parts.push(text.slice(at, token.start), render(token));
    at = token.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}

/** The line that a place in a text stands on. */
export function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < place; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
