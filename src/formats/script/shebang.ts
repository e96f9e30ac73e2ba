// Reads the first line of a script.

import type { Finding } from '../../core/problem.js';

export interface HeaderFinding extends Finding {
  /** A shell command that fixes the problem when the file's path is appended. */
  readonly command?: string;
}

export function readShebang(text: string): string | HeaderFinding {
  if (text.startsWith('\ufeff')) {
    return {
      message: 'starts with a byte-order mark (EF BB BF) before the shebang, so the system would run it with sh',
      hint: 'remove the mark',
      command: "sed -i '1s/^\\xEF\\xBB\\xBF//'",
    };
  }
  const line = /^[^\n]*/.exec(text)![0];
  if (!line.startsWith('#!') || line.slice(2).trim() === '') {
    return { message: 'does not start with a shebang', hint: 'add a first line such as #!/usr/bin/env bash' };
  }
  if (line.endsWith('\r')) {
    return {
      message: 'the shebang ends with a carriage return (0D), so the interpreter would not be found',
      hint: 'use Unix line endings',
      command: "sed -i 's/\\r$//'",
    };
  }
  return line.slice(2).trim();
}
