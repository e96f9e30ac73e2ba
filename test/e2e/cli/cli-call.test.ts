// `wield call`: input, dry runs, JSON results and wield's own flags.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { finding, findingIf, spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const CAT =
  '#!/bin/sh\n# @description Give the input back.\n# @param text string T\n# @param count int C\n# @param flag bool F\n# @param list list L\n# @param thing map M\ncat\n';

function create(): Workspace {
  const workspace = createWorkspace();
  workspace.script('give', CAT);
  workspace.script('touch', '#!/bin/sh\n# @description Leave a trace.\n# @param name string N\ntouch ran\n');
  workspace.script('plain', '#!/bin/sh\n# @description No parameters.\ncat\n');
  return workspace;
}

describe('input', () => {
  for (const [args, input] of [
    [['--text', 'a b', '--count', '3', '--flag'], { text: 'a b', count: 3, flag: true }],
    [['--text=a=b', '--no-flag', '--count=-4'], { text: 'a=b', count: -4, flag: false }],
    [['--list', 'a', '--list', 'b', '--thing', '{"x":1}'], { list: ['a', 'b'], thing: { x: 1 } }],
    [['--list', '[1,2]', '--thing.x.y', 'deep'], { list: [1, 2], thing: { x: { y: 'deep' } } }],
    [['--text', '--json'], { text: '--json' }],
    [['--text', '--help'], { text: '--help' }],
    [['--text', '-h', '--flag=false'], { text: '-h', flag: false }],
    [['--input', '{"text":"x","count":1}'], { text: 'x', count: 1 }],
    [['--input', '{}'], {}],
  ] as const) {
    spec('CLI-8', `${args.join(' ')} passes ${JSON.stringify(input)}`, async () => {
      const run = await wield(create(), ['call', 'give', ...args], { stdin: '{"text":"unread"}' });
      expect([run.status, run.stderr, JSON.parse(run.stdout)]).toEqual([0, '', input]);
    });
  }

  spec('CLI-8', 'reads a file, or stdin if it is named, or if there are no arguments and one is required', async () => {
    const workspace = create();
    const file = workspace.write('input.json', '{"text":"from a file"}');
    const stdin = '{"text":"from stdin"}';
    const text = async (args: string[], options = {}) =>
      JSON.parse((await wield(workspace, ['call', 'give', ...args], options)).stdout).text;
    expect(await text(['--input', `@${file}`], { stdin })).toBe('from a file');
    expect(await text(['--input', '-'], { stdin })).toBe('from stdin');
    expect(await text([], { stdin })).toBe(undefined);
    const required = '#!/bin/sh\n# @description Give.\n# @param *text string Text\ncat\n';
    workspace.script('give', required);
    expect(await text([], { stdin })).toBe('from stdin');
    expect(await text(['--timeout', '30s'], { stdin })).toBe('from stdin');
  });

  for (const stdin of ['', '\n', '  \n']) {
    spec('CLI-8', `empty stdin (${JSON.stringify(stdin)}) is {}`, async () => {
      const workspace = create();
      expect((await wield(workspace, ['call', 'give'], { stdin })).stdout).toBe('{}');
      expect((await wield(workspace, ['call', 'give', '--input', '-'], { stdin })).stdout).toBe('{}');
    });
  }

  spec('CLI-8', 'takes large numbers, and no integer that a number cannot represent', async () => {
    const workspace = create();
    workspace.script('sum', '#!/bin/sh\n# @description D\n# @param n number N\n# @param i integer I\ncat\n');
    for (const [args, given] of [
      [['--n', '1e20'], { n: 1e20 }],
      [['--n', '-2.5e300'], { n: -2.5e300 }],
      [['--n', '9007199254740993'], undefined],
      [['--n', '1e999'], undefined],
      [['--i', '9007199254740991'], { i: 9_007_199_254_740_991 }],
      [['--i', '1e20'], undefined],
      [['--i', '9007199254740993'], undefined],
    ] as const) {
      const run = await wield(workspace, ['call', 'sum', ...args]);
      if (given === undefined) expect([args, run.status]).toEqual([args, 2]);
      else expect([args, run.status, JSON.parse(run.stdout)]).toEqual([args, 0, given]);
    }
  });

  spec('RUN-15', 'a whole number that reading would change is refused, in JSON and in flags', async () => {
    const workspace = create();
    workspace.script('sum', '#!/bin/sh\n# @description D\n# @param i integer I\n# @param o object O\ncat\n');
    const id = '9007199254740993';
    for (const args of [
      ['--i', id],
      ['--input', `{"i":${id}}`],
      ['--input', `{"o":{"a":["-1",-${id}]}}`],
      ['--o', `{"x":${id}}`],
      ['--o.x:=123456789012345678901234567890'],
    ]) {
      const run = await wield(workspace, ['call', 'sum', ...args, '--json']);
      expect([args, json(run).error]).toMatchObject([
        args,
        { code: 'invalid_input', hint: expect.stringContaining('takes text') },
      ]);
      expect(json(run).error.message).toMatch(/beyond 2\^53, which would be changed; pass it as text/);
    }
    // Text, and what is written again as it was.
    for (const given of [
      `{"o":{"x":"\\"${id}"}}`,
      '{"o":{"x":100000000000000000000}}',
      '{"o":{"x":0.1234567890123456}}',
    ])
      expect((await wield(workspace, ['call', 'sum', '--input', given])).stdout).toBe(given);
  });

  spec('CLI-8', 'a tool without parameters does not read stdin', async () => {
    const run = await wield(create(), ['call', 'plain'], { stdin: 'not json' });
    expect([run.status, run.stdout]).toEqual([0, '{}']);
  });

  for (const [args, stdin, status, code] of [
    [['--input', '{}', '--text', 'x'], '', 2, 'usage'],
    [['--input', '{oops'], '', 2, 'invalid_input'],
    [['--input', '{"text":"a","text":"b"}'], '', 2, 'invalid_input'],
    [['--input', '@missing.json'], '', 8, 'io'],
    [['--input'], '', 2, 'usage'],
    [['--input', '-'], 'not json', 2, 'invalid_input'],
    [['--count', 'many'], '', 2, 'invalid_input'],
    [['--nonsense', '1'], '', 2, 'invalid_input'],
    [['--thing', '{oops'], '', 2, 'invalid_input'],
    [['positional'], '', 2, 'usage'],
    [['--timeout', 'soon', '--text', 'x'], '', 2, 'usage'],
    [['--trust=maybe', '--text', 'x'], '', 2, 'usage'],
    [['--cwd', '/', '--text', 'x'], '', 2, 'usage'],
  ] as const) {
    spec('CLI-8 CLI-3 ERR-4', `${args.join(' ')} is ${code}, in one document`, async () => {
      const run = await wield(create(), ['call', '--json', 'give', ...args], { stdin });
      expect(run.status).toBe(status);
      expect(json(run)).toMatchObject({
        ok: false,
        schema: 1,
        error: { code, hint: expect.stringMatching(/./) },
      });
    });
  }

  spec('CLI-1', 'an unknown flag suggests the nearest flag of the tool or of wield', async () => {
    const workspace = create();
    const hint = async (flag: string) => (await wield(workspace, ['call', 'give', flag, 'x'])).stderr;
    expect(await hint('--txt')).toContain('did you mean --text?');
    expect(await hint('--dry-rn')).toContain('did you mean --dry-run?');
  });
});

describe('own flags', () => {
  const OWN = ['json', 'input', 'dry-run', 'timeout', 'trust', 'yes', 'full', 'cwd', 'verbose', 'plain', 'help'];
  const createOdd = (type: string) => {
    const workspace = createWorkspace();
    const header = OWN.map((name) => `# @param ${name} ${type}`).join('\n');
    workspace.script('odd', `#!/bin/sh\n# @description D\n${header}\n# @param h int\ncat\n`);
    return workspace;
  };

  finding('N20 003-71 CLI-13', 'after the name of a tool, its own parameters take precedence', async () => {
    const workspace = createOdd('string');
    const names = OWN.filter((name) => name !== 'help' && name !== 'trust');
    const values = Object.fromEntries(names.map((name) => [name, `v-${name}`]));
    for (const command of [['call', 'odd'], ['odd']]) {
      const run = await wield(workspace, [
        ...command,
        ...names.flatMap((name) => [`--${name}`, `v-${name}`]),
        '--h',
        '5',
      ]);
      expect(run.stderr).toBe('');
      expect(JSON.parse(run.stdout)).toEqual({ ...values, h: 5 });
    }
    const help = (await wield(workspace, ['call', 'odd', '--help'])).stdout;
    for (const name of names) expect(help).toContain(`[--${name} STRING]`);
    expect(help).toContain('flags of wield go before its name: wield --json call odd');
  });

  finding(
    'N20 CLI-13',
    'before the name of a tool they are of wield, and --param-<name> is always the parameter',
    async () => {
      const workspace = createOdd('boolean');
      const planned = await wield(workspace, ['call', '--json', '--dry-run', 'odd', '--json', '--verbose']);
      expect(planned.stderr).toBe('');
      expect(JSON.parse(planned.stdout).plan).toMatchObject({ tool: 'odd' });
      expect((await wield(workspace, ['--verbose', 'call', 'odd', '--no-verbose'])).stderr).toMatch(/^debug {2}/);
      const run = await wield(workspace, ['call', 'odd', ...OWN.map((name) => `--param-${name}`)]);
      expect(JSON.parse(run.stdout)).toEqual(Object.fromEntries(OWN.map((name) => [name, true])));
    },
  );

  finding('N20 CLI-13', 'errors are text if --json is a parameter, and --trust must be unambiguous', async () => {
    const workspace = createOdd('boolean');
    const wrong = await wield(workspace, ['call', 'odd', '--json', '--nope']);
    expect(wrong.stdout).toBe('');
    expect(wrong.stderr).toContain('unknown parameter "nope"');
    const trusting = await wield(workspace, ['call', 'odd', '--trust']);
    expect(trusting.status).toBe(2);
    expect(trusting.stderr).toContain('--trust is a flag of wield and a parameter of odd');
  });

  findingIf(hasPty, NO_PTY, 'N20 CLI-13 CLI-4', '--plain as a parameter leaves the colours of wield', async () => {
    const workspace = createOdd('boolean');
    const hasColour = async (...args: string[]): Promise<boolean> =>
      (await wieldAtTerminal(workspace, args)).screen.includes('\u001b[31merror');
    expect(await hasColour('call', 'odd', '--plain', '--nope')).toBe(true);
    expect(await hasColour('odd', '--nope')).toBe(true);
    expect(await hasColour('--plain', 'call', 'odd', '--plain', '--nope')).toBe(false);
    expect(await hasColour('call', 'nothing', '--plain')).toBe(false);
  });

  spec('CLI-13', 'the binary is a JavaScript file', async () => {
    const { binary } = await import('../../support/built.js');
    expect(binary()).toMatch(/\.cjs$/);
    const { execFileSync } = await import('node:child_process');
    expect(execFileSync(binary(), ['version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  spec.thorough('CLI-8 EXE-5', '--timeout ends a tool, exit status 6', async () => {
    const workspace = createWorkspace();
    workspace.script('slow', '#!/bin/sh\n# @description D\necho begun\nsleep 600\n');
    const run = await wield(workspace, ['call', 'slow', '--timeout', '3s', '--json']);
    expect(run.status).toBe(6);
    expect(json(run)).toMatchObject({ ok: false, schema: 1, error: { code: 'timeout' } });
    expect(json(run).content[0].text).toContain('begun');
  });

  spec(
    'CLI-8',
    '--help of a tool shows usage, parameters and an example, even if other arguments are wrong',
    async () => {
      const workspace = create();
      for (const args of [['--help'], ['-h'], ['--nonsense', '--help'], ['--count', 'many', '-h']]) {
        const { status, stdout } = await wield(workspace, ['call', 'touch', ...args]);
        expect(status).toBe(0);
        expect(stdout).toContain('Leave a trace.');
        expect(stdout).toMatch(/\nExample\n {2}wield call touch/);
      }
      expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
    },
  );
});

describe('output', () => {
  spec('CLI-8 TOOL-20', '--json prints the ToolResult for success and failure', async () => {
    const workspace = create();
    workspace.script('fail', '#!/bin/sh\n# @description D\necho out\necho err >&2\nexit 4\n');
    const good = await wield(workspace, ['call', 'give', '--count', '2', '--json']);
    expect(json(good)).toEqual({
      ok: true,
      schema: 1,
      content: [{ type: 'text', text: '{"count":2}' }],
      structured: { count: 2 },
      meta: { durationMs: expect.any(Number), exitCode: 0 },
    });
    const bad = await wield(workspace, ['call', 'fail', '--json']);
    expect(bad.status).toBe(1);
    expect(json(bad)).toMatchObject({
      ok: false,
      schema: 1,
      content: [{ type: 'text', text: '[stderr]\nerr\n[stdout]\nout\n' }],
      error: { code: 'tool_failed' },
      meta: { exitCode: 4 },
    });
  });

  spec('CLI-8', 'shows the size of an image', async () => {
    const workspace = createWorkspace();
    for (const size of [8, 9, 10])
      workspace.write(
        `.agents/tools/image${size}.tool.mjs`,
        `export default { name: 'image${size}', description: 'x', execute: () => ({ content: [{ type: 'image', mimeType: 'image/png', data: '${Buffer.alloc(size).toString('base64')}' }] }) };\n`,
      );
    await wield(workspace, ['trust', '--yes']);
    for (const size of [8, 9, 10])
      expect((await wield(workspace, ['call', `image${size}`])).stdout).toBe(`[image image/png, ${size} B]\n`);
  });

  spec('CLI-8 CLI-3', 'forwards stdout to stdout and stderr to stderr unchanged', async () => {
    const workspace = createWorkspace();
    workspace.script('both', '#!/bin/sh\n# @description D\nprintf out\nprintf err >&2\n');
    expect(await wield(workspace, ['call', 'both'])).toEqual({ status: 0, stdout: 'out', stderr: 'err' });
    workspace.script('fail', '#!/bin/sh\n# @description D\necho out\nexit 4\n');
    const run = await wield(workspace, ['call', 'fail']);
    expect([run.status, run.stdout]).toEqual([1, 'out\n']);
    expect(run.stderr).toContain('fail exited with status 4');
  });

  spec('CLI-8 RUN-2', '--dry-run shows what would run without running it, as text and as JSON', async () => {
    const workspace = create();
    const script = join(workspace.dir, '.agents/tools/touch');
    const text = await wield(workspace, ['call', 'touch', '--name', 'x', '--dry-run']);
    expect(text.status).toBe(0);
    for (const part of [`would run   ${script}`, workspace.dir, 'WIELD_PARAM_NAME', '{"name":"x"}', 'allow']) {
      expect(text.stdout).toContain(part);
    }
    const run = await wield(workspace, ['call', 'touch', '--name', 'x', '--dry-run', '--json']);
    expect(json(run)).toMatchObject({
      ok: true,
      schema: 1,
      plan: {
        binary: script,
        argv: [script],
        cwd: workspace.dir,
        env: expect.arrayContaining(['PATH', 'WIELD_PARAM_NAME', 'WIELD_WORKDIR']),
        resolvers: [],
      },
      verdict: { verdict: 'allow', rule: null, reason: expect.any(String) },
    });
    expect((await wield(workspace, ['call', 'touch', '--wrong', 'x', '--dry-run'])).status).toBe(2);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
    expect((await wield(workspace, ['call', 'touch', '--name', 'x', '--dry-run=false'])).status).toBe(0);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(true);
  });
});
