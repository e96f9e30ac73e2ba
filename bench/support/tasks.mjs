// Twenty tasks over sixty tools, each scripted as a model would do it: by calls in rounds, and as a program.

import { defineTool } from '../../dist/index.js';

const DOMAINS = ['issue', 'order', 'ticket', 'invoice', 'contact', 'deal', 'event', 'task', 'page', 'asset'];
const OWNERS = ['ada', 'bob', 'cy', 'dee'];
const RECORDS = 24;
const DAY = 864e5;
const NOW = Date.UTC(2026, 10, 1);

const text = { type: 'string' };
const number = { type: 'number' };
const object = (properties, required = []) => ({ type: 'object', properties, required });

function recordsOf(domain) {
  return Array.from({ length: RECORDS }, (_, at) => ({
    id: `${domain}-${at + 1}`,
    title: `${domain} number ${at + 1} about the quarterly report`,
    state: at % 3 === 0 ? 'closed' : 'open',
    owner: OWNERS[at % OWNERS.length],
    amount: (at * 37) % 101,
    updated: new Date(NOW - at * 5 * DAY).toISOString(),
  }));
}

/** The tools: six for each kind of record. */
export const TOOLS = DOMAINS.flatMap((domain) => {
  const all = recordsOf(domain);
  const find = (id) => all.find((record) => record.id === id) ?? null;
  const tool = (name, description, inputSchema, execute) =>
    defineTool({ name: `${domain}_${name}`, description, inputSchema, execute });
  return [
    tool(
      'list',
      `List the ${domain}s, newest first, optionally only those in one state or of one owner.`,
      object({ state: { enum: ['open', 'closed'], description: 'Only this state' }, owner: text }),
      ({ state, owner }) =>
        all.filter((one) => (state ?? one.state) === one.state && (owner ?? one.owner) === one.owner),
    ),
    tool(
      'get',
      `Get one ${domain} with all of its fields and its history.`,
      object({ id: text }, ['id']),
      ({ id }) => ({
        ...find(id),
        history: ['created', 'assigned', 'changed'].map((event, at) => ({ event, by: OWNERS[at], at: NOW - at * DAY })),
      }),
    ),
    tool('search', `Search the ${domain}s by words of their title.`, object({ query: text }, ['query']), () =>
      all.slice(0, 5),
    ),
    tool(
      'update',
      `Change the state, the owner or the label of one ${domain}.`,
      object({ id: text, state: { enum: ['open', 'closed'] }, owner: text, label: text }, ['id']),
      ({ id, ...change }) => ({ id, ...change, ok: true }),
    ),
    tool('comment', `Add a comment to one ${domain}.`, object({ id: text, text }, ['id', 'text']), ({ id }) => ({
      id,
      ok: true,
    })),
    tool('count', `Count the ${domain}s per state.`, object({ since: number }), () => ({ open: 16, closed: 8 })),
  ];
});

const openOf = (domain) => recordsOf(domain).filter(({ state }) => state === 'open');
const isOld = ({ updated }) => Date.parse(updated) < NOW - 60 * DAY;
const largest = (domain) =>
  openOf(domain)
    .sort((a, b) => b.amount - a.amount)
    .slice(0, 5);
const call = (name, input) => ({ name, input });

// What a model does for each kind of task: the queries it searches with, its calls in rounds, and its program.
const KINDS = [
  (domain) => ({
    title: `sum the amounts of open ${domain}s`,
    queries: [`list ${domain}s`],
    rounds: [[call(`${domain}_list`, { state: 'open' })]],
    code: `const open = await tools.${domain}_list({ state: "open" });\nreturn open.reduce((sum, one) => sum + one.amount, 0);`,
  }),
  (domain) => ({
    title: `label ${domain}s without changes for 60 days`,
    queries: [`list ${domain}s`, `label a ${domain}`],
    rounds: [
      [call(`${domain}_list`, { state: 'open' })],
      openOf(domain)
        .filter(isOld)
        .map(({ id }) => call(`${domain}_update`, { id, label: 'stale' })),
    ],
    code: `const open = await tools.${domain}_list({ state: "open" });
const old = open.filter((one) => Date.parse(one.updated) < Date.now() - 60 * 864e5);
await Promise.all(old.map(({ id }) => tools.${domain}_update({ id, label: "stale" })));
return old.length;`,
  }),
  (domain) => ({
    title: `who changed the five largest ${domain}s last`,
    queries: [`list ${domain}s`, `get a ${domain} with its history`],
    rounds: [
      [call(`${domain}_list`, { state: 'open' })],
      largest(domain).map(({ id }) => call(`${domain}_get`, { id })),
    ],
    code: `const open = await tools.${domain}_list({ state: "open" });
const top = open.sort((a, b) => b.amount - a.amount).slice(0, 5);
const all = await Promise.all(top.map(({ id }) => tools.${domain}_get({ id })));
return all.map(({ id, history }) => [id, history[0].by]);`,
  }),
  (domain, other) => ({
    title: `comment on ${domain}s of ada with a matching ${other}`,
    queries: [`list ${domain}s`, `search ${other}s`, `comment on a ${domain}`],
    rounds: [
      [call(`${domain}_list`, { owner: 'ada' })],
      [call(`${other}_search`, { query: 'quarterly report' })],
      recordsOf(domain)
        .filter(({ owner }) => owner === 'ada')
        .map(({ id }) => call(`${domain}_comment`, { id, text: `see ${other}-1` })),
    ],
    code: `const mine = await tools.${domain}_list({ owner: "ada" });
const [match] = await tools.${other}_search({ query: "quarterly report" });
await Promise.all(mine.map(({ id }) => tools.${domain}_comment({ id, text: "see " + match.id })));
return mine.length;`,
  }),
];

/** The tasks: four kinds for five kinds of records. */
export const TASKS = DOMAINS.slice(0, 5).flatMap((domain, at) => KINDS.map((make) => make(domain, DOMAINS[at + 5])));
