// Runs the shared format suite for scripts.

import { describeFormat } from './format.js';

describeFormat({
  name: 'script',
  onDisk: true,
  write(workspace) {
    workspace.script(
      'greet',
      `#!/bin/sh
# @description Greet someone.
# @param *who string Whom to greet
# @param shout boolean In capital letters
greeting="Hello, $WIELD_PARAM_WHO"
if [ "\${WIELD_PARAM_SHOUT:-false}" = true ]; then
  printf '%s!\\n' "$greeting" | tr '[:lower:]' '[:upper:]'
else
  printf '%s\\n' "$greeting"
fi
`,
    );
    return undefined;
  },
});
