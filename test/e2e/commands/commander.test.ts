// Tools on a real commander program: positionals, flags, help, messages and exit statuses.

import { Command, type CommanderError } from 'commander';
import { describe, expect } from 'vitest';
import {
  type CommandOutcome,
  type RegisterToolsOptions,
  readCommandInput,
  registerToolsAsCLI,
} from '../../../src/commands/index.js';
import { createToolbox, defineTool, type Toolbox, type ToolDefinition } from '../../../src/index.js';
import { spec } from '../../support/spec.js';

const echo = (input: unknown): string => JSON.stringify(input);

const TOOLS: readonly ToolDefinition[] = [
  defineTool({
    name: 'note_read',
    description: 'Read a note.',
    group: 'note',
    inputSchema: {
      type: 'object',
      properties: {
        limit: { type: 'integer', default: 20 },
        path: { type: 'string' },
        mode: { enum: ['fast', 'slow'] },
        loud: { type: 'boolean', default: true },
        tags: { type: 'array', items: { type: 'string' }, default: ['a'] },
        version: { type: 'string' },
        input: { type: 'string' },
      },
      required: ['path'],
    },
    execute: echo,
  }),
  defineTool({
    name: 'note_copy',
    description: 'Copy notes.',
    group: 'note',
    cli: { positional: ['to', 'from'] },
    inputSchema: {
      type: 'object',
      properties: {
        from: { type: 'array', items: { type: 'string' } },
        to: { type: 'string' },
        depth: { type: 'integer' },
      },
      required: ['depth'],
    },
    execute: echo,
  }),
  defineTool({
    name: 'fail',
    description: 'Fail.',
    execute: () => {
      throw new Error('on purpose');
    },
  }),
  defineTool({ name: 'serve', description: 'Not the program.', execute: () => 'the tool' }),
  defineTool({ name: 'quiet', description: 'Hidden.', hidden: true, execute: () => 'hidden' }),
];

interface Run {
  readonly out: string;
  readonly err: string;
  readonly status: number;
}

async function createProgram(toolbox: Toolbox, options: RegisterToolsOptions = {}) {
  const said = { out: '', err: '' };
  const program = new Command('app');
  program.option('--version-of-app', 'a flag of the program');
  program.enablePositionalOptions();
  program.exitOverride();
  program.configureOutput({
    writeOut: (text) => {
      said.out += text;
    },
    writeErr: (text) => {
      said.err += text;
    },
  });
  program
    .command('serve')
    .description('Serve it.')
    .action(() => {
      said.out += 'the program\n';
    });
  const problems = await registerToolsAsCLI(program, toolbox, options);
  const run = async (...args: string[]): Promise<Run> => {
    said.out = '';
    said.err = '';
    let status = 0;
    await program.parseAsync(args, { from: 'user' }).catch((error: CommanderError) => {
      status = error.exitCode;
    });
    return { ...said, status };
  };
  return { program, problems, run };
}

const create = (options?: RegisterToolsOptions) => createProgram(createToolbox({ tools: TOOLS }), options);

describe('mounted on commander', () => {
  for (const [args, input] of [
    [['note', 'read', 'a.md'], { path: 'a.md' }],
    [['note', 'read', 'a.md', '--limit', '5', '--no-loud'], { limit: 5, path: 'a.md', loud: false }],
    [['note', 'read', '--tags', 'b', '--path', '-x', '--tags', 'c'], { path: '-x', tags: ['b', 'c'] }],
    [['note', 'read', 'a.md', '--version', '3', '--mode=slow'], { path: 'a.md', mode: 'slow', version: '3' }],
    [['note', 'read', 'a.md', '--param-input', 'x'], { path: 'a.md', input: 'x' }],
    [['note', 'read', 'a.md', '--input', 'x'], { path: 'a.md', input: 'x' }],
    [['note', 'copy', '--input', '{"depth":1}'], { depth: 1 }],
    [['note', 'copy', '--depth', '1'], { depth: 1 }],
    [['note', 'copy', 'to', '--depth', '1'], { to: 'to', depth: 1 }],
    [['note', 'copy', 'to', 'a', 'b', '--depth', '1'], { from: ['a', 'b'], to: 'to', depth: 1 }],
    [['note', 'copy', '--depth', '1', 'to', '[x]'], { from: ['[x]'], to: 'to', depth: 1 }],
    [['note', 'copy', 'a', 'b', '--depth', '1', '--to', 'x'], { from: ['a', 'b'], to: 'x', depth: 1 }],
    [['note', 'copy', '--depth', '1', '--from', 'a', '--from', 'b'], { from: ['a', 'b'], depth: 1 }],
  ] as const) {
    spec('MOD-26 MOD-21 MOD-22', `app ${args.join(' ')} is ${JSON.stringify(input)}`, async () => {
      const { run } = await create();
      const { out, err, status } = await run(...args);
      // What is left out is filled in from the schema; an array that is given replaces its default.
      const defaults = args[1] === 'read' ? { limit: 20, loud: true, tags: ['a'] } : {};
      expect([err, status, JSON.parse(out)]).toEqual(['', 0, { ...defaults, ...input }]);
    });
  }

  spec('MOD-26 MOD-23', 'errors have the message and exit status of a call', async () => {
    const { run } = await create();
    const toolbox = createToolbox({ tools: TOOLS });
    const { error } = await toolbox.call('note_read', { path: 'x', limit: 'many' });
    expect(await run('note', 'read', 'x', '--limit', 'many')).toEqual({
      out: '',
      err: `error  ${error?.message}\n  hint  ${error?.hint}\n`,
      status: 2,
    });
    const unknown = await run('note', 'read', 'x', '--limt', '5');
    expect([unknown.status, unknown.err]).toEqual([
      2,
      'error  unknown parameter "limt"\n  hint  did you mean --limit? app note read --help shows all\n',
    ]);
    expect((await run('note', 'read', 'x', 'y')).err).toContain('unexpected argument "y"');
    expect((await run('note', 'copy', '--input', '{}', '--depth', '1')).err).toContain('cannot be combined');
    expect((await run('note', 'read', 'x', '--dry-run')).err).toContain('unknown parameter "dry-run"');
    expect((await run('note', 'read', 'x', '--json=maybe')).status).toBe(2);
    expect((await run('fail')).status).toBe(1);
    const document = JSON.parse((await run('fail', '--json')).out);
    expect(document).toMatchObject({ ok: false, schema: 1, error: { code: 'tool_failed' } });
  });

  spec('MOD-26 MOD-24', 'help of the program, of a group and of a tool', async () => {
    const { run, program } = await create();
    const whole = (await run('--help')).out;
    expect(whole).toMatch(/ {2}note +2 commands/);
    expect(whole).not.toContain('quiet');
    expect(program.commands.find((command) => command.name() === 'note')?.helpInformation()).toMatch(
      /copy \[arguments\.\.\.\] +Copy notes\./,
    );
    const help = await run('note', 'copy', '--nonsense', '--help');
    expect(help.status).toBe(0);
    expect(help.out).toContain('  app note copy [to] [from...] --depth INTEGER\n');
    expect(help.out).toContain('  *depth   integer');
    expect((await run('note', 'help', 'copy')).out).toBe(help.out);
  });

  spec('MOD-26 MOD-25', 'a command of the program takes precedence, and the collision is reported', async () => {
    const { run, problems } = await create();
    expect((await run('serve')).out).toBe('the program\n');
    expect(problems.map((problem) => problem.message)).toEqual(['has no command: "serve" is a command of app']);
    expect(problems[0]?.hint).toBe('rename it to get a command');
  });

  spec('MOD-26', 'a handler replaces printing', async () => {
    const outcomes: CommandOutcome[] = [];
    const { run } = await create({ handle: (outcome) => void outcomes.push(outcome) });
    expect(await run('fail', '--json')).toEqual({ out: '', err: '', status: 0 });
    expect(await run('note', 'read')).toEqual({ out: '', err: '', status: 0 });
    expect(outcomes.map(({ tool, exitStatus, json, result }) => [tool.name, exitStatus, json, result.ok])).toEqual([
      ['fail', 1, true, false],
      ['note_read', 2, false, false],
    ]);
  });

  spec('MOD-26', 'reads no schema before its command runs', async () => {
    const toolbox = createToolbox({ tools: TOOLS });
    const read: string[] = [];
    const watched: Toolbox = {
      ...toolbox,
      list: async () =>
        (await toolbox.list()).map((tool) => ({
          ...tool,
          get input() {
            read.push(tool.name);
            return tool.input;
          },
        })),
    };
    const { run } = await createProgram(watched);
    expect(read).toEqual([]);
    await run('note', 'read', 'x');
    expect(new Set(read)).toEqual(new Set(['note_read']));
  });
});

describe('positionals of a definition', () => {
  const define = (cli: unknown) => () =>
    defineTool({
      name: 'copy',
      description: 'Copy.',
      inputSchema: {
        type: 'object',
        properties: { from: { type: 'array' }, to: { type: 'string' } },
      },
      cli,
      execute: echo,
    } as ToolDefinition);

  for (const [cli, problem] of [
    [{ positional: ['from', 'to'] }, 'array "from" last'],
    [{ positional: ['form'] }, '"form" is not one'],
    [{ positional: ['to', 'to'] }, '"to" is not one'],
    [{ positional: 'to' }, 'an array of strings'],
    [{ positionals: ['to'] }, 'cli.positionals is not a field'],
    ['to', 'must be an object'],
  ] as const) {
    spec('MOD-21', `${JSON.stringify(cli)} is rejected: ${problem}`, () => {
      expect(define(cli)).toThrow(problem);
    });
  }

  spec('MOD-21', 'default to the required scalars in schema order', async () => {
    const toolbox = createToolbox({
      tools: [
        {
          name: 'mix',
          description: 'Mix.',
          inputSchema: {
            type: 'object',
            properties: {
              b: { type: 'string' },
              list: { type: 'array' },
              a: { type: 'integer' },
              c: { type: 'string' },
            },
            required: ['a', 'list', 'b'],
          },
          execute: echo,
        },
      ],
    });
    const tool = await toolbox.find('mix');
    expect(readCommandInput(tool, ['x', '5']).input).toEqual({ b: 'x', a: 5 });
    expect(readCommandInput(tool, ['5', '--b', 'x']).input).toEqual({ b: 'x', a: 5 });
    expect(() => readCommandInput(tool, ['x', '5', 'y'])).toThrow('unexpected argument "y"');
  });
});
