// The calls of a program: names, and results as the program sees them (COD-5, COD-6).

import type { NestedOptions } from '../../core/context.js';
import { type ErrorValue, reviveError, ToolError, toToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { MOST_READ_TEXT } from '../../core/json-size.js';
import { createProgramNames, toIdentifier, toProgramExpression } from '../../core/name.js';
import { type ToolResult, textOf } from '../../core/result.js';
import { didYouMean, quoteOutside } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { RUN_CODE } from '../../core/view.js';
import type { EngineCall, Outcome } from '../protocol.js';
import type { Deferred, PerformOptions } from './program.js';

/** A tool that a search found. */
export interface FoundTool {
  readonly name: string;
  readonly signature: string;
  readonly description: string;
}

export interface CallsOptions {
  /** Makes a nested call: same caller, one level deeper. */
  call(ref: string, input: unknown, options: NestedOptions): Promise<ToolResult>;
  /** Lists the tools of the caller; `knownOnly`: without starting servers. */
  list(knownOnly: boolean): Promise<readonly Tool[]>;
  search(query: string, limit: number): Promise<readonly FoundTool[]>;
}

const QUERY_RESULT = 'query_result';
const READ_RESULT = 'read_result';
const FOUND = 10;
const MAX_FOUND = 50;
// Characters of what a failed tool printed.
const MAX_OUTPUT = 2000;

/** Returns the function that makes the calls of a program. */
export function createCalls(given: CallsOptions) {
  const options = { ...given, find: createFind(given) };
  return async (call: EngineCall, perform: PerformOptions): Promise<Outcome | Deferred> => {
    try {
      return await makeCall(call, perform, options);
    } catch (error) {
      return toError(call.name, toToolError(error).toJSON());
    }
  };
}

/** Returns the tools of the caller; looks again if none of them has the name. */
type FindTools = (given: string) => Promise<readonly Tool[]>;

// A listing takes longer than most calls, so it is kept while it has the names that the program uses.
function createFind({ list }: CallsOptions): FindTools {
  let known: readonly Tool[] = [];
  return async (given) => {
    const isKnown = (): boolean => known.some(({ name }) => name === given) || resolveName(given, known) !== given;
    if (!isKnown()) known = await list(true);
    // A server that was never asked for its tools may have it.
    if (!isKnown()) known = await list(false);
    return known;
  };
}

type Calling = CallsOptions & { readonly find: FindTools };

async function makeCall(
  { kind, name, input, isLarge }: EngineCall,
  { ask, signal, onStart }: PerformOptions,
  options: Calling,
): Promise<Outcome | Deferred> {
  if (kind === 'search') return { value: await search(input, options) };
  if (isLarge === true) throw inputTooLarge(name);
  let hasStarted = false;
  const nested: NestedOptions = {
    signal,
    handles: kind !== 'json',
    deferApproval: !ask,
    onStart: () => {
      hasStarted = true;
      onStart();
    },
  };
  const target = await toTarget(kind, name, input, options);
  const result = await options.call(target.ref, target.input, nested);
  const { error } = result;
  if (error === undefined) return toOutcome(result, kind, isDeclared(target.tool));
  // A call that asked during its run is not repeated.
  if (error.code === 'needs_approval' && !hasStarted) return { deferred: reviveError(error) };
  const isUnknown = error.code === 'not_found' && kind === 'call' && target.tool === undefined;
  if (!isUnknown) return toError(target.ref, error, textOf(result));
  return toError(target.ref, { ...error, hint: suggestName(name, await options.list(true)) });
}

function inputTooLarge(name: string): ToolError {
  const message = `the input of ${quoteOutside(name, 80)} and of calls at the same time has more than ${MOST_READ_TEXT}`;
  return new ToolError('too_large', message, { hint: 'make several calls with less, one after the other' });
}

// The output of a script that happens to be JSON is text, unless it has an output schema.
function isDeclared(tool: Tool | undefined): boolean {
  if (tool === undefined || tool.output !== undefined || tool.action.kind !== 'process') return true;
  // What is known of the process, and not its output.
  return tool.traits.background === true;
}

interface Target {
  readonly ref: string;
  readonly input: Json;
  readonly tool?: Tool | undefined;
}

async function toTarget(kind: EngineCall['kind'], name: string, input: Json, { find }: Calling): Promise<Target> {
  const given = isRecord(input) ? (input as JsonObject) : {};
  if (kind === 'page') return { ref: READ_RESULT, input: { ...given, id: name } };
  if (kind === 'query') return { ref: QUERY_RESULT, input: { ...given, id: name } };
  if (kind === 'json') return { ref: QUERY_RESULT, input: { id: name, query: '$' } };
  if (name === RUN_CODE) {
    throw new ToolError('invalid_ref', 'a program cannot run programs', { hint: 'call the tools themselves' });
  }
  const tools = await find(name);
  const ref = resolveName(name, tools);
  return { ref, input, tool: tools.find((tool) => tool.name === ref) };
}

async function search(input: Json, options: CallsOptions): Promise<Json> {
  const { query, limit } = isRecord(input) ? input : {};
  const most = typeof limit === 'number' && limit >= 1 ? Math.min(Math.floor(limit), MAX_FOUND) : FOUND;
  return (await options.search(String(query ?? ''), most)).map((found) => ({ ...found }));
}

// COD-6: a handle if the result is large, what the tool declares as structured, otherwise text.
function toOutcome({ content, structured, meta }: ToolResult, kind: EngineCall['kind'], isDeclared: boolean): Outcome {
  // Too large to be read here; the engine parses it.
  if (kind === 'json' && structured === undefined) return { json: textOf({ content }) };
  if (kind === 'json' || (kind === 'query' && meta.handle === undefined))
    return { value: (isRecord(structured) ? (structured.result as Json) : undefined) ?? null };
  if (meta.handle !== undefined) return { handle: meta.handle };
  if (kind === 'call' && structured !== undefined && isDeclared) return { value: structured };
  const isText = content.every(({ type }) => type === 'text');
  return { value: isText ? textOf({ content }) : (content as unknown as Json) };
}

function toError(tool: string, error: ErrorValue, output = ''): Outcome {
  const text = output.trim();
  return { error: { ...error, tool, ...(text === '' ? {} : { output: shorten(text) }) } };
}

// What went wrong is usually at the end.
function shorten(text: string): string {
  return text.length <= MAX_OUTPUT ? text : `…${text.slice(-MAX_OUTPUT)}`;
}

/** Returns the name of the tool that a program means; the given one if there is none. Throws `ambiguous`. */
export function resolveName(given: string, tools: readonly Pick<Tool, 'name'>[]): string {
  if (tools.some(({ name }) => name === given)) return given;
  const meant = tools.filter(({ name }) => toIdentifier(name) === given);
  if (meant.length > 1) {
    const names = meant.map(({ name }) => toProgramExpression(name));
    throw new ToolError('ambiguous', `tools.${given} can be ${names.join(' or ')}`, { hint: 'write one of these' });
  }
  return meant[0]?.name ?? given;
}

/** Returns the hint for a name that no tool has. */
function suggestName(given: string, tools: readonly Pick<Tool, 'name'>[]): string {
  const programName = createProgramNames(tools);
  const names = tools.map(({ name }) => programName(name));
  return didYouMean(given, names, 'await tools.$search("words") finds tools', toProgramExpression);
}
