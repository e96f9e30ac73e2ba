// Attacks by upstream servers: schemas, names, texts and endless questions.

import { describe, expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { json, wield } from '../support/cli.js';
import { connectAsking } from '../support/clients.js';
import { patience } from '../support/patience.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../support/pty.js';
import type { Message } from '../support/server.js';
import { spec, specIf } from '../support/spec.js';
import { createUpstreamWorkspace, remoteTool, type UpstreamWorkspace } from '../support/upstream-workspace.js';

const ESCAPES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\u{e0000}-\u{e007f}]/u;

function listing(tools: readonly object[]): UpstreamWorkspace {
  const workspace = createUpstreamWorkspace({ odd: { mode: 'changing' } });
  workspace.tools('odd', tools);
  return workspace;
}

async function survey(workspace: UpstreamWorkspace): Promise<{ names: string[]; problems: string[] }> {
  const document = json(await wield(workspace, ['list', '--json']));
  return {
    names: document.tools.map(({ name }: Message) => name),
    problems: document.problems.map(({ message }: Message) => message),
  };
}

const inputOf = (name: string, inputSchema: unknown): object => remoteTool(name, { inputSchema });
const deep = (levels: number): object => {
  let schema: object = { type: 'string' };
  for (let level = 0; level < levels; level++) schema = { type: 'object', properties: { next: schema } };
  return schema;
};

describe('schemas', () => {
  spec('UPS-4 TOOL-4', 'reports invalid schemas and lists the other tools', async () => {
    const workspace = listing([
      remoteTool('fine'),
      inputOf('remote', { $ref: 'https://example.com/\u001b[31mschema.json' }),
      inputOf('deep', deep(40)),
      inputOf('deeper', deep(500)),
      inputOf('list', { type: 'array' }),
      inputOf('no-schema', undefined),
      inputOf('text', 'object'),
      inputOf('proto', JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}')),
      inputOf('pattern', { type: 'object', properties: { s: { type: 'string', pattern: '(' } } }),
      inputOf('wide', {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`p${at}`, {}])),
      }),
      inputOf('enums', {
        type: 'object',
        properties: { e: { enum: Array.from({ length: 30_000 }, (_, at) => `value ${at}`) } },
      }),
      remoteTool('out', { outputSchema: { $ref: 'file:///etc/passwd' } }),
      remoteTool('long', { description: 'x'.repeat(1024 * 1024) }),
      { description: 'Has no name.', inputSchema: { type: 'object' } },
      remoteTool(''),
      ['no tool at all'],
      remoteTool('fine', { description: 'Another.' }),
    ]);
    const { names, problems } = await survey(workspace);
    expect(names).toEqual(['odd_enums', 'odd_fine']);
    const all = problems.join('\n');
    for (const says of [
      /"remote" is not offered: .*outside the schema/,
      /"deep" is not offered: .*deeper than 64 levels/,
      /"deeper" has a definition that .*deeper than 100 levels/,
      /"list" is not offered: .*must have the type object/,
      /"no-schema" has no input schema/,
      /"text" has no input schema/,
      /"proto" has a definition that .*__proto__/,
      /"pattern" is not offered: .*not a regular expression/,
      /"wide" is not offered: .*more than 20000 parts/,
      /"out" is not offered: .*outside the schema/,
      /"long" has a definition that is larger than 1 MiB/,
      /lists a tool without a name/,
      /lists the tool "fine" twice/,
    ])
      expect(all).toMatch(says);
    expect(all).not.toMatch(ESCAPES);
    expect((await wield(workspace, ['list'])).stderr).toMatch(/13 problems/);
    expect((await wield(workspace, ['show', 'odd_fine'])).stdout).toContain('Does fine.');
    // Long enums are not listed in full.
    const wrong = await wield(workspace, ['call', 'odd_enums', '--e', 'another']);
    expect(wrong.status).toBe(2);
    expect(wrong.stderr.length).toBeLessThan(10_000);
  });

  spec('UPS-4', 'a schema of ten thousand levels affects only its tool', async () => {
    const workspace = createUpstreamWorkspace({ odd: { mode: 'raw' } });
    const levels = (count: number): string => `${'{"a":'.repeat(count)}1${'}'.repeat(count)}`;
    workspace.tools('odd', `[${JSON.stringify(remoteTool('fine'))},{"name":"deep","inputSchema":${levels(10_000)}}]`);
    const { names, problems } = await survey(workspace);
    expect(names).toEqual(['odd_fine']);
    expect(problems).toEqual([expect.stringMatching(/"deep" has a definition that .*deeper than 100 levels/)]);
  });

  spec('UPS-4 TOOL-4', 'a catastrophic pattern, a promise and a cycle fail a validation, not the program', async () => {
    const workspace = listing([
      inputOf('backtracks', { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } }),
      inputOf('async', {
        $async: true,
        type: 'object',
        properties: { n: { type: 'integer' } },
        required: ['n'],
      }),
      inputOf('circle', {
        type: 'object',
        properties: { next: { $ref: '#' } },
      }),
      inputOf('loop', {
        type: 'object',
        properties: { a: { $ref: '#/$defs/a' } },
        $defs: { a: { $ref: '#/$defs/a' } },
      }),
    ]);
    const toolbox = workspace.toolbox();
    const began = performance.now();
    const stuck = await toolbox.call('odd_backtracks', { s: `${'a'.repeat(40)}!` });
    expect(stuck.error?.code).toBe('invalid_input');
    expect(performance.now() - began).toBeLessThan(patience(90_000));
    // A promise would count as true; an invalid value must not pass.
    for (const input of [{}, { n: 'x' }]) expect((await toolbox.call('odd_async', input)).ok).toBe(false);
    expect(textOf(await toolbox.call('odd_circle', { next: { next: {} } }))).toBe('called circle');
    expect((await toolbox.call('odd_circle', { next: { next: 5 } })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('odd_loop', { a: 1 })).ok).toBe(false);
  });

  spec('UPS-4', 'limits the number of tools and pages, and reports that', async () => {
    const cases = [
      ['many', 10_000, /has more than 10000 tools; the rest is omitted/],
      ['pages', 100, /has more than 100 pages of tools; the rest is omitted/],
      ['circle', 9, /returned the same page of tools again; the rest is omitted/],
      ['no-list', 0, /returned an invalid tool list/],
    ] as const;
    for (const [mode, count, says] of cases) {
      const { names, problems } = await survey(createUpstreamWorkspace({ odd: { mode } }));
      expect([mode, names.length]).toEqual([mode, count]);
      expect(problems).toContainEqual(expect.stringMatching(says));
    }
  });

  spec('UPS-4', 'limits the number of problems and the size of a listing', async () => {
    const bad = Array.from({ length: 5000 }, (_, at) => inputOf(`bad${at}`, { type: 'array' }));
    const nameless = Array.from({ length: 5000 }, () => ({}));
    const heavy = Array.from({ length: 30 }, (_, at) => remoteTool(`heavy${at}`, { title: 'x'.repeat(900_000) }));
    const { names, problems } = await survey(listing([...nameless, remoteTool('fine'), ...bad]));
    expect(names).toEqual(['odd_fine']);
    expect(problems.length).toBeLessThan(250);
    expect(problems).toContainEqual(expect.stringMatching(/4900 more problems in its tool list/));
    expect(problems).toContainEqual(expect.stringMatching(/more problems of its tools are not shown/));
    // Larger than the limit of a message, so nothing is stored.
    const flooded = await survey(listing(heavy));
    expect(flooded.names).toEqual([]);
    expect(flooded.problems).toEqual([expect.stringMatching(/a message of more than 16 MiB/)]);
  });
});

const NASTY = '\u001b[2J\u001b]0;owned\u0007\u202eevil\u200b\u{e0041}\u009b31m\r';

describe('texts', () => {
  const workspaceOf = (): UpstreamWorkspace =>
    listing([
      remoteTool(`name${NASTY}`, { title: `title${NASTY}` }),
      remoteTool('described', {
        description: `description${NASTY}`,
        inputSchema: {
          type: 'object',
          properties: { a: { type: 'string', description: `parameter${NASTY}`, enum: [`one${NASTY}`] } },
        },
      }),
      inputOf(`bad${NASTY}`, { type: 'array' }),
      { description: NASTY },
    ]);
  const COMMANDS = [
    ['list'],
    ['list', '--json'],
    ['doctor'],
    ['search', 'description'],
    ['show', 'odd_described'],
    ['call', 'odd_described', '--help'],
    ['call', 'odd_described', '--a', 'wrong'],
    ['explain', 'odd_described'],
  ];

  spec('UPS-4 ERR-5', 'A55: escape sequences of a server never reach a terminal', async () => {
    const workspace = workspaceOf();
    for (const command of COMMANDS) {
      const { stdout, stderr } = await wield(workspace, command);
      expect([command.join(' '), (stdout + stderr).match(ESCAPES)]).toEqual([command.join(' '), null]);
    }
    const doctor = await wield(workspace, ['doctor']);
    expect(doctor.stdout).toMatch(/"described" has invisible characters in its description/);
  });

  spec('UPS-4 ERR-5', 'names that have such characters are in problems without them', async () => {
    const name = `odd${NASTY}`;
    const typed = (inputSchema: object) => remoteTool(`${JSON.stringify(inputSchema)}${NASTY}`, { inputSchema });
    const broken = [
      ...[{ type: `list${NASTY}` }, { type: 'object', properties: { [name]: 3 } }, { type: 'object', required: name }],
      ...[{ $ref: `http://a/${NASTY}` }, { type: 'object', properties: { a: { pattern: `(${NASTY}` } } }],
    ];
    const workspace = listing([remoteTool(name), remoteTool(name), ...broken.map(typed)]);
    const { problems } = await survey(workspace);
    expect(problems.join('\n')).toMatch(/lists the tool "odd.*" twice/);
    expect(problems.length).toBeGreaterThan(3);
    expect(problems.filter((problem) => ESCAPES.test(problem))).toEqual([]);
  });

  spec('UPS-4', 'removes invisible characters from texts for models, but not from values', async () => {
    const description = `says${NASTY}`;
    const workspace = listing([
      remoteTool('described', {
        description,
        inputSchema: {
          type: 'object',
          properties: { default: { type: 'string', description, enum: [`one${NASTY}`] } },
          $defs: { title: { title: description } },
        },
      }),
    ]);
    const client = await connectAsking(workspace, 'older', 'stdio', () => ({ action: 'decline' }));
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === 'odd_described') as Message;
    expect(tool.description).not.toMatch(ESCAPES);
    expect(tool.inputSchema.properties.default.description).not.toMatch(ESCAPES);
    expect(tool.inputSchema.properties.default.description).toContain('says');
    expect(tool.inputSchema.properties.default.enum).toEqual([`one${NASTY}`]);
    expect(tool.inputSchema.$defs.title.title).not.toMatch(ESCAPES);
    const doctor = await wield(workspace, ['doctor']);
    expect(doctor.stdout).toMatch(/"described" has invisible characters in its schemas/);
  });

  specIf(hasPty, NO_PTY, 'UPS-4 ERR-5', 'A55: escape sequences do not reach a real terminal', async () => {
    const workspace = workspaceOf();
    for (const command of [['list'], ['doctor'], ['show', 'odd_described']]) {
      const { screen } = await wieldAtTerminal(workspace, command, { env: { NO_COLOR: '1' } });
      expect([command.join(' '), screen.match(/\u001b\[2J|\u001b\]0|\u202e|\u200b|\u009b/u)]).toEqual([
        command.join(' '),
        null,
      ]);
    }
  });
});

spec('UPS-4', 'cancels the questions of a server that asks too often', async () => {
  const workspace = createUpstreamWorkspace({ odd: { mode: 'bad' } });
  let questions = 0;
  const client = await connectAsking(workspace, 'older', 'stdio', () => {
    questions++;
    return { action: 'decline' };
  });
  await client.listTools();
  const answer = (await client.callTool({ name: 'odd_requests', arguments: {} })) as Message;
  expect(answer.content).toEqual([{ type: 'text', text: 'said' }]);
  expect(questions).toBeLessThan(20);
});
