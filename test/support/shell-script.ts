// Shell scripts with a valid header.

/** Returns a `/bin/sh` script; further arguments are header lines such as `@param text string`. */
export function shellScript(body: string, ...header: readonly string[]): string {
  const tags = ['@description Made by a test.', ...header].map((line) => `# ${line}\n`).join('');
  return `#!/bin/sh\n${tags}${body}\n`;
}

/** Returns a Node script, for exact bytes. */
export function nodeScript(body: string, ...header: readonly string[]): string {
  const tags = ['@description Made by a test.', ...header].map((line) => `// ${line}\n`).join('');
  return `#!${process.execPath}\n${tags}${body}\n`;
}

/** A Node script body that first reads all of stdin. */
export const READ_STDIN = `const input = require('node:fs').readFileSync(0, 'utf8');`;
