// Runs the shared format suite for definitions passed by code.

import { defineTool } from '../../src/index.js';
import { describeFormat, GREET } from './format.js';

const greet = defineTool({
  name: GREET.name,
  description: GREET.description,
  inputSchema: GREET.input,
  execute: ({ who, shout }: { who: string; shout?: boolean }) =>
    shout ? `Hello, ${who}!`.toUpperCase() : `Hello, ${who}`,
});

describeFormat({ name: 'module', onDisk: false, write: () => ({ tools: [greet] }) });
