// The scripts of a skill as tools: files below its `scripts` directory that an interpreter runs (SKL-13).

import { dirname, extname, join, relative } from 'node:path';
import { isToolName } from '../../core/name.js';
import { type FileIdentity, type Place, toOrigin } from '../../core/origin.js';
import type { Skill, SkillScript } from '../../core/skill.js';
import { compareText, quoteOutside, sanitize } from '../../core/text.js';
import { NO_TRAITS, type Tool } from '../../core/tool.js';
import { admittedPath } from '../../files/boundary.js';
import { hashTexts } from '../../files/digest.js';
import { entriesOf } from '../../files/list.js';
import { readHead, statIdentity } from '../../files/read.js';
import { isWithin, realPath, toFileUri } from '../../files/within.js';
import { createJsonSchema } from '../../schema/json.js';
import { readSkillSandbox } from '../shared/skill-file.js';

export interface SkillScripts {
  readonly tools: readonly Tool[];
  readonly scripts: readonly SkillScript[];
  /** What was read, and its states: a new script changes its directory. */
  readonly files: readonly string[];
  readonly states: readonly (FileIdentity | undefined)[];
}

const DIRECTORY = 'scripts';
const MAX_SCRIPTS = 64;
const MAX_DEPTH = 3;
const HEAD_BYTES = 4096;
const MAX_NAME = 64;
// What runs a file without a shebang.
const INTERPRETERS: Readonly<Record<string, string>> = {
  '.py': '/usr/bin/env python3',
  '.sh': '/usr/bin/env bash',
  '.bash': '/usr/bin/env bash',
  '.js': '/usr/bin/env node',
  '.mjs': '/usr/bin/env node',
  '.cjs': '/usr/bin/env node',
  '.rb': '/usr/bin/env ruby',
  '.pl': '/usr/bin/env perl',
};
const INPUT = createJsonSchema(
  {
    type: 'object',
    properties: {
      args: { type: 'array', items: { type: 'string' }, description: 'Arguments, as on a command line' },
      stdin: { type: 'string', description: 'Text for its standard input' },
    },
  },
  { closed: true, inspected: true },
);

type Owner = Pick<Skill, 'name' | 'directory' | 'owner' | 'metadata' | 'timeoutMs' | 'allowedTools' | 'requires'>;

/** Reads the scripts of a skill directory; links that lead out of it are left out. */
export function readSkillScripts(skill: Owner, place: Place): SkillScripts {
  const root = join(skill.directory, DIRECTORY);
  const found: { readonly tool: Tool; readonly script: SkillScript }[] = [];
  // Scripts beside a tools.json are its resolvers, which have a switch of their own (TJS-16).
  const files = [root, join(skill.directory, 'tools.json')];
  const states = files.map(statIdentity);
  const names = new Set<string>();
  if (states[0] === undefined || states[1] !== undefined) return { tools: [], scripts: [], files, states };
  for (const path of listFiles(skill.directory, root, place, files, states)) {
    if (found.length >= MAX_SCRIPTS) break;
    const file = join(skill.directory, path);
    const head = readHead(file, HEAD_BYTES, { within: place.boundary });
    if ('fault' in head) continue;
    files.push(file);
    states.push(head.identity);
    const text = head.bytes.toString('utf8');
    const shebang = /^#![ \t]*([^\r\n]+)/.exec(text)?.[1]?.trim() ?? INTERPRETERS[extname(path).toLowerCase()];
    const name = shebang === undefined ? undefined : toName(skill.name, path, names);
    if (shebang === undefined || name === undefined) continue;
    names.add(name);
    const action = {
      kind: 'process',
      runs: 'script',
      file,
      identity: head.identity,
      shebang,
      needs: [],
      call: { kind: 'arguments', directory: skill.directory },
    } as const;
    const tool: Tool = {
      name,
      description: `${describe(text)}${path} of the skill ${quoteOutside(skill.name, 64)}; runs in the skill's directory.`,
      input: INPUT,
      action,
      origin: toOrigin('skill-script', toFileUri(file), skill),
      traits: {
        ...NO_TRAITS,
        ofSkill: true,
        timeoutMs: skill.timeoutMs,
        sandbox: readSkillSandbox(skill.metadata),
        requires: skill.requires,
        allowedTools: skill.allowedTools ?? undefined,
      },
    };
    found.push({ tool, script: { path, tool: name } });
  }
  return { tools: found.map(({ tool }) => tool), scripts: found.map(({ script }) => script), files, states };
}

// Paths relative to the skill, sorted. Directories are noted, because a new file changes them.
function listFiles(
  skill: string,
  root: string,
  { boundary }: Place,
  files: string[],
  states: (FileIdentity | undefined)[],
): string[] {
  const top = realPath(skill);
  const found: string[] = [];
  const walk = (directory: string, depth: number): void => {
    for (const entry of entriesOf(admittedPath(directory, boundary) ?? '')) {
      const path = join(directory, entry.name);
      // Names with these beginnings are modules and caches.
      if (/^[._]/.test(entry.name) || entry.name === 'node_modules' || found.length > MAX_SCRIPTS * 4) continue;
      if (entry.isDirectory() && depth < MAX_DEPTH) {
        files.push(path);
        states.push(statIdentity(path));
        walk(path, depth + 1);
      } else if (
        entry.isFile() ||
        (entry.isSymbolicLink() && top !== undefined && isWithin(top, realPath(path) ?? '/'))
      )
        found.push(relative(skill, path));
    }
  };
  walk(root, 1);
  return found.sort(compareText);
}

// `pdf` and `scripts/forms/fill.py`: `pdf_forms_fill`.
function toName(skill: string, path: string, taken: ReadonlySet<string>): string | undefined {
  const stem = join(relative(DIRECTORY, dirname(path)), path.slice(path.lastIndexOf('/') + 1));
  const [plain, whole] = [stem.slice(0, stem.length - extname(stem).length), stem].map((one) =>
    cut(`${skill.replace(/[^A-Za-z0-9_:-]/g, '-')}_${one.replaceAll('/', '_').replace(/[^A-Za-z0-9_-]/g, '-')}`),
  );
  return [plain!, whole!].find((name) => !taken.has(name) && isToolName(name));
}

function cut(name: string): string {
  const [own = '', ...prefix] = name.split(':').reverse();
  if (own.length <= MAX_NAME) return name;
  return [...prefix.reverse(), `${own.slice(0, MAX_NAME - 9)}_${hashTexts([own]).slice(0, 8)}`].join(':');
}

// The first line of its comment or documentation, as a sentence.
function describe(text: string): string {
  const line = text
    .split(/\r?\n/, 30)
    .map((one) =>
      one.replace(/^\s*(?:#!.*|#+|\/\/+|\/?\*+|--|r?"""|r?''')?\s*/, '').replace(/\s*(?:"""|'''|\*\/)\s*$/, ''),
    )
    .find((one) => /^[A-Z][\w'-]* .*\w/.test(one) && !/[{}=;]|^(?:Copyright|SPDX|License)/.test(one));
  return line === undefined ? '' : `${quoteOutside(sanitize(line).replace(/[.:]\s*$/, ''), 200)}. `;
}
