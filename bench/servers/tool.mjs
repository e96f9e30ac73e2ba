// The tool that every server of the benchmarks offers, under as many names as are asked for.

export const DESCRIPTION = 'Publishes a part of the site and says where it stands.';

export function toolNames(count) {
  return Array.from({ length: count }, (_, index) => `tool-${String(index).padStart(4, '0')}`);
}

export const inputSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'The part to publish.' },
    count: { type: 'integer', description: 'How often to try again.' },
  },
  required: ['name'],
};

export const execute = ({ name, count }) => `${name} ${count}`;

/** The count that a server is started with. */
export const COUNT = Number(process.argv[2] ?? 1);
