// Findings of `wield check` as SARIF 2.1.0, for services that show them beside the code.

import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CheckFinding } from '../formats/check.js';
import { readVersion } from '../workspace/machine.js';

const RULES = [
  { id: 'error', shortDescription: { text: 'Prevents something from being used' } },
  { id: 'warning', shortDescription: { text: 'Advice' } },
] as const;

/** Returns a log with paths relative to `base`: a service takes them as paths in the repository (PKG-9). */
export function toSarif(findings: readonly CheckFinding[], directory: string, base: string) {
  const results = findings.map(({ level, path, pointer, line, column, message, hint }) => {
    const region = { startLine: line ?? 1, ...(column === undefined ? {} : { startColumn: column }) };
    // A file of the machine is not in the repository.
    const uri = isAbsolute(path) ? pathToFileURL(path).href : toUri(relative(base, locate(directory, path)));
    const physicalLocation = { artifactLocation: { uri }, region };
    const logicalLocations = pointer === '' ? {} : { logicalLocations: [{ fullyQualifiedName: pointer }] };
    return {
      ruleId: level,
      ruleIndex: RULES.findIndex(({ id }) => id === level),
      level,
      message: { text: `${message}\n${hint}` },
      locations: [{ physicalLocation, ...logicalLocations }],
    };
  });
  const driver = { name: 'wield', version: readVersion(), rules: RULES };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, columnKind: 'utf16CodeUnits', results }],
  };
}

// Paths of a single skill begin with its name.
function locate(directory: string, path: string): string {
  const inside = join(directory, path);
  const beside = join(dirname(directory), path);
  return !existsSync(inside) && existsSync(beside) ? beside : inside;
}

function toUri(path: string): string {
  return path.split(sep).map(encodeURIComponent).join('/') || '.';
}
