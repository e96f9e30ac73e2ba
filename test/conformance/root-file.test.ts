// Runs the shared format suite for files of commands, whose parameters are text only.

import { createRootFormat } from '../../src/formats/index.js';
import { createProgram } from '../support/commands.js';
import { describeFormat, GREET } from './format.js';

const { description, input } = GREET;
const who = input.properties.who;

describeFormat({
  name: 'greetings',
  onDisk: false,
  textOnly: true,
  write(workspace) {
    workspace.write('Greetings', 'greet');
    const format = createRootFormat({
      name: 'greetings',
      claims: (file) => file === 'Greetings',
      parse: (text) => [
        {
          name: text,
          description,
          argv: ['printf', 'Hello, %s\\n', { param: 'who', allowDash: true }],
          input: { type: 'object', properties: { who }, required: ['who'] },
        },
      ],
    });
    return { formats: [format] };
  },
});

// A program in the place of just, which is not installed: it runs the one recipe.
const JUST = '#!/bin/sh\nprintf "Hello, %s\\n" "$2"\n';

describeFormat({
  name: 'justfile',
  tool: 'just-greet',
  onDisk: true,
  textOnly: true,
  isUndescribed: true,
  refusesDash: true,
  write(workspace) {
    workspace.write('justfile', `# ${description}\n@greet who:\n    echo Hello, {{ quote(who) }}\n`);
    workspace.write('.agents/config.toml', '[tasks]\nfrom = ["justfile"]\n');
    createProgram(workspace, 'just', JUST);
    return undefined;
  },
});
