// Runs the shared format suite for module files, in TypeScript and JavaScript.

import { trustNow } from '../support/trusted.js';
import type { Workspace } from '../support/workspace.js';
import { describeFormat, GREET } from './format.js';

function trust(workspace: Workspace): undefined {
  trustNow(workspace);
  return undefined;
}

describeFormat({
  name: 'module',
  onDisk: true,
  write(workspace) {
    workspace.write(
      '.agents/tools/greet.tool.ts',
      `import { defineTool } from 'wield';
import { z } from 'zod';

interface Greeting { readonly who: string; readonly shout?: boolean | undefined }

const say = ({ who, shout }: Greeting): string => (shout ? \`Hello, \${who}!\`.toUpperCase() : \`Hello, \${who}\`);

export const greet = defineTool({
  name: 'greet',
  description: 'Greet someone.',
  inputSchema: z.object({
    who: z.string().describe('Whom to greet'),
    shout: z.boolean().describe('In capital letters').optional(),
  }),
  execute: (input) => say(input satisfies Greeting),
});
`,
    );
    return trust(workspace);
  },
});

describeFormat({
  name: 'module',
  onDisk: true,
  write(workspace) {
    workspace.write(
      '.agents/tools/greet.tool.mjs',
      `export const frontmatter = ${JSON.stringify({ description: GREET.description, metadata: { params: GREET.input } })};
export default ({ who, shout }) => (shout ? \`Hello, \${who}!\`.toUpperCase() : \`Hello, \${who}\`);
`,
    );
    return trust(workspace);
  },
});
