// Parses YAML. The parser is loaded on first use.

import { quoteOutside } from '../core/text.js';
import { loadYaml } from './libraries.js';

interface YamlOptions {
  readonly maxAliasCount: number;
  /** Whether two equal keys are a fault; they are by default. */
  readonly uniqueKeys?: boolean;
  /** Whether `<<` merges mappings. */
  readonly merge?: boolean;
}

export interface YamlFault {
  readonly message: string;
  /** The kind of a syntax error. */
  readonly code: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** Parses a document; returns what is wrong with it, and where if that is known. */
export function parseYaml(text: string, options: YamlOptions): { readonly document: unknown } | YamlFault {
  const yaml = loadYaml();
  try {
    return { document: yaml.parse(text, { ...options, schema: 'core', logLevel: 'error' }) };
  } catch (error) {
    const { message, code = '', linePos } = error as Error & Partial<import('yaml').YAMLParseError>;
    const [reason = ''] = message.split('\n')[0]!.split(/ at line \d/);
    const [start] = linePos ?? [];
    return { message: quoteOutside(reason.replace(/:$/, ''), 160), code, line: start?.line, column: start?.col };
  }
}
