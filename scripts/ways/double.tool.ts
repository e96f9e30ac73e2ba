// A tool that needs no program but Node.

import { defineTool } from 'wield';
import { z } from 'zod';

export const double = defineTool({
  name: 'double',
  description: 'Doubles a number.',
  inputSchema: z.object({ number: z.number() }),
  execute: ({ number }): number => number * 2,
});
