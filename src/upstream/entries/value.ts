// Parses values of server entries: text with references to variables, files and directories.

import { isToolError, orNothing, ToolError } from '../../core/error.js';
import { isSensitiveName } from '../../core/redact.js';
import { readShape, strings } from '../../core/shape.js';
import { SECRET_NAME } from '../../process/keychain.js';
import type { SecretReference } from '../../process/secret-reference.js';

/** A part of a value; `written` is its source text. */
export type ValuePart =
  | { readonly kind: 'text'; readonly text: string; readonly written: string }
  | {
      readonly kind: 'variable';
      readonly name: string;
      /** Used if the variable is unset or empty; without it the variable is required. */
      readonly fallback?: readonly ValuePart[];
      readonly written: string;
    }
  | { readonly kind: 'file'; readonly path: string; readonly written: string }
  | SecretReference
  | { readonly kind: 'workdir'; readonly written: string }
  | { readonly kind: 'home'; readonly written: string };

/** Fields that every user of the machine can see in the process list. */
const PUBLIC_FIELDS: ReadonlySet<string> = new Set(['command', 'args', 'cwd']);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// `file://…` is a URL and stays text.
const WHOLE_FILE = /^file:(\/(?!\/).*|~\/.+|\.{1,2}\/.+)$/s;
// The form of { "cmd": ["op", "read", …] } as a string.
const WHOLE_COMMAND = /^cmd:(\[.*\])$/s;
const WHOLE_KEYCHAIN = /^keychain:((?!\/).*)$/s;
// Names of paths to secrets, which are not secrets themselves.
const PATH_NAME = /(?:^|_)(?:sock|file|path|dir)$/i;
const MAX_NESTING = 8;

/**
 * Parses a value of a field (`command`, `args`, `env` …). Throws `invalid_definition` for an invalid reference, or one
 * that would show a secret in the process list; messages do not contain the value.
 */
export function parseServerValue(text: string, field: string): readonly ValuePart[] {
  const whole = field === 'url' ? undefined : parseWhole(text);
  const parts = whole === undefined ? parseParts(text, 0) : [whole];
  if (PUBLIC_FIELDS.has(field)) assertNoSecrets(parts, field);
  return parts;
}

function parseWhole(text: string): ValuePart | undefined {
  const [, path] = WHOLE_FILE.exec(text) ?? [];
  if (path !== undefined) return { kind: 'file', path, written: text };
  const [, argv] = WHOLE_COMMAND.exec(text) ?? [];
  if (argv !== undefined) return { kind: 'command', argv: parseCommand(argv), written: text };
  const [, name] = WHOLE_KEYCHAIN.exec(text) ?? [];
  return name === undefined ? undefined : parseKeychain(name, text);
}

function parseCommand(written: string): readonly string[] {
  const parsed: unknown = orNothing(() => JSON.parse(written));
  const { value } = readShape(strings, parsed);
  if (value !== undefined && value[0] !== undefined && value.every((word) => !word.includes('\u0000'))) return value;
  throw malformed('has an invalid command', 'write { "cmd": ["op", "read", "op://vault/item/field"] }');
}

function parseKeychain(name: string, written: string): ValuePart {
  if (SECRET_NAME.test(name)) return { kind: 'keychain', name, written };
  throw malformed('has an invalid name of a secret', 'use letters, digits, ".", "_" and "-": keychain:github-token');
}

/** Returns the command as a value of an entry. */
export function toCommandValue(argv: readonly string[]): string {
  return `cmd:${JSON.stringify(argv)}`;
}

/** Returns the references to commands and the keychain in a value, which need time to be followed. */
export function findSecretReferences(parts: readonly ValuePart[]): readonly SecretReference[] {
  return parts.flatMap((part) => {
    if (part.kind === 'command' || part.kind === 'keychain') return [part];
    return part.kind === 'variable' ? findSecretReferences(part.fallback ?? []) : [];
  });
}

/** Returns the references in a value as they are written; what cannot be parsed is one. */
export function findReferences(text: string, field: string): string[] {
  try {
    return parseServerValue(text, field).flatMap((part) => (part.kind === 'text' ? [] : [part.written]));
  } catch (error) {
    if (isToolError(error)) return [text];
    throw error;
  }
}

/** Whether a value with this name is certainly a secret. */
export function isSecretName(name: string): boolean {
  return isSensitiveName(name) && !PATH_NAME.test(name);
}

function parseParts(text: string, depth: number): readonly ValuePart[] {
  if (depth > MAX_NESTING) throw malformed('has too deeply nested references', 'use fewer levels');
  const parts: ValuePart[] = [];
  let from = 0;
  let plain = '';
  const flush = (to: number): void => {
    if (to > from) parts.push({ kind: 'text', text: plain, written: text.slice(from, to) });
  };
  for (let at = 0; at < text.length; ) {
    if (text.startsWith('$${', at)) {
      plain += '${';
      at += 3;
    } else if (text.startsWith('${', at)) {
      flush(at);
      const end = endOfReference(text, at);
      parts.push(parseReference(text.slice(at, end), depth));
      at = end;
      from = end;
      plain = '';
    } else plain += text[at++];
  }
  flush(text.length);
  return parts;
}

// Returns the offset after the closing brace of the reference at `start`; a default may contain references.
function endOfReference(text: string, start: number): number {
  let open = 0;
  for (let at = start; at < text.length; at++) {
    if (text.startsWith('${', at)) {
      open++;
      at++;
    } else if (text[at] === '}' && --open === 0) return at + 1;
  }
  throw malformed('has an unclosed "${"', 'close it with }, or write $${ for a literal ${');
}

function parseReference(written: string, depth: number): ValuePart {
  const inner = written.slice(2, -1);
  if (inner === 'workspaceFolder') return { kind: 'workdir', written };
  if (inner === 'userHome') return { kind: 'home', written };
  if (inner.startsWith('file:')) return parseFile(inner.slice('file:'.length), written);
  if (inner.startsWith('keychain:')) return parseKeychain(inner.slice('keychain:'.length), written);
  if (inner.startsWith('input:')) {
    throw malformed(
      'uses "${input:…}", which is not supported',
      'write ${VAR} and set that variable, or file:/path/to/file',
    );
  }
  const named = inner.startsWith('env:') ? inner.slice('env:'.length) : inner;
  const at = named.indexOf(':-');
  const name = at === -1 ? named : named.slice(0, at);
  if (!NAME.test(name)) {
    throw malformed(
      'has an invalid reference "${…}"',
      'write ${VAR}, ${VAR:-default}, ${file:/path} or ${workspaceFolder}; $${ is a literal ${',
    );
  }
  if (at === -1) return { kind: 'variable', name, written };
  return { kind: 'variable', name, fallback: parseParts(named.slice(at + 2), depth + 1), written };
}

function parseFile(path: string, written: string): ValuePart {
  if (/^(?:\/|~\/|\.{1,2}\/)./.test(path)) return { kind: 'file', path, written };
  throw malformed(
    'has a "${file:…}" without a path',
    'write ${file:/path}, ${file:~/path} or ${file:./path}, which is relative to the configuration file',
  );
}

function assertNoSecrets(parts: readonly ValuePart[], field: string): void {
  for (const part of parts) {
    const secret =
      part.kind === 'file' || part.kind === 'command' || part.kind === 'keychain'
        ? { file: 'the content of a file', command: 'the output of a command', keychain: 'a secret' }[part.kind]
        : part.kind === 'variable' && isSecretName(part.name)
          ? `the variable ${part.name}`
          : undefined;
    if (secret !== undefined) {
      throw malformed(
        `would show ${secret} in the process list`,
        `pass it in env; if the server expands \${NAME} in its ${field} itself, write $\${NAME}`,
      );
    }
    if (part.kind === 'variable') assertNoSecrets(part.fallback ?? [], field);
  }
}

function malformed(message: string, hint: string): ToolError {
  return new ToolError('invalid_definition', message, { hint });
}
