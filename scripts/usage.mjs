// Prints the comment at the beginning of a script, and ends the process, if the script was started with --help.

import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** To be called first, with `import.meta.url`. */
export function answerHelp(url) {
  const file = fileURLToPath(url);
  const [, started, ...given] = process.argv;
  if (started === undefined || realpathSync(started) !== file || !given.some((one) => /^(?:--help|-h)$/.test(one)))
    return;
  const [comment] = /^(?:\/\/.*\n)*/.exec(readFileSync(file, 'utf8'));
  process.stdout.write(comment.replace(/^\/\/ ?/gm, ''));
  process.exit(0);
}
