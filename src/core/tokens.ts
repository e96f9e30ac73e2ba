// Estimates how many tokens a text costs.

const PIECES =
  /[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d{1,3}|\s+|[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\x00-\x7f]+|[^\sA-Za-z\d\x80-\uffff]{1,4}/g;
const COMMON_WORD = 7;

/**
 * Estimates the tokens of a text. For definitions of tools the sum is within 3 % of o200k_base and cl100k_base, and nine
 * of ten tools are within 14 % (decision 0116).
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECES)) {
    const code = piece.charCodeAt(0);
    if ((code >= 65 && code <= 90) || (code >= 97 && code <= 122)) {
      // Long words are split.
      tokens += 1 + Math.max(0, piece.length - COMMON_WORD) * 0.1;
    } else if (code >= 48 && code <= 57) tokens += 1;
    else if (code > 127) tokens += code >= 0x3000 ? 0.8 : piece.length * 0.5;
    else if (code === 32 && piece.length === 1) continue;
    else tokens += code <= 32 ? 0.6 : 0.95;
  }
  return Math.ceil(tokens);
}
