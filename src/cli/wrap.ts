// Wraps lines to the terminal.

/** Wraps lines to the terminal, so that a long value cannot forge a line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [''];
  let used = 0;
  for (const character of text) {
    // Some characters may be two columns wide.
    const columns = character.codePointAt(0)! > 0x7e ? 2 : 1;
    if (used + columns > width) {
      lines.push('');
      used = 0;
    }
    lines[lines.length - 1] += character;
    used += columns;
  }
  return lines;
}
