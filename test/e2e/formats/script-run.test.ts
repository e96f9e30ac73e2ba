// Input and output of scripts, in four languages.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { hasProgram, notInstalled } from '../../support/machine.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

describe('four languages', () => {
  spec('SCR-10 SCR-11', 'sh: echo with a flag for capitals', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'echo',
      `#!/bin/sh
# @description Echo a message.
# @param *message string What to say
# @param uppercase boolean In capitals
if [ "\${OCTOMIND_PARAM_UPPERCASE:-false}" = true ]; then
  printf '%s' "$OCTOMIND_PARAM_MESSAGE" | tr '[:lower:]' '[:upper:]'
else
  printf '%s' "$OCTOMIND_PARAM_MESSAGE"
fi
`,
    );
    const toolbox = workspace.toolbox();
    const say = async (input: object) => textOf(await toolbox.call('echo', input));
    expect(await say({ message: 'hi $HOME `id` "quoted"' })).toBe('hi $HOME `id` "quoted"');
    expect(await say({ message: 'hi', uppercase: true })).toBe('HI');
    expect(await say({ message: 'hi', uppercase: false })).toBe('hi');
  });

  spec('SCR-11', 'bash: greet under set -euo pipefail', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'greet',
      `#!/usr/bin/env bash
# @description Greet someone.
# @param *who string Whom
# @param shout bool Loudly
set -euo pipefail
greeting="Hello, \${OCTOMIND_PARAM_WHO}"
if [[ "\${OCTOMIND_PARAM_SHOUT:-false}" == "true" ]]; then
  greeting="\${greeting^^}!"
fi
echo "$greeting"
`,
    );
    expect((await wield(workspace, ['call', 'greet', '--who', 'Ada'])).stdout).toBe('Hello, Ada\n');
    expect((await wield(workspace, ['call', 'greet', 'Ada', '--shout'])).stdout).toBe('HELLO, ADA!\n');
  });

  specIf(
    hasProgram('python3'),
    notInstalled('python3'),
    'SCR-10 SCR-12',
    'python: sum of an array from standard input',
    async () => {
      const workspace = createWorkspace();
      workspace.script(
        'sum',
        `#!/usr/bin/env python3
# @description Sum numbers.
# @param *values array The numbers
import json, sys
values = json.load(sys.stdin)["values"]
print(json.dumps({"sum": sum(values), "count": len(values)}))
`,
      );
      const result = await workspace.toolbox().call('sum', { values: [1, 2, 3.5] });
      expect(result.structured).toEqual({ sum: 6.5, count: 3 });
    },
  );

  spec('SCR-10', 'node: capitals of a text from stdin', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'capitalize',
      `#!/usr/bin/env node
// @description Capitals.
// @param *text string The text
let raw = '';
process.stdin.on('data', (chunk) => { raw += chunk; });
process.stdin.on('end', () => { process.stdout.write(JSON.parse(raw).text.toUpperCase()); });
`,
    );
    expect(textOf(await workspace.toolbox().call('capitalize', { text: 'straße ✓' }))).toBe('STRASSE ✓');
  });
});

describe('input of a script', () => {
  const SPY = `#!/usr/bin/env node
// @description Tell everything.
// @param *text string
// @param my-number number
// @param flag boolean
// @param list array
// @param thing object
// @param other string
const { readFileSync } = require('node:fs');
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(WIELD|OCTOMIND)_(?!CALL)/.test(name)));
console.log(JSON.stringify({ argv: process.argv.slice(2), cwd: process.cwd(), stdin: readFileSync(0, 'utf8'), env }));
`;

  spec('SCR-10 SCR-11', 'has no arguments, the workdir, one JSON object and variables with both prefixes', async () => {
    const workspace = createWorkspace();
    workspace.script('spy', SPY);
    const input = { text: 'a\nb', 'my-number': -1.5, flag: false, list: [1, 'x'], thing: { a: null } };
    const { structured } = await workspace.toolbox().call('spy', input);
    const parameters = {
      PARAM_TEXT: 'a\nb',
      PARAM_MY_NUMBER: '-1.5',
      PARAM_FLAG: 'false',
      PARAM_LIST: '[1,"x"]',
      PARAM_THING: '{"a":null}',
      TOOL_NAME: 'spy',
      WORKDIR: workspace.dir,
    };
    const named = (prefix: string) =>
      Object.fromEntries(Object.entries(parameters).map(([name, value]) => [`${prefix}_${name}`, value]));
    expect(structured).toEqual({
      argv: [],
      cwd: workspace.dir,
      stdin: JSON.stringify(input),
      env: { ...named('WIELD'), ...named('OCTOMIND') },
    });
  });

  spec('SCR-11', 'passes a value that is too large for a variable only on stdin', async () => {
    const workspace = createWorkspace();
    workspace.script('spy', SPY);
    const large = 'x'.repeat(96 * 1024 + 1);
    const { structured } = await workspace.toolbox().call('spy', { text: large, other: 'small' }, { full: true });
    const { env, stdin } = structured as { env: Record<string, string>; stdin: string };
    expect(env).not.toHaveProperty('WIELD_PARAM_TEXT');
    expect(env).toHaveProperty('WIELD_PARAM_OTHER', 'small');
    expect(JSON.parse(stdin)).toEqual({ text: large, other: 'small' });
  });

  spec('SCR-11', 'omits the largest variables until the rest fits', async () => {
    const workspace = createWorkspace();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    workspace.script(
      'count',
      `#!/bin/sh\n# @description D\n${names.map((name) => `# @param ${name} string`).join('\n')}\nenv | grep -c ^WIELD_PARAM_\n`,
    );
    const sizes = [10, 60_000, 70_000, 80_000, 90_000, 95_000];
    const input = Object.fromEntries(names.map((name, index) => [name, 'y'.repeat(sizes[index]!)]));
    const result = await workspace.toolbox().call('count', input);
    expect(result.ok).toBe(true);
    // Twice 10 + 60,000 + 70,000 + 80,000 stays under 512 KiB; the next one does not.
    expect(textOf(result).trim()).toBe('4');
  });

  spec.thorough('SCR-10', 'does not have to be read, and may be closed early', async () => {
    const workspace = createWorkspace();
    const body = '# @description D\n# @param text string\n';
    workspace.script('deaf', `#!/bin/sh\n${body}echo fine\n`);
    workspace.script('rude', `#!/bin/sh\n${body}exec 0<&-\nsleep 0.2\necho fine\n`);
    const toolbox = workspace.toolbox();
    for (const name of ['deaf', 'rude']) {
      const result = await toolbox.call(name, { text: 'z'.repeat(3_000_000) });
      expect(result).toMatchObject({ ok: true, content: [{ text: 'fine\n' }] });
    }
  });

  spec('SCR-9', 'is rejected with all faults at once, and nothing runs', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'touch',
      '#!/bin/sh\n# @description D\n# @param *a int\n# @param *b string\ntouch "$WIELD_WORKDIR/ran"\n',
    );
    const toolbox = workspace.toolbox();
    const result = await toolbox.call('touch', { a: 'many', c: 1 });
    expect(result).toMatchObject({ ok: false, error: { code: 'invalid_input' } });
    const faults = result.error?.data?.faults as { path: string }[];
    expect(faults.map((fault) => fault.path).sort()).toEqual(['/a', '/b', '/c']);
    for (const input of [null, [], 'text', 1, { a: 1.5, b: '' }, { a: 1, b: 2 }, {}]) {
      expect((await toolbox.call('touch', input)).error?.code).toBe('invalid_input');
    }
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
    expect((await toolbox.call('touch', { a: 1, b: '' })).ok).toBe(true);
    expect(readFileSync(join(workspace.dir, 'ran'), 'utf8')).toBe('');
  });
});

describe('output of a script', () => {
  const run = async (body: string) => {
    const workspace = createWorkspace();
    workspace.script('say', `#!/bin/sh\n# @description D\n${body}\n`);
    return workspace.toolbox().call('say', {});
  };

  spec('SCR-12', 'has stderr after a line [stderr], if it is not blank', async () => {
    expect(textOf(await run('echo out; echo warn >&2'))).toBe('out\n[stderr]\nwarn\n');
    expect(textOf(await run('printf out; printf warn >&2'))).toBe('out\n[stderr]\nwarn');
    expect(textOf(await run('printf out; echo "  " >&2'))).toBe('out');
    expect(textOf(await run('echo warn >&2'))).toBe('[stderr]\nwarn\n');
  });

  spec('SCR-12 TOOL-22', 'is also structured if it is one JSON value, with unchanged text', async () => {
    const result = await run(`printf '{ "a": [1, 2] }\\n'; echo note >&2`);
    expect(result.structured).toEqual({ a: [1, 2] });
    expect(textOf(result)).toBe('{ "a": [1, 2] }\n[stderr]\nnote\n');
    expect((await run('echo 42')).structured).toBe(42);
    expect((await run('echo null')).structured).toBeNull();
    for (const text of ['1 2', '{} {}', 'plain', '{oops}', '']) {
      expect(await run(`printf '%s' '${text}'`)).not.toHaveProperty('structured');
    }
  });

  spec('SCR-13', 'is tool_failed with tool, status and both streams for a non-zero exit', async () => {
    const result = await run('echo partial; echo boom >&2; exit 3');
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'tool_failed', message: 'say exited with status 3' },
      meta: { exitCode: 3 },
    });
    expect(textOf(result)).toBe('[stderr]\nboom\n[stdout]\npartial\n');
    expect(result).not.toHaveProperty('structured');
    expect((await run('kill -9 $$')).error).toMatchObject({
      code: 'tool_failed',
      message: 'say was ended by SIGKILL',
    });
  });
});
