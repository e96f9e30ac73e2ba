// Parses YAML files of tasks. The parser is loaded on first use.

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';

/** Parses a document. Throws `invalid_definition` with its line. */
export function parseYaml(text: string, what: string): unknown {
  const { createRequire } = process.getBuiltinModule('node:module');
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  try {
    return yaml.parse(text, { maxAliasCount: 100, schema: 'core', merge: true, logLevel: 'silent' }) as unknown;
  } catch (error) {
    const { message, linePos } = error as Error & Partial<import('yaml').YAMLParseError>;
    const why = quoteOutside(message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, ''), 150);
    throw new ToolError('invalid_definition', `${what} is not valid YAML: ${why}`, {
      hint: 'fix the line',
      data: { line: linePos?.[0].line ?? 1 },
    });
  }
}
