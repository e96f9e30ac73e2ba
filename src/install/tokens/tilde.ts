// Finds the tokens of a Markdown file whose path may begin with `~`: those where a shell expands it (TOK-6).

import type { Token } from './targets.js';

const FENCE = /^[\s>]*(?:[-*+]\s|\d+[.)]\s)?\s*(`{3,}|~{3,})([^`]*)$/;
const HERE_DOCUMENT = /(?<!<)<<-?\s*(["']?)([A-Za-z_]\w*)\1/;
const WORD_START = /(?:^|[\s`(;|&])$/;

interface Quoting {
  /** The quotation mark that is open, or ''. */
  readonly quote: string;
  /** Whether a code span of Markdown is open. */
  readonly span: boolean;
}

const NONE: Quoting = { quote: '', span: false };

/** Returns the tokens that begin a word outside quotes and here-documents; in doubt a token is not among them. */
export function findTildeTokens(text: string, tokens: readonly Token[]): ReadonlySet<Token> {
  const found = new Set<Token>();
  let fence = '';
  let end: string | undefined;
  let block = NONE;
  let next = 0;
  let at = 0;
  for (const line of text.split('\n')) {
    const [, mark, info = ''] = FENCE.exec(line) ?? [];
    const closes = fence !== '' && mark?.startsWith(fence) === true && info.trim() === '';
    const opens = fence === '' && mark !== undefined;
    if (opens || closes) fence = opens ? mark : '';
    if (opens || closes || (fence === '' && line.trim() === '')) {
      block = NONE;
      end = undefined;
    }
    // A mark that is not a quotation mark, such as an apostrophe, changes what follows it: both readings must agree.
    let own = NONE;
    let from = at;
    const read = (to: number): void => {
      const piece = text.slice(from, to);
      if (end === undefined) [block, own] = [advance(block, piece, fence !== ''), advance(own, piece, fence !== '')];
      from = to;
    };
    for (; next < tokens.length && tokens[next]!.start <= at + line.length; next++) {
      const token = tokens[next]!;
      read(token.start);
      const isOpen = end !== undefined || block.quote !== '' || own.quote !== '';
      if (!isOpen && WORD_START.test(text.slice(Math.max(at, token.start - 1), token.start))) found.add(token);
      from = token.end;
    }
    read(at + line.length);
    if (end !== undefined) end = line.trim() === end ? undefined : end;
    else end = HERE_DOCUMENT.exec(line)?.[2];
    at += line.length + 1;
  }
  return found;
}

// Reads text as a shell does; outside code, an apostrophe inside a word is not a quotation mark.
function advance({ quote, span }: Quoting, piece: string, isFenced: boolean): Quoting {
  for (let at = 0; at < piece.length; at++) {
    const char = piece[at]!;
    if (char === '`' && !isFenced) {
      quote = '';
      span = !span;
    } else if (char === '\\' && quote !== "'") at++;
    else if (char === '#' && isFenced && quote === '' && /^\s?$/.test(piece[at - 1] ?? '')) break;
    else if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) {
      const isApostrophe = char === "'" && !isFenced && !span && /\w'\w/.test(piece.slice(Math.max(0, at - 1), at + 2));
      if (!isApostrophe) quote = char;
    }
  }
  return { quote, span };
}
