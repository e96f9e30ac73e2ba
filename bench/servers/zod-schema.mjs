// The input schema of the benchmark tool for servers that take Zod schemas.

import { z } from 'zod';

export const shape = {
  name: z.string().describe('The part to publish.'),
  count: z.number().int().optional().describe('How often to try again.'),
};

export const zodSchema = z.object(shape);
