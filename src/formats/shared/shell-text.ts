// Reads texts for a shell, as far as they are certainly understood.

/** What is put in the place of a value. */
export const VALUE = '\ue000';

// Programs that read an argument as text of a shell again: `ssh host TEXT`, `sh -c TEXT`, `watch TEXT`.
const READS_TEXT = /(?:^|[\s;&|({/@])(?:eval|trap|su|xargs|parallel|watch|tmux|\w*sh|-[a-z]{0,2}[ce])(?=$|[\s;&|)}=])/;

/**
 * Whether a quoted value stays one word in each place of VALUE: outside of quotes, substitutions, comments and
 * here-documents, without templates beside it, and not for a program that reads it as text again (TSK-6).
 */
export function isPlainWord(text: string): boolean {
  const bare = text.replace(/'[^']*'|"[^"\\`$]*"/g, (string) => (/[\ue000{]/.test(string) ? string : ''));
  return !/['"`\\$#]|<<|\{\{/.test(bare) && !READS_TEXT.test(bare);
}
