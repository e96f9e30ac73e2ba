// Gate: the schemas for editors and the code say the same about files.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { parse as parseToml } from 'smol-toml';
import { describe, expect } from 'vitest';
import { isRecord, type Json } from '../../src/core/json.js';
import { readFrontmatter } from '../../src/formats/shared/frontmatter.js';
import { CORPORA, NO_CORPORA } from '../support/corpora.js';
import { findBlocks, listDocuments, ROOT, readDocument } from '../support/documents.js';
import { rounds, SEED } from '../support/effort.js';
import { SAMPLES } from '../support/file-samples.js';
import { type FileKind, findCodeFaults, findDisagreement, findSchemaFault } from '../support/file-verdicts.js';
import { spec, specIf } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const KINDS = Object.keys(SAMPLES) as FileKind[];
const NAMES: Readonly<Record<string, FileKind>> = {
  'config.toml': 'config',
  'tools.json': 'tools',
  'SKILL.md': 'skill',
  'mcp.json': 'mcp',
  '.mcp.json': 'mcp',
  'wield.lock': 'lock',
};

/** Returns the document of a file; undefined if its syntax is invalid, which editors report without a schema. */
function parseFile(kind: FileKind, text: string): Json | undefined {
  try {
    if (kind === 'config') return parseToml(text) as Json;
    if (kind !== 'skill') return JSON.parse(text) as Json;
    const frontmatter = readFrontmatter(text);
    const isValid = !('message' in frontmatter) && frontmatter.warnings.length === 0;
    return isValid ? (JSON.parse(JSON.stringify(frontmatter.fields)) as Json) : undefined;
  } catch {
    return undefined;
  }
}

function listFiles(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && Object.hasOwn(NAMES, entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Returns the files about which schema and code disagree. */
function compareFiles(files: readonly string[], directory: string): string[] {
  return files.flatMap((file) => {
    const kind = NAMES[basename(file)]!;
    const document = parseFile(kind, readFileSync(file, 'utf8'));
    if (document === undefined) return [];
    const found = findDisagreement(kind, document, findCodeFaults(kind, document, directory));
    return found === undefined ? [] : [`${file}: ${found}`];
  });
}

type Change = readonly [at: number, how: 'drop' | 'replace' | 'add', value: Json];

const TEXTS = ['', ' ', 'x', '1s', '5 M', '-x', '../x', 'a:b', 'http', 'sse', 'stdio', '2026-07-28', '\0'];
const VALUES: readonly Json[] = [...TEXTS, true, false, 0, 1, -1, 1.5, [], {}, ['x'], [3], [''], { x: 1 }, [{}]];

/** Applies a change at one of the places of a document, in order of appearance. */
function change(document: Json, [at, how, value]: Change): Json {
  const copy = structuredClone(document) as Json;
  const places: (readonly [parent: Record<string, Json>, key: string])[] = [];
  const visit = (node: Json): void => {
    if (node === null || typeof node !== 'object') return;
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, Json>, key]);
      visit((node as Record<string, Json>)[key]!);
    }
  };
  visit(copy);
  const place = places[at % Math.max(1, places.length)];
  if (place === undefined) return copy;
  const [parent, key] = place;
  if (Array.isArray(parent)) {
    if (how === 'replace') parent[Number(key)] = value;
    else parent.splice(Number(key), how === 'drop' ? 1 : 0, ...(how === 'drop' ? [] : [value]));
  } else if (how === 'drop') delete parent[key];
  else parent[how === 'add' ? `${key}x` : key] = value;
  return copy;
}

describe.concurrent('schemas and code agree about', () => {
  spec('CLI-37', 'files of the repository', () => {
    const files = listFiles(join(ROOT, 'examples'));
    expect(files.length).toBeGreaterThan(3);
    expect(compareFiles(files, createWorkspace().dir)).toEqual([]);
  });

  spec('CLI-37', 'blocks of the documents', () => {
    const blocks = listDocuments().flatMap((path) => findBlocks(readDocument(path)));
    const documents = blocks.flatMap(({ language, text }): [FileKind, Json | undefined][] => {
      if (language === 'toml') return [['config', parseFile('config', text)]];
      const document = language === 'json' ? parseFile('mcp', text) : undefined;
      if (!isRecord(document)) return [];
      return 'mcpServers' in document ? [['mcp', document]] : 'execution' in document ? [['tools', document]] : [];
    });
    expect(documents.length).toBeGreaterThan(10);
    for (const [kind, document] of documents)
      if (document !== undefined)
        expect(findDisagreement(kind, document, findCodeFaults(kind, document, '')), JSON.stringify(document)).toBe(
          undefined,
        );
  });

  describe.each(KINDS)('%s:', (kind) => {
    spec('CLI-37', 'valid files with all keys', () => {
      const { dir } = createWorkspace();
      for (const document of SAMPLES[kind]) {
        expect(findCodeFaults(kind, document, dir)).toEqual([]);
        expect(findSchemaFault(kind, document)).toBe(undefined);
      }
    });

    spec('CLI-37', 'files with keys that are missing, unknown or of another type', () => {
      const { dir } = createWorkspace();
      // TOML has no null.
      const values = kind === 'config' ? VALUES : [...VALUES, null];
      const changes = fc.tuple(
        fc.nat(10_000),
        fc.constantFrom<Change[1]>('drop', 'replace', 'add'),
        fc.constantFrom(...values),
      );
      let rejected = 0;
      fc.assert(
        fc.property(
          fc.constantFrom(...SAMPLES[kind]),
          fc.array(changes, { minLength: 1, maxLength: 2 }),
          (one, all) => {
            const document = all.reduce(change, one);
            const faults = findCodeFaults(kind, document, dir);
            if (faults.length > 0) rejected++;
            expect(findDisagreement(kind, document, faults)).toBe(undefined);
          },
        ),
        { numRuns: rounds(200, 5000), seed: SEED },
      );
      expect(rejected).toBeGreaterThan(50);
    });
  });

  const PUBLIC = join(CORPORA, 'files');
  specIf(existsSync(PUBLIC), NO_CORPORA, 'CLI-37', 'files of public repositories', () => {
    expect(compareFiles(listFiles(PUBLIC), createWorkspace().dir)).toEqual([]);
  });
});
