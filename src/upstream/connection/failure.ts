// Errors of upstream servers, with the last lines of their output.

import { isToolError, ToolError } from '../../core/error.js';
import { formatDuration, quoteOutside, quoteWord } from '../../core/text.js';
import { RpcError } from '../../net/mcp.js';
import { statusOf } from './client.js';
import type { ServerExit } from './transport.js';

/** The server of a failure and the state of its transport. */
export interface FailureContext {
  readonly server: string;
  /** Whether it runs elsewhere and is reached over HTTP. */
  readonly isRemote?: boolean;
  /** The package runner that starts it. */
  readonly runner?: string | undefined;
  /** The directory that npx installed it into, if that is incomplete. */
  readonly brokenCache?: string | undefined;
  readonly exit?: ServerExit | undefined;
  readonly lastLines?: readonly string[] | undefined;
}

// Lines of output in a message; the error's data has them all.
const SHOWN_LINES = 3;

/** A server that could not be started or reached. */
export function startFailure(error: unknown, context: FailureContext): ToolError {
  const { server, isRemote, exit, brokenCache } = context;
  if (brokenCache !== undefined && exit !== undefined) {
    const message = `could not start the server ${server}: npx did not finish installing it into ${brokenCache}`;
    const hint = `remove that directory, then try again: rm -r ${quoteWord(brokenCache)}; wield mcp refresh ${server}`;
    return serverError('unavailable', 'half-installed', message, hint, context);
  }
  const next = isRemote
    ? 'check that the server runs, and its url: an MCP endpoint over streamable HTTP, or over SSE with "type": "sse"'
    : `wield mcp refresh ${server}`;
  const { kind = 'start-failed', message, hint = next } = explain(error, context);
  const shown =
    error instanceof RpcError && exit === undefined
      ? `the server ${server} answered with an error: ${message}`
      : `could not ${isRemote ? 'connect to' : 'start'} the server ${server}: ${message}`;
  return ownError(error) ?? serverError('unavailable', kind, shown, hint, context);
}

/** A server that did not respond within its start timeout. */
export function startTimeout(milliseconds: number, context: FailureContext): ToolError {
  const within = `did not respond within ${formatDuration(milliseconds)}`;
  const message = `the server ${context.server} ${within}${context.isRemote ? '' : ' of starting'}`;
  const check = context.isRemote ? 'check its url' : 'run its command by hand';
  const hint =
    context.runner === undefined
      ? `${check}, or set a longer startTimeout in its entry`
      : `${context.runner} may still be installing it; wait, then run: wield mcp refresh ${context.server}`;
  return serverError('unavailable', 'start-timeout', message, hint, context);
}

/** A server that was lost while it was used. */
export function serverLost(context: FailureContext): ToolError {
  const { server, exit } = context;
  const message = `the server ${server} stopped during a call: ${exit?.reason ?? 'the connection was lost'}`;
  return serverError('unavailable', 'lost', message, `wield mcp refresh ${server}`, context);
}

/** A call without a response because its server was lost. */
export function callLost(tool: string, error: unknown, context: FailureContext): ToolError {
  return callFailure(error, 'lost', `lost the server ${context.server} while running ${tool}`, context);
}

/** A call whose server responded with something other than an answer. */
export function badResponse(tool: string, error: unknown, context: FailureContext): ToolError {
  return callFailure(error, 'bad-response', `the server ${context.server} gave no valid response to ${tool}`, context);
}

function callFailure(error: unknown, usual: FailureKind, what: string, context: FailureContext): ToolError {
  const { kind = usual, message, hint = CALL_AGAIN } = explain(error, context);
  return ownError(error) ?? serverError('exec_failed', kind, `${what}: ${message}`, hint, context);
}

export const CALL_AGAIN = 'call it again; the first call may have had an effect';

/** Whether another attempt would fail the same way: refused by wield itself, or a login is needed. */
export function isFinal(error: unknown): boolean {
  return ownError(error) !== undefined;
}

type FailureKind = 'start-failed' | 'half-installed' | 'start-timeout' | 'access-denied' | 'bad-response' | 'lost';

function serverError(
  code: 'unavailable' | 'exec_failed',
  kind: FailureKind,
  summary: string,
  hint: string,
  { server, exit, lastLines }: FailureContext,
): ToolError {
  const lines = exit?.lastLines ?? lastLines ?? [];
  const output = lines.length === 0 ? '' : `; last output: ${toShown(lines).join(' | ')}`;
  return new ToolError(code, summary + output, { hint, data: { server, kind, summary, lastLines: lines } });
}

const CAUSE = /^\s*(?:[\w.]*(?:Error|Exception)\b|npm (?:error|ERR!)|error:|fatal:|panic:)/;
const STACK_FRAME = /^\s*at .*:\d+/;

// The end of the output, or the lines from the first that names an error: programs print a stack and versions after it.
function toShown(lines: readonly string[]): readonly string[] {
  const cause = lines.findIndex((line) => CAUSE.test(line));
  if (cause === -1) return lines.slice(-SHOWN_LINES);
  return lines
    .slice(cause)
    .filter((line) => !STACK_FRAME.test(line))
    .slice(0, SHOWN_LINES)
    .map((line) => line.trim());
}

// A ToolError that the SDK wrapped.
function ownError(error: unknown): ToolError | undefined {
  for (let here = error; here instanceof Error; here = here.cause) if (isToolError(here)) return here;
  return undefined;
}

function explain(
  error: unknown,
  { exit }: FailureContext,
): { readonly kind?: FailureKind; readonly message: string; readonly hint?: string } {
  if (exit !== undefined) return { message: exit.reason };
  const status = statusOf(error);
  if (status === 403) {
    const hint = 'check its headers and your permissions there';
    return { kind: 'access-denied', message: 'access denied (HTTP 403)', hint };
  }
  if (status !== undefined) return { message: `HTTP ${status}` };
  if (error instanceof SyntaxError) return { message: 'it is not JSON' };
  // Thrown by the SDK for JSON of another kind; its message is a list of faults.
  if ((error as Error).name.endsWith('ZodError')) return { message: 'it is not a JSON-RPC message' };
  return { message: quoteOutside((error as Error).message, 300) };
}
