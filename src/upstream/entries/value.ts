// A value in the configuration of a server: text with references to variables, files and directories, read and not followed.

import { ToolError } from '../../core/error.js';
import { isTelling } from '../../core/telling.js';

/** A piece of a value; `written` is how it stands in the file. */
export type ValuePart =
  | { readonly kind: 'text'; readonly text: string; readonly written: string }
  | {
      readonly kind: 'variable';
      readonly name: string;
      /** What stands for it where it is not set or empty; none: it must be set. */
      readonly fallback?: readonly ValuePart[];
      readonly written: string;
    }
  | { readonly kind: 'file'; readonly path: string; readonly written: string }
  | { readonly kind: 'workdir'; readonly written: string }
  | { readonly kind: 'home'; readonly written: string };

/** Fields that stand in the list of processes, for every user of the machine to see. */
const OPEN_FIELDS: ReadonlySet<string> = new Set(['command', 'args', 'cwd']);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// `file://…` is an address, and stays text.
const WHOLE_FILE = /^file:(\/(?!\/).*|~\/.+|\.{1,2}\/.+)$/s;
// What a name tells a path of, and not the secret in it.
const NAMES_A_PATH = /(?:^|_)(?:sock|file|path|dir)$/i;
const MAX_NESTING = 8;

/**
 * The parts of a value of the field (`command`, `args`, `env` …). Throws `invalid_definition` where a reference is none
 * that there is, or would show a secret in the list of processes; no text of the value stands in the message.
 */
export function parseServerValue(text: string, field: string): readonly ValuePart[] {
  const whole = field === 'url' ? null : WHOLE_FILE.exec(text);
  const parts: readonly ValuePart[] =
    whole === null ? parseParts(text, 0) : [{ kind: 'file', path: whole[1]!, written: text }];
  if (OPEN_FIELDS.has(field)) assertHidden(parts, field);
  return parts;
}

/** Whether a value of this name is surely a secret. */
export function isSecretName(name: string): boolean {
  return isTelling(name) && !NAMES_A_PATH.test(name);
}

function parseParts(text: string, depth: number): readonly ValuePart[] {
  if (depth > MAX_NESTING) throw malformed('has references within references', 'write fewer');
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

// The place after the brace that closes the reference which begins at `start`; a default may hold others.
function endOfReference(text: string, start: number): number {
  let open = 0;
  for (let at = start; at < text.length; at++) {
    if (text.startsWith('${', at)) {
      open++;
      at++;
    } else if (text[at] === '}' && --open === 0) return at + 1;
  }
  throw malformed('has a "${" that nothing closes', 'close it with }, or write $${ for the characters');
}

function parseReference(written: string, depth: number): ValuePart {
  const inner = written.slice(2, -1);
  if (inner === 'workspaceFolder') return { kind: 'workdir', written };
  if (inner === 'userHome') return { kind: 'home', written };
  if (inner.startsWith('file:')) return parseFile(inner.slice('file:'.length), written);
  if (inner.startsWith('input:')) {
    throw malformed(
      'has an "${input:…}", which nobody is asked for here',
      'write ${VAR} and set that variable, or file:/path/of/a/file',
    );
  }
  const named = inner.startsWith('env:') ? inner.slice('env:'.length) : inner;
  const at = named.indexOf(':-');
  const name = at === -1 ? named : named.slice(0, at);
  if (!NAME.test(name)) {
    throw malformed(
      'has a "${…}" that is no reference',
      'write ${VAR}, ${VAR:-default}, ${file:/path} or ${workspaceFolder}; $${ stands for the characters ${',
    );
  }
  if (at === -1) return { kind: 'variable', name, written };
  return { kind: 'variable', name, fallback: parseParts(named.slice(at + 2), depth + 1), written };
}

function parseFile(path: string, written: string): ValuePart {
  if (/^(?:\/|~\/|\.{1,2}\/)./.test(path)) return { kind: 'file', path, written };
  throw malformed(
    'has a "${file:…}" without a path',
    'write ${file:/path}, ${file:~/path} or ${file:./path}; the last begins beside the file that says so',
  );
}

function assertHidden(parts: readonly ValuePart[], field: string): void {
  for (const part of parts) {
    const secret =
      part.kind === 'file'
        ? 'what a file holds'
        : part.kind === 'variable' && isSecretName(part.name)
          ? `the variable ${part.name}`
          : undefined;
    if (secret !== undefined) {
      throw malformed(
        `would show ${secret} to everyone who lists processes`,
        `give it by env; a server that reads \${NAME} in its ${field} itself is given it as $\${NAME}`,
      );
    }
    if (part.kind === 'variable') assertHidden(part.fallback ?? [], field);
  }
}

function malformed(message: string, hint: string): ToolError {
  return new ToolError('invalid_definition', message, { hint });
}
