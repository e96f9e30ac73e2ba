// Targets of Makefiles.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { hasProgram, notInstalled } from '../../support/machine.js';
import { spec, specIf } from '../../support/spec.js';
import { createTasks, namesOf } from '../../support/tasks.js';

const MAKEFILE = `# A project in Go.
GO ?= go
VERSION ?= 1.0 # the next one
export NAME ?= Ada
SHELL := /bin/bash
FILES := $(shell touch ran)
include other.mk
-include $(wildcard *.d)

define LICENSE
fake: not-a-target
endef

.PHONY: all test \\
        docs/site
all: build test ## Build and test

# Run the tests,
# slow ones too.
test: build
\t$(GO) test ./...
\t@echo "key: value"

## greet: Say hello.
.PHONY: greet
greet:
\t@echo Hello, $(NAME) of \${VERSION}

build: CGO := 0
build lint::
\t@cd . && $(GO) $@
docs/site: ; echo site
bin/app: main.go
%.o: %.c
\tcc $<
.DEFAULT_GOAL := all
.SUFFIXES:
$(OUT): x
ifeq ($(OS),Windows_NT)
windows: ; echo x
else
build: ; echo y
endif
ifdef CI
ifeq (a,b)
both: ; echo 1
else ifdef X
both:
\t@echo 2
else
both: ; echo 3
endif
else
# In each case.
both: ; echo 4
endif
$(error WHAT is required, ex: x)
help:  ## Show this: help
\t@grep -E '^[a-z]+:.*## ' Makefile
url = http://example.com:80/x
`;

describe.concurrent('Makefile', () => {
  spec('TSK-9', 'reads targets with their descriptions', async () => {
    const workspace = createTasks({ Makefile: MAKEFILE }, '["Makefile"]');
    const toolbox = workspace.toolbox();
    const tools = await toolbox.list();
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['make-all', 'Build and test'],
      ['make-both', 'In each case.'],
      ['make-build', 'Run make build'],
      ['make-docs-site', 'Run make docs/site'],
      ['make-greet', 'Say hello.'],
      ['make-help', 'Show this: help'],
      ['make-lint', 'Run make lint'],
      ['make-test', 'Run the tests, slow ones too.'],
    ]);
    expect((await toolbox.catalog.problems()).map(({ line, message }) => [line, message])).toEqual([
      [7, 'targets of included files are left out: other.mk, $(wildcard *.d)'],
      [undefined, 'left out: $(OUT): named by a variable, which only make can expand'],
      [undefined, 'left out: windows: declared in a conditional, which only make can evaluate'],
    ]);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });

  spec('TSK-9', 'a comment does not repeat the name of its target', async () => {
    const text =
      '#? lint: Run linters\nlint:\n\ttrue\n\n# bats: run suites\n# Fails if there are none\nbats:\n\ttrue\n';
    const workspace = createTasks({ Makefile: text }, '["Makefile"]');
    const tools = await workspace.toolbox().list();
    expect(Object.fromEntries(tools.map(({ name, description }) => [name, description]))).toEqual({
      'make-bats': 'run suites Fails if there are none',
      'make-lint': 'Run linters',
    });
  });

  spec('TSK-9 TSK-6', 'passes variables, which cannot become commands', async () => {
    const workspace = createTasks({ Makefile: MAKEFILE }, '["Makefile"]');
    const toolbox = workspace.toolbox();
    const { input } = await toolbox.find('make-greet');
    expect(input.json.properties).toMatchObject({
      VERSION: { type: 'string', description: expect.stringMatching(/^Default: 1.0;/) },
      NAME: { type: 'string' },
    });
    for (const value of [
      '$(id)',
      '`id`',
      'a;id',
      'a|b',
      'a&b',
      '"x"',
      "it's",
      'a\nb',
      '-n',
      'x --eval=y',
      '$$HOME',
      'a>b',
      '#',
      '~',
      '*',
    ])
      expect([value, (await toolbox.call('make-greet', { NAME: value })).error?.code]).toEqual([
        value,
        'invalid_input',
      ]);
    for (const args of [
      ['-f', 'x'],
      ['--eval=x'],
      ['clean'],
      ['SHELL=/bin/x'],
      ['GO=/tmp/x'],
      ['MAKEFLAGS=x'],
      ['OTHER=1'],
      ['PATH=/tmp/x'],
      ['LD_PRELOAD=/tmp/x'],
      ['BASH_ENV=x'],
      ['VERSION=$(id)'],
      ['VERSION=1;id'],
    ])
      expect([args, (await toolbox.call('make-test', { args })).error?.code]).toEqual([args, 'invalid_input']);
  });

  spec('TSK-9', 'sets only variables that the file gives a value, and uses as arguments only', async () => {
    const settableIn = async (declarations: string, recipe: string): Promise<string[]> => {
      const text = `${declarations}\n.PHONY: t other\nother:\n\t@true\nt:\n\t${recipe}\n`;
      const toolbox = createTasks({ Makefile: text }, '["Makefile"]').toolbox();
      const names = new Set(declarations.match(/[A-Z][A-Z_0-9]*/gi));
      const properties = Object((await toolbox.find('make-t')).input.json.properties);
      const answers = [...names].map(async (name) => {
        const { error } = await toolbox.call('make-other', { args: [`${name}=x`] });
        // A parameter of the target that uses it, if it has a default.
        const isRefused = error?.code === 'invalid_input';
        if (Object.hasOwn(properties, name)) expect([text, isRefused]).toEqual([text, false]);
        return isRefused ? [] : [name];
      });
      return (await Promise.all(answers)).flat().sort();
    };
    for (const [declarations, recipe, settable] of [
      ['GO ?= go\nGOTEST = $(GO) test', '$(GOTEST) ./...', []],
      ['GO ?= go\nPKG ?= ./...', '@$(GO) test $(PKG)', ['PKG']],
      ['X ?= x', '@if $(X) y; then echo; fi', []],
      ['X ?= x', '@! $(X) y', []],
      ['X ?= x', '@echo a | xargs $(X)', []],
      ['X ?= x', '@"$(X)" --version', []],
      ['X ?= x', '@nohup $(X) &', []],
      ['X ?= x', '@timeout 5 $(X)', []],
      ['X ?= x', '@sudo -u root $(X)', []],
      ['X ?= x', "@sh -c 'cd y; $(X)'", []],
      ['X ?= x', '@$(X)/tool y', []],
      ['X ?= x', '@npx $(X)', []],
      ['X ?= x', '@find . -exec $(X) y', []],
      ['X ?= x', '@cd $(X) && ./run', []],
      ['X ?= x', '@$(MAKE) $(X)', []],
      ['X ?= x', '@cmd=$(X); $$cmd', []],
      ['X ?= x', '@for one in $(X); do $$one; done', []],
      ['X ?= x', '@LD_PRELOAD=$(X) ls', []],
      ['X ?= x', '@echo $(X) $(shell $(X))', []],
      ['export X ?= x', '@echo $(X); $$X', []],
      ['X ?= x\nY := $(shell $(X) y)', '@echo $(X) $(Y)', ['Y']],
      ['X ?= x\nexport PATH := $(X):$(PATH)', '@echo $(X)', []],
      ['X ?= x\nSHELL = $(X)', '@echo $(X)', []],
      ['X ?= x\nu: $(X)', '@echo $(X)', []],
      ['X ?= x\ninclude $(X).mk', '@echo $(X)', []],
      ['X ?= x\ndefine f\n$(X)\nendef', '@echo $(X)', []],
      ['C_A ?= x\nX ?= A', '@echo $(C_A); $(C_$(X))', []],
      ['ifdef CI\n\tRUN = $(X) y\nendif\nRUN ?= y\nX ?= x', '@echo $(X); $(RUN)', []],
      ['CC ?= x\nPATH ?= x\nNODE_OPTIONS ?= x\nMAKEFLAGS += x', '@echo $(CC) $(PATH) $(NODE_OPTIONS)', []],
      ['NAME = site\nTAG ?= 1\nIMAGE = $(NAME):$(TAG)', 'docker build -t $(IMAGE) .', ['IMAGE', 'NAME', 'TAG']],
      ['A ?= x\nOS ?= x', '@GOOS=$(OS) python -m pytest $(A) --x=$(A)', ['A', 'OS']],
      ['ifeq ($(X),y)\nendif\nX ?= x\nUNUSED = y', '-mkdir -p "build/$(X)" && echo $(X) > out', ['X']],
    ] as const)
      expect([declarations, recipe, await settableIn(declarations, recipe)]).toEqual([declarations, recipe, settable]);
    const none = createTasks({ Makefile: 'test:\n\t@true\n' }, '["Makefile"]').toolbox();
    expect((await none.find('make-test')).input.json.properties ?? {}).toEqual({});
    expect((await none.call('make-test', { args: ['X=1'] })).error?.code).toBe('invalid_input');
  });

  specIf(hasProgram('make'), notInstalled('make'), 'TSK-9 TSK-4', 'runs the target', async () => {
    const workspace = createTasks(
      {
        Makefile: 'NAME ?= Ada\nV = $(W)\nW = 0\nhello:\n\t@echo Hello, $(NAME)\nshow:\n\t@echo [$(V)]\n',
        'sub/Makefile': 'here:\n\t@pwd\n',
      },
      '["Makefile", "sub/Makefile"]',
    );
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('make-hello', {}))).toBe('Hello, Ada\n');
    expect(textOf(await toolbox.call('make-hello', { NAME: 'Grace Hopper é' }))).toBe('Hello, Grace Hopper é\n');
    expect(textOf(await toolbox.call('make-show', { args: ['V=1', 'W=2'] }))).toBe('[1]\n');
    expect(textOf(await toolbox.call('make-sub-here', {}))).toBe(`${join(workspace.dir, 'sub')}\n`);
  });

  spec('TSK-2', 'refuses a file that make would not read', async () => {
    const workspace = createTasks({ Makefile: 'test:\n\ttrue\n' }, '["Makefile"]');
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(['make-test']);
    workspace.write('GNUmakefile', 'test:\n\tfalse\n');
    expect((await toolbox.call('make-test', {})).error?.code).toBe('not_found');
    expect(await toolbox.catalog.problems()).toMatchObject([
      { severity: 'error', message: expect.stringContaining('GNUmakefile comes first') },
    ]);
  });

  spec('TSK-9', 'reads other recipe prefixes, Windows line ends and odd files', async () => {
    const files = [
      '.RECIPEPREFIX = >\na:\n> echo b: c\n',
      'a:\r\n\techo x\r\n',
      'a: b \\\n  c\n\techo \\\n\tb: x\n',
      'a&:\n\techo\n',
    ];
    for (const text of files)
      expect(await namesOf(createTasks({ Makefile: text }, '["Makefile"]'))).toEqual(['make-a']);
    for (const text of [
      'with\\ space:\n\techo x\n',
      '',
      '\0',
      ':',
      'endef\nendif\nelse\n',
      'define X',
      'ifeq (a,b)',
      '\\',
      `${'a'.repeat(99999)}`,
    ])
      expect(await namesOf(createTasks({ Makefile: text }, '["Makefile"]'))).toEqual([]);
  });
});
