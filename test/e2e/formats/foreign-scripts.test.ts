// Scripts with headers of other programs: argc (llm-functions) and Raycast.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const ARGC = `#!/usr/bin/env bash
set -e

# @describe Collect values.
# In two lines.
# @option --city!                   The city
# @option -m --mode![fast|slow]     How to go
# @option --unit[=metric|imperial]  The unit
# @option --count <INT>             How often
# @option --word*                   Words
# @flag --loud                      Say it loudly
# @arg rest~                        The rest

# @env TOKEN_OF_TEST! A token
# @env LLM_OUTPUT=/dev/stdout The output path

main() {
    echo "to stdout"
    printf '%s|' "$argc_city" "$argc_mode" "$argc_unit" "\${argc_count:-none}" "\${argc_word[@]}" "\${argc_loud:-0}" "$@" >> "$LLM_OUTPUT"
    [ "$argc_city" != fail ] || { false; echo unreachable; }
}

eval "$(argc --argc-eval "$0" "$@")"
`;
const RAYCAST = `#!/bin/bash

# Required parameters:
# @raycast.schemaVersion 1
# @raycast.title Search Flights
# @raycast.mode silent
# @raycast.packageName Web Searches
# @raycast.needsConfirmation true
# @raycast.argument1 { "type": "text", "placeholder": "from city", "percentEncoded": true }
# @raycast.argument2 { "type": "dropdown", "placeholder": "Class", "optional": true, "data": [{"title": "A", "value": "a"}] }

echo "from $1 class '$2' of $#"
`;

spec('SCR-29', 'runs scripts of argc as they are, without argc', async () => {
  const workspace = createWorkspace();
  workspace.config('[env]\npass = ["TOKEN_OF_TEST"]\n');
  Object.assign(workspace.env, { TOKEN_OF_TEST: 'x' });
  workspace.script('collect_values.sh', ARGC);
  const [tool] = json(await wield(workspace, ['list', '--json'])).tools;
  expect(tool).toMatchObject({
    name: 'collect_values',
    format: 'script',
    description: 'Collect values.\nIn two lines.',
  });
  const shown = json(await wield(workspace, ['show', 'collect_values', '--json']));
  const { properties, required } = shown.input;
  expect(required).toEqual(['city', 'mode']);
  expect(properties).toMatchObject({
    city: { type: 'string', description: 'The city' },
    mode: { type: 'string', enum: ['fast', 'slow'] },
    unit: { enum: ['metric', 'imperial'], default: 'metric' },
    count: { type: 'integer' },
    word: { type: 'array', items: { type: 'string' } },
    loud: { type: 'boolean' },
    rest: { type: 'array' },
  });
  const call = async (input: object) => {
    const run = await wield(workspace, ['call', 'collect_values', '--input', JSON.stringify(input)]);
    return [run.status, run.stdout];
  };
  const hostile = `it's $(touch owned) "x"; \`id\``;
  const input = { city: hostile, mode: 'fast', count: 2, word: ['a b', '$HOME'], loud: true, rest: ['-r', '*'] };
  expect(await call(input)).toEqual([0, `to stdout\n${hostile}|fast|metric|2|a b|$HOME|1|-r|*|`]);
  expect(await call({ city: 'a', mode: 'slow' })).toEqual([0, 'to stdout\na|slow|metric|none|0|']);
  expect((await call({ city: 'fail', mode: 'slow' }))[0]).not.toBe(0);
  expect((await call({ city: 'a', mode: 'other' }))[0]).toBe(2);
});

const ODD = `#!/usr/bin/env bash
# @describe Print values.
# @flag -v                           Verbose output
# @flag   -q
# @flag -2 --12hour                  Clock
# @flag +x                           Off
# @flag -?                           Help
# @flag --v                          The same
# @option -n <INT>                   How often
# @option -o --out-dir.name=a/b $OUT_DIR <DIR> Where to
# @option --size <INT> <INT>         Width and height
# @option --copy! <FROM> <TO+>       Files
# @option --pair* <KEY> <VALUE>      Pairs
# @option --tag*,                    Tags
# @option --level=3 <INT>            Level
# @option --file <FILE>              A file
# @option --maybe[?\`_list\`]        One of them
# @arg file!                         Another file
# @arg others* <PATH>                More
main() {
    declare -p \${!argc_*} | sed 's/^declare -. //'
    printf '%s;' "$@"
}
eval "$(argc --argc-eval "$0" "$@")"
`;

spec('SCR-29', 'reads every form of names and values of argc', async () => {
  const workspace = createWorkspace();
  workspace.script('odd.sh', ODD);
  const { properties, required } = json(await wield(workspace, ['show', 'odd', '--json'])).input;
  expect(required).toEqual(['copy', 'arg_file']);
  expect(properties).toMatchObject({
    v: { type: 'boolean', description: 'Verbose output' },
    q: { type: 'boolean' },
    '12hour': { type: 'boolean', description: 'Clock' },
    plus_x: { type: 'boolean' },
    _: { type: 'boolean', description: 'Help' },
    n: { type: 'integer', description: 'How often' },
    out_dir_name: { type: 'string', default: 'a/b', description: 'Where to' },
    size: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 },
    copy: { type: 'array', items: { type: 'string' }, minItems: 2 },
    pair: { type: 'array', minItems: 2 },
    tag: { type: 'array' },
    level: { type: 'integer', default: 3 },
    file: { type: 'string', description: 'A file' },
    arg_file: { type: 'string', description: 'Another file' },
    others: { type: 'array', description: 'More' },
  });
  expect(properties.copy).not.toHaveProperty('maxItems');
  expect(properties.tag).not.toHaveProperty('minItems');
  expect(properties.maybe).not.toHaveProperty('enum');
  const flags = { v: true, q: false, '12hour': true, plus_x: true };
  const input = { ...flags, n: 2, size: [3, 4], copy: ['a b', 'c', "d'"], file: 'x', arg_file: 'y', others: ['-z'] };
  const run = await wield(workspace, ['call', 'odd', '--input', JSON.stringify(input)]);
  expect(run.stdout.split('\n')).toEqual([
    'argc_12hour="1"',
    `argc_copy=([0]="a b" [1]="c" [2]="d'")`,
    'argc_file="y"',
    'argc_level="3"',
    'argc_n="2"',
    'argc_others=([0]="-z")',
    'argc_out_dir_name="a/b"',
    'argc_plus_x="1"',
    'argc_size=([0]="3" [1]="4")',
    'argc_v="1"',
    'y;-z;',
  ]);
  const short = await wield(workspace, ['call', 'odd', '--input', JSON.stringify({ ...input, size: [3] })]);
  expect(short.status).toBe(2);
});

spec('SCR-29', 'runs Raycast script commands with arguments by position', async () => {
  const workspace = createWorkspace();
  workspace.script('search-flights.sh', RAYCAST);
  const { tools } = json(await wield(workspace, ['list', '--json']));
  expect(tools).toMatchObject([{ name: 'search-flights', description: 'Search Flights', tags: ['web-searches'] }]);
  const run = await wield(workspace, ['call', 'search-flights', '--from-city', 'Bad Nauheim & co', '--class', 'a']);
  expect([run.status, run.stdout]).toEqual([0, "from Bad%20Nauheim%20%26%20co class 'a' of 2\n"]);
  expect((await wield(workspace, ['call', 'search-flights', '--from-city', '-x'])).stdout).toBe(
    "from -x class '' of 2\n",
  );
  expect((await wield(workspace, ['call', 'search-flights', '--from-city', 'x', '--class', 'b'])).status).toBe(2);
  expect(json(await wield(workspace, ['show', 'search-flights', '--json']))).toMatchObject({
    traits: { destructive: true },
  });
});

spec('SCR-29', 'says why a header of another program cannot be used, and leaves other files alone', async () => {
  const workspace = createWorkspace();
  workspace.script('many.sh', '#!/usr/bin/env bash\n# @describe All.\n# @cmd One\none() { :; }\n');
  workspace.script('odd.sh', '#!/usr/bin/env bash\n# @describe Odd.\n# @option !!\n');
  workspace.script('broken.py', '#!/usr/bin/env python3\n# @raycast.title Broken\n# @raycast.argument1 {oops}\n');
  workspace.script('plain.sh', '#!/usr/bin/env bash\n# @describe Not executable.\n', 0o644);
  workspace.script('helper.sh', '#!/usr/bin/env bash\n# A helper.\n');
  workspace.script('comment.js', '// @raycast.title No shebang\n');
  const tools = join(workspace.dir, '.agents/tools');
  writeFileSync(join(tools, 'latin.sh'), Buffer.from('#!/bin/sh\n# @describe Caf\xe9\n', 'latin1'), { mode: 0o755 });
  mkdirSync(join(tools, 'directory.sh'));
  symlinkSync('nowhere', join(tools, 'gone.sh'));
  const { tools: listed, problems } = json(await wield(workspace, ['list', '--json']));
  expect(listed).toEqual([]);
  expect(
    problems.map(({ path, message }: Record<string, string>) => `${path!.split('/').at(-1)}: ${message}`).sort(),
  ).toEqual([
    'broken.py: has an argument1 that is not valid JSON',
    'many.sh: has subcommands (@cmd), which are not supported',
    'odd.sh: has an unreadable @option: !!',
    'plain.sh: not executable',
  ]);
});

spec('SCR-29', 'says that a file without its extension has the header of another program', async () => {
  const workspace = createWorkspace();
  workspace.script('shot', '#!/usr/bin/env bash\n# @describe Take a shot\n# @flag -q\necho x\n');
  workspace.script('title', '#!/bin/sh\n# @raycast.title Title\necho x\n');
  const { problems } = await workspace.toolbox().catalog.survey();
  expect(problems.map(({ message, hint }) => [message, /such as (\S+),/.exec(hint ?? '')?.[1]])).toEqual([
    ['has the header of another program, but not its extension', 'shot.sh'],
    ['has the header of another program, but not its extension', 'title.sh'],
  ]);
});
