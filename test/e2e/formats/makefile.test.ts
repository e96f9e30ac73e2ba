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
      ['V=$(id)'],
      ['V=1;id'],
    ])
      expect([args, (await toolbox.call('make-test', { args })).error?.code]).toEqual([args, 'invalid_input']);
  });

  specIf(hasProgram('make'), notInstalled('make'), 'TSK-9 TSK-4', 'runs the target', async () => {
    const workspace = createTasks(
      {
        Makefile: 'NAME ?= Ada\nhello:\n\t@echo Hello, $(NAME)\nshow:\n\t@echo [$(V)]\n',
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
