// Text from outside that a person would read differently: no message about a file contains it.

import { relative } from 'node:path';
import fc from 'fast-check';
import { stringify as stringifyToml } from 'smol-toml';
import { describe, expect } from 'vitest';
import { stringify as stringifyYaml } from 'yaml';
import { readConfigFile } from '../../src/config/read.js';
import { isRecord, type Json } from '../../src/core/json.js';
import { readScriptHeader } from '../../src/formats/script/header.js';
import { parseSkillFile } from '../../src/formats/shared/skill-file.js';
import { readSkillMetadata } from '../../src/formats/skill/metadata.js';
import { isSplitLayout, readToolsDescriptor } from '../../src/formats/tools-json/parse.js';
import { parseSourceManifest } from '../../src/install/manifest/source-manifest.js';
import { readServers } from '../../src/upstream/entries/file.js';
import { rounds, SEED } from '../support/effort.js';
import { SAMPLES } from '../support/file-samples.js';
import { spec } from '../support/spec.js';
import { createTasks } from '../support/tasks.js';

/** Clears a line of a terminal, colours it, and turns the text around. */
const HIDDEN = '\u001b[2K\u202e\u200b\u009b31m';
/** Some texts are refused for the others alone. */
const INVISIBLE = '\u202e\u200b';
const SHOWN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u202e]/;

interface Said {
  readonly message: string;
  readonly hint?: string | undefined;
}

/** How each kind of file is read; returns what is said about it. */
const READERS: Readonly<Record<string, (document: Json) => readonly Said[]>> = {
  config: (document) => readConfigFile('config.toml', 'user', stringifyToml(document as object)).problems,
  tools: (document) => {
    const names = isRecord(document) ? [] : (document as readonly Json[]);
    const execution = names.flatMap((tool) =>
      isRecord(tool) ? [{ tool: tool.name, binary: 'cat', subcommand: '' }] : [],
    );
    const whole = isSplitLayout(document)
      ? { tools: document, allowlist: { cat: [''] }, execution }
      : { tools: document };
    return readToolsDescriptor(whole as never).findings;
  },
  skill: (document) => {
    const { skill, errors, warnings } = parseSkillFile(`---\n${stringifyYaml(document)}---\n`, 'directory');
    const metadata = skill === undefined ? undefined : readSkillMetadata(skill.metadata);
    return [...errors, ...warnings, ...(metadata?.warnings ?? []), ...(metadata?.error ? [metadata.error] : [])];
  },
  mcp: (document) => readServers(JSON.stringify(document), { file: 'mcp.json', owner: 'user' }).problems,
  source: (document) => parseSourceManifest(stringifyToml(document as object)).findings,
};

/** Every tag, with mistakes. */
const HEADER = `#!/usr/bin/env -S bash
# @description A thing.
# @param *one integer(1..9)=3 One
# @param two enum(a|b)=a Two
# @param two string[1..] Again
# @param x-y string X
# @param x_y string Y
# @param odd word Odd
# @param *def string="a" Default
# @param 1st number(0.5..) First
# @param obj object={"a":1} Object
# @group g
# @tag a, b
# @label private
# @timeout 30s
# @timeout soon
# @returns object The result
# @readonly yes
# @example {"one":1}
# @example {
# @env TOKEN
# @env 1X
# @requires jq >=1
# @sandbox workdir
# @run-on gpu
# @paran z string Z
`;

const PATHS = { include: ['a/**'], exclude: ['b'] };
const HOOKS = [{ run: 'make', name: 'n', event: 'install' }];
const NESTED: Json = {
  ...{ source: 'a/b', as: 'c', install: true, 'follow-branch': 'main', roots: ['a'], hooks: HOOKS },
  'on-auth-failure': { action: 'skip', message: 'm' },
};
const SOURCE: Json = {
  source: { namespace: 'team', roots: ['a'], 'pin-tag': 'v1', 'min-version': '1.0.0', expand: 'all' },
  items: [{ kind: 'tool', name: 'a', path: 'tools/a', link: 'skills/b', bin: 'run', build: 'make', hooks: HOOKS }],
  discover: { skills: PATHS, tools: ['x/*'], sources: [NESTED] },
  hooks: HOOKS,
  sources: [NESTED],
};

const X = JSON.stringify(`x${HIDDEN}`).slice(1, -1);
const LITERAL = `x${HIDDEN}`;
const CONFIG = `[tasks]
from = ["package.json", "Makefile", "justfile", "deno.json", "Taskfile.yml", "mise.toml", "pyproject.toml", "composer.json"]
`;
/** Each has a problem. */
const FILES: Readonly<Record<string, string>> = {
  'package.json': `{"scripts":{"a${X}":"echo","b":"c${X}","b:c":"d","b c":"e"}, "workspaces":["a/**/${X}"]}`,
  Makefile: `include ${LITERAL}\na${LITERAL}:\n\techo\nb: ## ${LITERAL}\n\techo\n$(x${LITERAL}): b\n`,
  justfile: `import '${LITERAL}'\nmod ${LITERAL}\n[confirm("${LITERAL}")]\na:\n  x\nb%${LITERAL}: a\n  x\n`,
  'deno.json': `{"tasks":{"a${X}":{"command":3}}}`,
  'Taskfile.yml': `version: '3'\nincludes:\n  "y${X}": "./z${X}"\ntasks:\n  "a${X}": [echo]\n  b: {desc: "${X}", cmds: ["${X}"]}\n`,
  'mise.toml': `[tasks."a${X}"
`,
  'pyproject.toml': `[tool.poe.tasks]
"a${X}" = "echo" x${LITERAL}
`,
  'composer.json': `{"scripts":{"a${X}":3}}`,
  '.agents/tools/api.openapi.json': `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{"operationId":"a","parameters":[{"$ref":"z${X}.json"}]}}}}`,
  '.agents/skills/odd/SKILL.md': `---\nname: odd\ndescription: Odd.\nx${LITERAL}: [\n---\n:tool[${LITERAL}]\n`,
  '.agents/tools/old.sh': `#!/usr/bin/env bash\n# @describe Old\n# @option --x${LITERAL}\n`,
  '.agents/skills/odd/tools.json': `{"tools":[{"name":"x${X}"}]}`,
};

type Place = readonly [parent: Record<string, Json>, key: string];

function placesIn(node: Json): Place[] {
  if (node === null || typeof node !== 'object') return [];
  const parent = node as Record<string, Json>;
  return Object.keys(parent).flatMap((key) => [[parent, key] as const, ...placesIn(parent[key]!)]);
}

const HIDING = ['value', 'key', 'path'] as const;
const HOW = [...HIDING, 'number'] as const;

/** Hides something in a value, a key or a path that leads out, or replaces the value by one of another type. */
function change(document: Json, at: number, how: (typeof HOW)[number], hidden = HIDDEN): void {
  const places = placesIn(document);
  const [parent, key] = places[at % places.length]!;
  const value = parent[key]!;
  if (how === 'number') parent[key] = 7;
  else if (how === 'path') parent[key] = `../${hidden}`;
  else if (how === 'value' || Array.isArray(parent))
    parent[key] = typeof value === 'string' ? `${value}${hidden}` : { [`x${hidden}`]: `y${hidden}` };
  else {
    delete parent[key];
    parent[`${key}${hidden}`] = value;
  }
}

function splitTables(document: Json): Json[] {
  return Object.entries(document as Record<string, Json>).map(([key, value]) => ({ [key]: value }));
}

const hiding = (said: readonly Said[]): readonly string[] =>
  said.flatMap(({ message, hint = '' }) => [message, hint]).filter((text) => SHOWN.test(text));

describe('hidden characters in', () => {
  for (const [kind, read] of Object.entries(READERS))
    spec('ERR-5', `${kind} files are in no message`, () => {
      const given: readonly Json[] = kind === 'source' ? [SOURCE] : SAMPLES[kind as keyof typeof SAMPLES];
      // The tables of a configuration one by one, since it has many.
      const samples = kind === 'config' ? given.flatMap(splitTables) : given;
      let said = 0;
      const check = (document: Json): void => {
        const all = read(document);
        said += all.length;
        expect(hiding(all)).toEqual([]);
      };
      for (const sample of samples)
        for (const [at] of placesIn(sample).entries())
          for (const how of HIDING)
            for (const hidden of [HIDDEN, INVISIBLE]) {
              const document = structuredClone(sample) as Json;
              change(document, at, how, hidden);
              check(document);
            }
      const changes = fc.tuple(fc.nat(10_000), fc.constantFrom(...HOW), fc.constantFrom(HIDDEN, INVISIBLE));
      fc.assert(
        fc.property(fc.constantFrom(...samples), fc.array(changes, { minLength: 2, maxLength: 3 }), (sample, all) => {
          const document = structuredClone(sample) as Json;
          for (const one of all) change(document, ...one);
          check(document);
        }),
        { numRuns: rounds(60, 5000), seed: SEED },
      );
      expect(said).toBeGreaterThan(100);
    });

  spec('ERR-5', 'the header of a script are in no message', () => {
    const words = HEADER.split(/(?<=[\s(|.=[\]{},]|\.\.)/);
    const said = words.flatMap((word, at) => {
      const hidden = word.replace(/\s*$/, (blank) => HIDDEN + blank);
      const { errors, warnings } = readScriptHeader([...words.slice(0, at), hidden, ...words.slice(at + 1)].join(''));
      const all = [...errors, ...warnings];
      expect(hiding(all), word).toEqual([]);
      return all;
    });
    expect(said.length).toBeGreaterThan(100);
  });

  spec('ERR-5', 'files of a workspace are in no problem of its tools', async () => {
    const workspace = createTasks(FILES, CONFIG);
    const problems = await workspace.toolbox({ trust: true }).catalog.problems();
    expect(hiding(problems)).toEqual([]);
    const places = new Set(problems.map(({ path }) => relative(workspace.dir, path)));
    expect(Object.keys(FILES).filter((name) => !places.has(name))).toEqual([]);
  });
});
