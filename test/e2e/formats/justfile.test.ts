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
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('just-pass', { args: ['a b', '$x'] }))).toBe('just\npass\na b\n$x');
    for (const input of [{ target: '$(id)' }, { target: 'a', flags: ['--x'] }, { flags: ['x'] }, { target: 'a;b' }])
      expect((await toolbox.call('just-build', input)).error?.code).toBe('invalid_input');
    expect((await toolbox.call('just-twice', { env: '$(id)' })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('just-test', { names: [] })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('just-say', { text: '-x' })).error?.code).toBe('invalid_input');
  });

  spec('TSK-10 TSK-6', 'takes any text only where it certainly does not become text of a shell', async () => {
    const any = [
      'say name:\n    @echo {{ quote(name) }}\n',
      'say name other="x": build\n    echo "hi" {{quote(name)}} --b={{quote(other)}} > out\n    echo {{other}}\n',
      "set shell := ['bash', '-euo', 'x']\n[doc('Say')]\nsay name:\n    @echo done\n",
      'set shell := ["/bin/bash", "-uc"]\nsay name: # (\n    @echo {{quote(name)}}\nbuild:\n    true\n',
      'set positional-arguments\nsay name:\n    @echo {{os()}} "$1"\n',
      'import "x.just"\nsay $name:\n    #!/usr/bin/env python3\n    import os; print(os.environ["name"])\n',
    ];
    const words = [
      // Another declaration may run.
      '[macos]\nsay name:\n    @echo {{quote(name)}}\n\n[linux]\nsay name:\n    @echo {{name}}\n',
      'set allow-duplicate-recipes := true\nsay name:\n    @echo {{quote(name)}}\nsay name:\n    @echo {{name}}\n',
      'import "x.just"\n[macos]\nsay name:\n    @echo {{quote(name)}}\n',
      '[\n  macos\n]\nsay name:\n    @echo x\n',
      // The dependency gets the value.
      'say name: (build\n    name)\n    @echo x\n\nbuild name:\n    @echo {{name}}\n',
      'say name: \\\n  (build name)\n    @echo x\n',
      'say name: (build f"{{name}}")\n    @echo x\n',
      // Braces in strings, and expressions over several lines.
      'say name:\n    @echo {{ "}}" + name }}\n',
      'say name:\n    @echo {{ "\n" + name }}\n',
      'say name:\n    @echo {{ (\n"a" + name) }}\n',
      'say name:\n    @echo {{ quote(name) + name }}\n',
      // Inside of quotes, substitutions and text that is read again.
      'say name:\n    @echo "{{ quote(name) }}"\n',
      "say name:\n    @bash -c 'echo {{ quote(name) }}'\n",
      'say name:\n    @echo "a \\\n    {{quote(name)}}"\n',
      "say name:\n    @echo {{q}} {{quote(name)}} {{q}}\nq := '\"'\n",
      'say name:\n    @echo `echo {{quote(name)}}`\n',
      'say name:\n    @eval echo {{quote(name)}}\n',
      'say name:\n    ssh host echo {{quote(name)}}\n',
      'say name:\n    echo # {{quote(name)}}\n',
      // Another language, and another function.
      'say name:\n    #!/usr/bin/env bash\n    cat <<EOF\n    {{quote(name)}}\n    EOF\n',
      '[script("python3")]\nsay name:\n    print({{quote(name)}})\n',
      'set shell := ["python3", "-c"]\nsay name:\n    print({{quote(name)}})\n',
      'import "x.just"\nsay name:\n    @echo {{quote(name)}}\n',
      'set unstable\nquote(x) := x\nsay name:\n    @echo {{quote(name)}}\n',
    ];
    const codes = async (texts: readonly string[]): Promise<[string, string | undefined][]> => {
      const answers = texts.map(async (justfile): Promise<[string, string | undefined]> => {
        const toolbox = createTasks({ justfile }, '["justfile"]').toolbox();
        expect([justfile, (await toolbox.call('just-say', { name: 'two words' })).error]).toEqual([
          justfile,
          undefined,
        ]);
        return [justfile, (await toolbox.call('just-say', { name: '$(id) "x"; é' })).error?.code];
      });
      return Promise.all(answers);
    };
    expect(await codes(any)).toEqual(any.map((text) => [text, undefined]));
    expect(await codes(words)).toEqual(words.map((text) => [text, 'invalid_input']));
  });

  spec('TSK-10 TSK-2', 'leaves out recipes that are declared with several lists of parameters', async () => {
    const justfile = '[macos]\nsay a:\n    @echo {{a}}\n\n[linux]\nsay a b:\n    @echo {{b}} {{a}}\n';
    const toolbox = createTasks({ justfile }, '["justfile"]').toolbox();
    expect(await toolbox.list()).toEqual([]);
    expect((await toolbox.catalog.problems()).map(({ message }) => message)).toEqual([
      'left out: say: it is declared several times, with other parameters',
    ]);
  });
});
