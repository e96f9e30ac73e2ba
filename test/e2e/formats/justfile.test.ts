// Recipes of justfiles.

import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { spec } from '../../support/spec.js';
import { createTasks } from '../../support/tasks.js';

const JUSTFILE = `#!/usr/bin/env -S just --justfile
set dotenv-load := true
set shell := ["bash", "-uc"]
version := \`git describe --tags\`
export RUST_LOG := "debug"
text := '''
fake: not a recipe
'''
alias b := build
import 'other.just'
mod deploy

# Build the project.
[group: 'rust']
build target='debug' *flags:
    cargo build --profile {{target}} {{flags}}

# A comment that is not for test.

test +names: build
    cargo test {{names}}

[private]
helper:
    true
_hidden:
    true

[group("release"), doc("Publish it.")]
publish-crate registry=("crates" + '.io') channel=env_var_or_default('X', 'y') $TOKEN=\`cat token\`: (build 'release') && test
  #!/usr/bin/env bash
  cargo publish

[confirm("sure?")]
nuke:
    rm -rf /

@say text:
    echo {{quote(text)}}

[positional-arguments]
pass *args:
    echo "$@"

[positional-arguments]
twice env: (say env)
    echo "$1"

[linux]
open: 
    xdg-open x
[macos]
open:
    open x

odd %%: x
    true
`;

describe.concurrent('justfile', () => {
  spec('TSK-10', 'reads recipes with parameters, descriptions and groups', async () => {
    const workspace = createTasks({ justfile: JUSTFILE }, '["justfile"]');
    const toolbox = workspace.toolbox();
    const tools = await toolbox.list();
    expect(
      tools.map(({ name, description, input }) => [
        name,
        description,
        Object.keys(input.json.properties ?? {}),
        input.json.required,
      ]),
    ).toEqual([
      ['just-build', 'Build the project. (rust)', ['target', 'flags'], []],
      ['just-open', 'Run just open', [], []],
      ['just-pass', 'Run just pass', ['args'], []],
      ['just-publish-crate', 'Publish it. (release)', ['registry', 'channel', 'TOKEN'], []],
      ['just-say', 'Run just say', ['text'], ['text']],
      ['just-test', 'Run just test', ['names'], ['names']],
      ['just-twice', 'Run just twice', ['env'], ['env']],
    ]);
    expect((await toolbox.catalog.problems()).map(({ message }) => message)).toEqual([
      expect.stringContaining('"other.just"'),
      expect.stringContaining('"deploy"'),
      'left out: nuke: it asks for confirmation at a terminal',
      'left out: odd: its parameters cannot be read',
    ]);
    expect((await toolbox.find('just-publish-crate')).input.json.properties).toMatchObject({
      registry: { description: expect.stringMatching(/^Default: \("crates" \+ '.io'\)/) },
    });
  });

  spec('TSK-10 TSK-4 TSK-6', 'plans the exact command line, and refuses values that a shell would read', async () => {
    const workspace = createTasks({ justfile: JUSTFILE }, '["justfile"]');
    expect(await workspace.plan('just-build', {})).toEqual(['just', 'build']);
    expect(await workspace.plan('just-build', { target: 'a b', flags: ['x', 'y z'] })).toEqual([
      'just',
      'build',
      'a b',
      'x',
      'y z',
    ]);
    expect(await workspace.plan('just-say', { text: '$(id) "x"; é' })).toEqual(['just', 'say', '$(id) "x"; é']);
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('just-pass', { args: ['a b', '$x'] }))).toBe('just\npass\na b\n$x');
    for (const input of [{ target: '$(id)' }, { target: 'a', flags: ['--x'] }, { flags: ['x'] }, { target: 'a;b' }])
      expect((await toolbox.call('just-build', input)).error?.code).toBe('invalid_input');
    expect((await toolbox.call('just-twice', { env: '$(id)' })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('just-test', { names: [] })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('just-say', { text: '-x' })).error?.code).toBe('invalid_input');
  });
});
