// ToolError, and the table of error codes with exit statuses and recoveries.

/** What a caller can do about an error. */
export type Recovery = 'fix-input' | 'ask-user' | 'retry' | 'report';

interface CodeFacts {
  readonly exit: number;
  readonly recovery: Recovery;
}

/** All error codes (ERR-2) with their exit status (ERR-4), explained in `docs/reference/errors.md`. */
export const ERROR_CODES = {
  not_found: { exit: 3, recovery: 'fix-input' },
  ambiguous: { exit: 4, recovery: 'fix-input' },
  invalid_ref: { exit: 2, recovery: 'fix-input' },
  invalid_definition: { exit: 2, recovery: 'fix-input' },
  invalid_input: { exit: 2, recovery: 'fix-input' },
  invalid_output: { exit: 1, recovery: 'report' },
  bad_reference: { exit: 2, recovery: 'fix-input' },
  denied: { exit: 5, recovery: 'ask-user' },
  needs_approval: { exit: 5, recovery: 'ask-user' },
  needs_trust: { exit: 5, recovery: 'ask-user' },
  forbidden_tool: { exit: 5, recovery: 'fix-input' },
  not_allowlisted: { exit: 5, recovery: 'ask-user' },
  exec_failed: { exit: 1, recovery: 'report' },
  tool_failed: { exit: 1, recovery: 'fix-input' },
  timeout: { exit: 6, recovery: 'retry' },
  cancelled: { exit: 6, recovery: 'retry' },
  too_large: { exit: 2, recovery: 'fix-input' },
  path_conflict: { exit: 4, recovery: 'fix-input' },
  path_escape: { exit: 2, recovery: 'fix-input' },
  inner_tool_error: { exit: 1, recovery: 'fix-input' },
  conflict: { exit: 4, recovery: 'ask-user' },
  integrity: { exit: 7, recovery: 'ask-user' },
  busy: { exit: 8, recovery: 'retry' },
  unavailable: { exit: 8, recovery: 'ask-user' },
  io: { exit: 8, recovery: 'retry' },
  usage: { exit: 2, recovery: 'fix-input' },
  internal: { exit: 70, recovery: 'report' },
} as const satisfies Record<string, CodeFacts>;

/** One of the error codes: `not_found`, `invalid_input`, `denied`, …. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** What an error says besides its message. */
export interface ToolErrorOptions {
  /** The next action, as text that can be pasted. */
  readonly hint?: string | undefined;
  /** Details for programs: paths, faults, candidates. JSON values only. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/** An error as it crosses a door: plain JSON. */
export interface ErrorValue {
  /** What kind of error it is. */
  readonly code: ErrorCode;
  /** What is wrong with which thing. */
  readonly message: string;
  /** What to do next. */
  readonly hint?: string;
  /** Details for programs: paths, faults, candidates. */
  readonly data?: Readonly<Record<string, unknown>>;
}

// The binary and the library each contain a copy of the class, so `instanceof` does not work (ERR-1).
const BRAND = Symbol.for('wield.ToolError');

/** The error that all modules throw; only `runtime/call.ts` turns it into a failed result. */
export class ToolError extends Error {
  /** What kind of error it is. */
  readonly code: ErrorCode;
  /** What to do next. */
  readonly hint: string | undefined;
  /** Details for programs: paths, faults, candidates. */
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: ToolErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ToolError';
    this.code = code;
    this.hint = options.hint;
    this.data = options.data;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Returns the error as it is in results. */
  toJSON(): ErrorValue {
    return { code: this.code, message: this.message, hint: this.hint, data: this.data };
  }
}

/** Returns the error that a value describes. */
export function reviveError({ code, message, hint, data }: ErrorValue): ToolError {
  return new ToolError(code, message, { hint, data });
}

// Captured, because in a tool host a module may replace them.
const { parse, stringify } = JSON;

/** Returns an error that tools and middleware threw as results have it: with a known code (ERR-1); data that is not JSON is left out. */
export function toPlainError({ code, message, hint, data, cause }: ToolError): ToolError {
  const known = Object.hasOwn(ERROR_CODES, code) ? code : 'tool_failed';
  const plain = data === undefined ? undefined : orNothing(() => parse(stringify(data)) as ToolError['data']);
  return new ToolError(known, String(message), { hint: hint == null ? undefined : String(hint), data: plain, cause });
}

/** Returns what a function returns; undefined if it throws. */
export function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Whether a value is a ToolError of this or another copy of wield. */
export function isToolError(value: unknown): value is ToolError {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/** What to do about errors of the machine, by their code: they are no bugs. */
export const MACHINE_HINTS: Readonly<Record<string, string>> = {
  ENOSPC: 'free space on that disk, then run the command again',
  EDQUOT: 'free space in your quota, then run the command again',
  EFBIG: 'raise the limit of file sizes, then run the command again',
  EROFS: 'the file system is read-only; set WIELD_HOME to a directory on another one',
  EIO: 'the disk reports an error; check it, then run the command again',
  EMFILE: 'too many files are open; raise the limit with ulimit -n, then run the command again',
  ENFILE: 'too many files are open on this machine; run the command again later',
  ELOOP: 'replace the symbolic link by a file or directory',
};

// Like the above, but with a better hint where the file is known.
const OTHER_HINTS: Readonly<Record<string, string>> = {
  EACCES: 'check that you may use that file or directory',
  EPERM: 'check that you may use that file or directory',
  ENOMEM: 'free memory, then run the command again',
  EAGAIN: 'too many processes or too little memory; run the command again later',
};

/** Returns what a system error says, without its code, system call and path: `no such file or directory`. */
export function systemReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /^E[A-Z0-9]+: (.+?)(?:, \w+(?: '.*)?)?$/s.exec(message)?.[1] ?? message;
}

/** Converts anything thrown to a ToolError: errors of the machine become `io`, others are bugs and `internal` (ERR-6). */
export function toToolError(thrown: unknown): ToolError {
  if (isToolError(thrown)) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  const hint = MACHINE_HINTS[code] ?? OTHER_HINTS[code];
  if (hint !== undefined) {
    const { path } = thrown as { readonly path?: unknown };
    const reason = `${typeof path === 'string' ? `${path}: ` : ''}${systemReason(thrown)}`;
    return new ToolError('io', reason, { hint, data: { errno: code }, cause: thrown });
  }
  return new ToolError('internal', `unexpected: ${message}`, {
    hint: 'this is a bug in wield; run the command again with --verbose and report the output',
    cause: thrown,
  });
}

/** Returns the exit status of a code (ERR-4). */
export function exitStatus(code: ErrorCode): number {
  return ERROR_CODES[code].exit;
}

/** Formats an error as its code and message, with the hint on a second line. */
export function formatError({ code, message, hint }: ErrorValue): string {
  return `[${code}] ${message}${hint === undefined ? '' : `\nhint: ${hint}`}`;
}
