// Runs the shared format suite for tools.json, in both layouts.

import { createProgram } from '../support/commands.js';
import { describeFormat, GREET } from './format.js';

const GREETER = `#!/bin/sh
# greeter [--shout] --who=NAME, or --who NAME
shout=false
while [ $# -gt 0 ]; do
  case "$1" in
    --shout) shout=true ;;
    --who=*) who="\${1#--who=}" ;;
    --who) shift; who="$1" ;;
  esac
  shift
done
greeting="Hello, $who"
if [ "$shout" = true ]; then
  printf '%s!\\n' "$greeting" | tr '[:lower:]' '[:upper:]'
else
  printf '%s\\n' "$greeting"
fi
`;

const TOOLS = [{ name: GREET.name, description: GREET.description, parameters: GREET.input }];
const ALLOWLIST = { greeter: [''] };
const EXECUTION = [
  {
    tool: 'greet',
    binary: 'greeter',
    subcommand: '',
    args: [
      { param: 'who', kind: 'flag' },
      { param: 'shout', kind: 'flagifboolean', flagIfTrue: '--shout' },
    ],
  },
];

describeFormat({
  name: 'tools-json',
  onDisk: true,
  write(workspace) {
    createProgram(workspace, 'greeter', GREETER);
    workspace.write(
      '.agents/skills/greeting/tools.json',
      JSON.stringify({ tools: TOOLS, allowlist: ALLOWLIST, execution: EXECUTION }),
    );
    return undefined;
  },
});

describeFormat({
  name: 'tools-json',
  onDisk: true,
  write(workspace) {
    createProgram(workspace, 'greeter', GREETER);
    workspace.write('.agents/skills/greeting/tools.json', JSON.stringify(TOOLS));
    workspace.write('.agents/skills/greeting/allowlist.json', JSON.stringify(ALLOWLIST));
    workspace.write('.agents/skills/greeting/execution.json', JSON.stringify(EXECUTION));
    return undefined;
  },
});
