// Finds the tables of a TOML file, with their places.

import type { KeyPath } from './form.js';

interface Header {
  readonly offset: number;
  readonly keys: KeyPath;
}

const HEADER = /\[{1,2}((?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\]"'\n])*)\]{1,2}/y;
const COMMENT = /#[^\n]*/y;
const STRINGS = [
  /"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})/y,
  /'''[\s\S]*?'''(?:'{0,2})/y,
  /"(?:\\.|[^"\\\n])*"/y,
  /'[^'\n]*'/y,
];

// Headers are at the start of a line, outside strings, comments and arrays.
export function findHeaders(text: string): Header[] {
  const headers: Header[] = [];
  const match = (pattern: RegExp, at: number): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  let depth = 0;
  let lineStart = true;
  for (let at = 0; at < text.length; ) {
    const character = text[at]!;
    const header = lineStart && depth === 0 && character === '[' ? match(HEADER, at) : null;
    if (header !== null) {
      headers.push({ offset: at, keys: splitKeys(header[1]!) });
      at += header[0].length;
    } else if (character === '#') at += match(COMMENT, at)![0].length;
    else if (character === '"' || character === "'") {
      const string = STRINGS.map((pattern) => match(pattern, at)).find((found) => found !== null);
      at += string?.[0].length ?? 1;
    } else {
      if (character === '[' || character === '{') depth++;
      else if (character === ']' || character === '}') depth--;
      at++;
    }
    lineStart = character === '\n' || (lineStart && /[ \t\r]/.test(character));
  }
  return headers;
}

function splitKeys(text: string): string[] {
  return (text.match(/"(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+/g) ?? []).map((key) =>
    key.startsWith('"') ? (JSON.parse(key) as string) : key.replace(/^'|'$/g, ''),
  );
}
