// Row 5: cost of an in-process call through the toolbox, compared with a bare function behind the same validator.

import { createToolbox } from '../../dist/index.js';
import { createJsonSchema } from '../../dist/schema/json.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';

const TARGET = { of: 'value', atMost: 20, unit: 'µs' };
const ROUNDS = 40;
const CALLS = sized(2000, 100);
const WARM_UP = sized(20_000, 100);

const inputSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, count: { type: 'integer' } },
  required: ['name'],
};
const input = { name: 'Ada', count: 3 };
const execute = ({ name, count }) => `${name} ${count}`;

export const row = {
  id: '5',
  title: 'a call in process: find, check, decide, run, record',
  async run() {
    const toolbox = createToolbox({
      tools: [{ name: 'greet', description: 'Greets.', inputSchema, execute }],
    });
    const schema = createJsonSchema(inputSchema, { closed: true });
    const bare = async (given) => {
      if (!(await schema.check(given)).ok) throw new Error('invalid');
      return { ok: true, content: [{ type: 'text', text: execute(given) }] };
    };
    const result = await toolbox.call('greet', input);
    if (result.structured !== 'Ada 3') throw new Error(`the tool was not run: ${JSON.stringify(result)}`);
    const cases = { bare: () => bare(input), toolbox: () => toolbox.call('greet', input) };
    for (const call of Object.values(cases)) for (let at = 0; at < WARM_UP; at++) await call();
    const samples = await measureRounds(
      Object.fromEntries(Object.entries(cases).map(([name, call]) => [name, () => timeCalls(call)])),
      ROUNDS,
    );
    await toolbox.close();
    return [
      { case: 'a bare async function and the validator (floor)', value: spread(samples.bare), unit: 'µs' },
      {
        case: 'toolbox.call',
        value: spread(samples.toolbox),
        unit: 'µs',
        ratio: ratios(samples.toolbox, samples.bare),
        target: TARGET,
      },
    ];
  },
};

// CPU time of all threads, including the collection of garbage within the round.
async function timeCalls(call) {
  const began = process.cpuUsage();
  for (let at = 0; at < CALLS; at++) await call();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / CALLS;
}
