// Reads texts for a shell, as far as they are certainly understood.

/** Whether a program in a command line reads an argument as text again. */
export function readsText(line: string): boolean {
  return READS_TEXT.test(line);
}

/** What is put in the place of a value. */
export const VALUE = '\ue000';

// Programs that read an argument as text of a shell again: `ssh host TEXT`, `sh -c TEXT`, `watch TEXT`.
const READS_TEXT =
  /(?:^|[\s;&|({/@])(?:eval|trap|su|xargs|parallel|watch|tmux|source|(?:ba|da|z|k|c|tc|fi|s|mo|pw)?sh|-[a-z]{0,2}[ce])(?=$|[\s;&|)}=])/;

/**
 * Whether a quoted value stays one word in each place of VALUE: outside of quotes, substitutions, comments and
 * here-documents, without templates beside it, and not for a program that reads it as text again (TSK-6).
 */
export function isPlainWord(text: string): boolean {
  const bare = text.replace(/'[^']*'|"[^"\\`$]*"/g, (string) => (/[\ue000{]/.test(string) ? string : ''));
  return !/['"`\\$#]|<<|\{\{/.test(bare) && !readsText(bare);
}
