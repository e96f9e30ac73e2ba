// Texts of shell scripts with a valid header, so that a test shows only what it is about.

/** A `/bin/sh` script; each further argument is a line of its header: `@param text string`, `@timeout 1s`. */
export function shellScript(body: string, ...header: readonly string[]): string {
  const tags = ['@description Made by a test.', ...header].map((line) => `# ${line}\n`).join('');
  return `#!/bin/sh\n${tags}${body}\n`;
}

/** The same for Node, where bytes must be exact. */
export function nodeScript(body: string, ...header: readonly string[]): string {
  const tags = ['@description Made by a test.', ...header].map((line) => `// ${line}\n`).join('');
  return `#!${process.execPath}\n${tags}${body}\n`;
}

/** A body for Node that reads standard input to its end before it goes on. */
export const READ_STDIN = `const input = require('node:fs').readFileSync(0, 'utf8');`;
