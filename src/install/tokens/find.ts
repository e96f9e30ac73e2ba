// Finds path tokens in a text: `{{self}}`, `{{tools:…}}`, `{{path:…}}` and `{{ns:…}}`.

export type TokenHead = 'self' | 'tools' | 'path' | 'ns' | 'root' | 'data';

export interface Token {
  readonly head: TokenHead;
  /** The part after the colon, trimmed. */
  readonly ref: string;
  /** The whole token as written. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

// Bounded length and no nested braces keep matching linear (TOK-9). Triple braces belong to other template languages.
const BRACES = /(?<!\{)\{\{([^{}\n]{1,300})\}\}(?!\})/g;
const TOKEN = /^\s*(?:(self)|(tools|path|ns)\s*:(.*))\s*$/s;

/** Returns the tokens in order; other text in braces is ignored (TOK-3). */
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

const PLUGIN_TOKEN = /\$\{(?:CLAUDE_)?PLUGIN_(ROOT|DATA)\}/g;

/** Returns the tokens of a plugin, such as `${CLAUDE_PLUGIN_ROOT}`; it has no others (INS-63). */
export function findPluginTokens(text: string): Token[] {
  return [...text.matchAll(PLUGIN_TOKEN)].map((match) => ({
    head: match[1] === 'ROOT' ? 'root' : 'data',
    ref: '',
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** Replaces each token with its rendered value. */
export function replaceTokens(text: string, tokens: readonly Token[], render: (token: Token) => string): string {
  const parts: string[] = [];
  let at = 0;
  for (const token of tokens) {
    parts.push(text.slice(at, token.start), render(token));
    at = token.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}
