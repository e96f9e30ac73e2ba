// Gate: what the documents show is true. Their sessions and programs run (in `npm test` those of the README only, in
// `npm run gates` all), their links lead somewhere.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, readOutline } from '../../site/outline.mjs';
import { ALIASES } from '../../src/cli/aliases.js';
import { VERBS } from '../../src/cli/verbs.js';
import { keyName, leaves } from '../../src/config/key-path.js';
import { keys } from '../../src/config/keys.js';
import type { Json } from '../../src/core/json.js';
import { readShape } from '../../src/core/shape.js';
import { createJsonSchema } from '../../src/schema/json.js';
import { wield } from '../support/cli.js';
import { toConfigSchema } from '../support/config-schema.js';
import { findBlocks, findSteps, listDocuments, ROOT, readDocument, withoutBlocks } from '../support/documents.js';
import { ALL_TESTS } from '../support/effort.js';
import { ADDS, serveModel } from '../support/model-server.js';
import { hasBubblewrap, NO_BUBBLEWRAP } from '../support/sandbox-attempts.js';
import { createStage, follow, inWordsOf } from '../support/session.js';
import { spec, testThorough } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const run = promisify(execFile);
const documents = listDocuments();
// The specification speaks of what is still to come.
const present = documents.filter((path) => !path.startsWith('spec/'));
// What a newcomer reads first is tried in every run.
const testOf = (path: string) => (path === 'README.md' ? test : testThorough);
const stepsOf = (path: string) => findBlocks(readDocument(path)).flatMap(findSteps);

describe('sessions', () => {
  for (const path of present.filter((document) => stepsOf(document).length > 0)) {
    if (path === 'docs/guides/sandboxes.md' && !hasBubblewrap()) {
      test.skip(`${path} (skipped: ${NO_BUBBLEWRAP})`, { meta: { skipReason: NO_BUBBLEWRAP } }, () => {});
      continue;
    }
    testOf(path)(`${path} prints what it says`, async () => {
      const steps = stepsOf(path);
      const printed = await follow(steps, createStage());
      const show = (outputs: readonly string[]) =>
        steps.map(({ line, command }, at) => `${path}:${line}\n$ ${command}\n${outputs[at]}`);
      expect(show(steps.map(({ output }, at) => inWordsOf(output, printed[at] ?? 'nothing')))).toEqual(
        show(steps.map(({ output }) => output)),
      );
    });
  }

  test('the README and both guides have some', () => {
    for (const path of ['README.md', 'docs/guides/first-tool.md', 'docs/guides/writing-scripts.md'])
      expect(stepsOf(path).length, path).toBeGreaterThan(3);
  });
});

describe('programs', () => {
  // A block that begins with `// name.ts`; each `console.log(…); // text` says what is printed.
  const programs = (ALL_TESTS ? present : ['README.md']).flatMap((path) =>
    findBlocks(readDocument(path))
      .filter(({ language, text }) => language === 'ts' && /^\/\/ \w+\.ts\n/.test(text))
      .map((block) => ({ path, ...block })),
  );

  // All at once, since most of a compiler's time is its start; what it says is told by program.
  const source = (at: number): string => `program${at}.ts`;
  const compiled = new Map<string, string>();
  let said = '';
  beforeAll(async () => {
    const { project, env } = createStage(afterAll);
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
    for (const [at, { text }] of programs.entries()) writeFileSync(join(project, source(at)), text);
    // As `tsc --init` writes it.
    const init =
      '--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --verbatimModuleSyntax --isolatedModules --moduleDetection force --declaration --skipLibCheck --module nodenext';
    const flags = `${init} --target es2023 --types node --checkers 1`.split(' ');
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const files = programs.map((_, at) => source(at));
    await run(process.execPath, [compiler, ...flags, ...files], { cwd: project, env }).catch((error) => {
      said = String(error.stdout);
    });
    for (const file of files) compiled.set(file, readFileSync(join(project, file.replace(/ts$/, 'js')), 'utf8'));
  });

  for (const [at, { path, line, text }] of programs.entries()) {
    test(`${path}:${line} compiles and prints what it says`, async () => {
      expect(said.split('\n').filter((fault) => fault.startsWith(`${source(at)}(`))).toEqual([]);
      const { project, env: own } = createStage();
      // A guide that asks a model gets the one that follows our script.
      const { url } = await serveModel(ADDS);
      const env = {
        ...own,
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'none',
        OPENAI_BASE_URL: `${url}/v1`,
        OPENAI_API_KEY: 'none',
        OLLAMA_HOST: url,
      };
      writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
      writeFileSync(join(project, 'program.js'), compiled.get(source(at))!);
      const { stdout } = await run(process.execPath, ['program.js'], { cwd: project, env });
      const shown = [...text.matchAll(/^\s*console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);
      expect(shown.length).toBeGreaterThan(0);
      expect(stdout.trimEnd().split('\n')).toEqual(shown);
    });
  }

  test('compile without other errors', () => {
    expect(said.split('\n').filter((fault) => fault !== '' && !/^(program\d+\.ts\(|\s)/.test(fault))).toEqual([]);
  });

  test('the README has one', () => {
    expect(programs.some(({ path }) => path === 'README.md')).toBe(true);
  });
});

describe('words', () => {
  test('every relative link resolves to a file and a heading', () => {
    const broken = documents.flatMap((path) =>
      [...withoutBlocks(readDocument(path)).matchAll(/\]\(([^)\s]+)\)/g)]
        .map((match) => match[1]!)
        .filter((link) => !/^[a-z]+:/.test(link) && !leads(path, link))
        .map((link) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('docs/README.md leads to every page, in an order that the site uses', () => {
    const [, ...sections] = readOutline();
    // Each path of a reader is whole, also if others share a page of it.
    expect(sections.slice(0, 3).map(({ pages }) => pages.length)).toEqual([5, 5, 5]);
    const ordered = [...new Set(readOutline().flatMap(({ pages }) => pages.map(({ path }) => path)))];
    const pages = documents.filter((path) => /^docs\/(?!README|decisions\/\d)/.test(path));
    expect(ordered.filter((path) => path !== API).sort()).toEqual(pages);
    expect(ordered.slice(0, 3)).toEqual(['how-wield-works', 'guides/first-tool', 'guides/writing-scripts'].map(pageOf));
  });

  test('no document names a command that does not exist', () => {
    // Tools are commands: the one that `init` makes, the built-in group, and those that documents make.
    const tools = present.flatMap((path) =>
      [...readDocument(path).matchAll(/(?:\.agents\/tools\/|src\/tools\/|@group |group: ')([a-z][\w-]*)/g)].map(
        (match) => match[1]!,
      ),
    );
    const verbs = [...VERBS.map((verb) => verb.name), ...ALIASES.map(({ word }) => word)];
    const known = new Set([...verbs, 'help', 'hello', 'context', ...tools]);
    const unknown = present.flatMap((path) => {
      const text = readDocument(path);
      const inline = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!);
      const typed = stepsOf(path).map((step) => step.command);
      return [...inline, ...typed]
        .flatMap((code) => [...code.matchAll(/(?:^|[\s;|&])wield ([a-z][a-z-]*)/g)])
        .map((match) => match[1]!)
        .filter((verb) => !known.has(verb))
        .map((verb) => `${path}: wield ${verb}`);
    });
    expect(unknown).toEqual([]);
  });

  test('every configuration example is valid, also by the schema for editors', async () => {
    const blocks = present.flatMap((path) =>
      findBlocks(readDocument(path)).filter((block) => block.language === 'toml'),
    );
    expect(blocks.length).toBeGreaterThan(0);
    const schema = createJsonSchema(toConfigSchema());
    for (const { text } of blocks) {
      const document = parse(text) as Json;
      for (const { path, value } of leaves(document)) {
        const name = keyName(path);
        expect(Object.keys(keys())).toContain(name);
        expect(readShape(keys()[name]!.shape, value, path).faults, name).toEqual([]);
      }
      expect(await schema.check(document)).toMatchObject({ ok: true });
    }
    const wrong = ['ask = "x"', 'mode = "al"', '[limits]\ntimout = 1', '[limits]\nqueue = 0', '[skills]\nx = true'];
    for (const text of wrong) expect(await schema.check(parse(text) as Json), text).toMatchObject({ ok: false });
  });

  test.each([
    ['script', 'sh', '.agents/tools/greet', 'Hello, Ada!\n'],
    ['command line', 'json', '.agents/skills/greet/tools.json', 'Hello, Ada\n'],
  ])('the %s of the README is a tool', async (_, language, path, printed) => {
    const blocks = findBlocks(readDocument('README.md')).filter((block) => block.language === language);
    const workspace = createWorkspace();
    workspace.write('.agents/skills/greet/SKILL.md', '---\nname: greet-someone\ndescription: Greet.\n---\n');
    workspace.write(path, `${blocks.at(-1)!.text}\n`, 0o755);
    expect((await wield(workspace, ['call', 'greet', '--name', 'Ada'])).stdout).toBe(printed);
    expect((await wield(workspace, ['call', 'greet', '--nmae', 'Ada'])).status).toBe(2);
  });

  test('every decision has a number of its own, in its title and in the list', () => {
    const pages = documents.filter((path) => /^docs\/decisions\/\d/.test(path));
    const listed = [...readDocument('docs/decisions/README.md').matchAll(/^\| \[(\d{4})\]\((\S+)\)/gm)];
    expect(listed.map(([, , file]) => `docs/decisions/${file}`)).toEqual(pages);
    expect(new Set(listed.map(([, number]) => number)).size).toBe(pages.length);
    for (const [, number, file] of listed)
      expect(readDocument(`docs/decisions/${file}`)).toMatch(new RegExp(`^# ${number}: `));
    const named = documents.flatMap((path) => [...readDocument(path).matchAll(/decision (\d{4})/g)]);
    expect(named.map(([, number]) => number)).toEqual(named.map(() => expect.toBeOneOf(listed.map(([, one]) => one))));
  });
});

spec('CLI-5', 'init makes a first tool as the README shows, trusts what it made, overwrites nothing', async () => {
  const shown = stepsOf('README.md').find((step) => step.command === 'wield init');
  const workspace = createWorkspace();
  const first = await wield(workspace, ['init']);
  expect(first.stdout.trimEnd()).toBe(shown?.output);
  expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(true);

  workspace.script('hello', '#!/bin/sh\n# @description Mine.\necho mine\n');
  const second = await wield(workspace, ['init']);
  expect(second.stdout).toContain('exists   .agents/tools/hello');
  expect((await wield(workspace, ['call', 'hello'])).stdout).toBe('mine\n');

  const other = createWorkspace();
  other.write('.agents/tools/found', '#!/bin/sh\n# @description Not ours.\n', 0o755);
  expect((await wield(other, ['init'])).stdout).toContain('wield trust');
  expect(other.toolbox().state.trust.isTrusted(other.dir)).toBe(false);
});

const pageOf = (name: string): string => `docs/${name}.md`;

function leads(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? from : join(dirname(from), file);
  if (!existsSync(join(ROOT, target))) return false;
  if (anchor === undefined) return true;
  const headings = [...withoutBlocks(readDocument(target)).matchAll(/^#+ (.*)$/gm)];
  return headings.some((match) => slug(match[1]!) === anchor);
}

function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}
