// The tool that every benchmark server offers, under many names.

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

/** The number of tools, the argument of a server. */
export const COUNT = Number(process.argv[2] ?? 1);
