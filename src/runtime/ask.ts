// What a tool asks during its call: the user, by the door, and the client behind it. Time limits are paused meanwhile.

import { onAbort } from '../core/async.js';
import {
  type ClientRequest,
  isClientResult,
  lacksCapability,
  type RequestClient,
  toClientTool,
} from '../core/client-request.js';
import type { NestedOptions } from '../core/context.js';
import { type Elicit, type ElicitAnswer, type Elicitation, elicitByText, type Question } from '../core/elicit.js';
import { isToolError, ToolError } from '../core/error.js';
import type { CallScope } from '../core/executor.js';
import { isRecord, type Json, type JsonObject, toJson } from '../core/json.js';
import type { ToolResult } from '../core/result.js';
import { type Fault, fillDefaults } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';
import { cancelled } from '../core/time-limit.js';
import type { Tool } from '../core/tool.js';
import type { DoorOptions } from '../core/toolbox.js';
import { createJsonSchema } from '../schema/json.js';
import { toForm, toMessage, toPage } from './form.js';

/** What the runtime or a tool says about a call inside another one. */
export interface NestedCallOptions extends NestedOptions {
  /** Cancels it. */
  readonly signal: AbortSignal;
  readonly named?: 'by-caller' | 'by-definition';
  /** Whether the outer call holds a slot; true by default. */
  readonly sharesSlot?: boolean;
  /** The tool that is called, if the runtime made it. */
  readonly tool?: Tool;
  /** What the reference is, if it is not that of a tool. */
  readonly as?: DoorOptions['as'];
}

/** Makes a call inside another one. */
export type Nest = (ref: string, input: unknown, asked: NestedCallOptions) => Promise<ToolResult>;

type Debug = (message: string) => void;

/** Returns options whose questions, also those of nested calls, pause the time limits that `whileAsked` registers. */
export function pauseWhileAsked(given: DoorOptions): Pick<CallScope, 'options' | 'whileAsked'> {
  const { ask, client } = given;
  const elicit = given.elicit ?? (ask && elicitByText(ask));
  if (elicit === undefined && client === undefined) return { options: given, whileAsked: () => {} };
  const pauses: (() => () => void)[] = [];
  const paused = async <T>(run: () => Promise<T>): Promise<T> => {
    const resumes = pauses.map((pause) => pause());
    try {
      return await run();
    } finally {
      for (const resume of resumes) resume();
    }
  };
  const options: DoorOptions = {
    ...given,
    elicit: elicit && ((question, signal) => paused(() => elicit(question, signal))),
    client: client && {
      ...client,
      request: (request, signal) => paused(() => client.request(request, signal)),
    },
  };
  return { options, whileAsked: (pause) => pauses.push(pause) };
}

/** Returns how the tool of a call asks the user and the client; a request to the client is a nested call (RSC-7). */
export function askThrough(
  { elicit: door, client }: DoorOptions,
  toolOf: () => Tool,
  nest: Nest,
  debug: Debug,
): Pick<CallScope, 'elicit' | 'client'> {
  return {
    elicit: door && ((request, signal) => askUser({ tool: toolOf().name, door, request, signal, debug })),
    client: client && {
      capabilities: client.capabilities,
      request: (request, signal) => sendToClient(client, toolOf(), nest, request, signal),
    },
  };
}

interface UserQuestion {
  readonly tool: string;
  readonly door: Elicit<Question>;
  readonly request: Elicitation;
  readonly signal: AbortSignal;
  readonly debug: Debug;
}

const ANSWER_BOUNDS = { maxDepth: 4, maxBytes: 1024 * 1024 };
// How long a question stays open.
const OPEN_MS = 10 * 60_000;
const CANCEL: ElicitAnswer = { action: 'cancel' };

// The question is sanitised and limited in time, and the answer validated (MOD-18). Throws if the question is invalid,
// cannot be asked, or the call has ended.
async function askUser({ tool, door, request, signal, debug }: UserQuestion): Promise<ElicitAnswer> {
  if (signal.aborted) throw cancelled(tool, ' while it waited for an answer');
  const { url, id } = request;
  const form = url === undefined ? toForm(request.schema, tool) : undefined;
  const schema = form === undefined ? undefined : createJsonSchema(form, { closed: true });
  const check = async (content: Json): Promise<readonly Fault[]> => {
    const checked = await schema?.check(content);
    return checked === undefined || checked.ok ? [] : checked.faults;
  };
  const question: Question = {
    tool,
    message: toMessage(request.message),
    schema: form,
    url: url === undefined ? undefined : toPage(url, tool),
    id: id === undefined ? undefined : quoteOutside(String(id)),
    check,
  };
  const answer = await askWithin(door, question, signal, debug);
  if (answer.action !== 'accept') return { action: answer.action === 'decline' ? 'decline' : 'cancel' };
  if (schema === undefined) return { action: 'accept' };
  const refuse = (why: string): ElicitAnswer => {
    debug(`ignored an invalid answer to ${tool}: ${why}`);
    return CANCEL;
  };
  try {
    // A client need not send fields that keep their default.
    const content = fillDefaults(toJson(answer.content ?? {}, ANSWER_BOUNDS), form!);
    const faults = await check(content);
    if (faults.length > 0 || !isRecord(content)) return refuse(faults.map(describe).join('; '));
    return { action: 'accept', content };
  } catch (error) {
    return refuse((error as Error).message);
  }
}

// Races the question against cancellation and the time limit. A door that fails counts as no answer.
async function askWithin(
  door: Elicit<Question>,
  question: Question,
  signal: AbortSignal,
  debug: Debug,
): Promise<ElicitAnswer> {
  const { tool } = question;
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let release = (): void => {};
  const ended = new Promise<ElicitAnswer>((resolve, reject) => {
    release = onAbort(signal, () => reject(cancelled(tool, ' while it waited for an answer')));
    timer = setTimeout(() => {
      debug(`the question of ${tool} timed out`);
      resolve(CANCEL);
    }, OPEN_MS);
  });
  try {
    return await Promise.race([ended, door(question, ending.signal)]);
  } catch (error) {
    if (isToolError(error)) throw error;
    debug(`could not ask the question of ${tool}: ${String(error)}`);
    return CANCEL;
  } finally {
    clearTimeout(timer);
    release();
    // Withdraws a question that is still shown.
    ending.abort();
  }
}

function describe({ kind, path, expected, got }: Fault): string {
  return `${path === '' ? 'it' : path}: ${kind === 'missing' ? 'required' : `expected ${expected}, got ${got}`}`;
}

const CLIENT_BOUNDS = { maxDepth: 32, maxBytes: 4 * 1024 * 1024 };

// Returns what the client answers. Throws if it does not support the request, a rule denies it, or it fails.
async function sendToClient(
  client: RequestClient,
  { name, origin }: Tool,
  nest: Nest,
  { capability, params, id }: ClientRequest,
  until: AbortSignal,
): Promise<JsonObject> {
  const isUpstream = origin.owner === 'upstream' && origin.server !== null;
  const asker = isUpstream ? origin.server : name;
  if (client.capabilities[capability] === undefined) throw lacksCapability(asker, capability);
  const arrive = client.expect?.() ?? (() => {});
  const send = async (given: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    arrive();
    const _meta = { ...(given._meta as JsonObject | undefined), 'wield/server': asker };
    const answer = await client.request({ capability, params: { ...given, _meta }, id }, signal);
    if (isClientResult(capability, answer)) return toJson(answer, CLIENT_BOUNDS) as JsonObject;
    throw new ToolError('unavailable', `the client sent an invalid answer to ${capability} for ${asker}`, {
      hint: 'report this to the author of the client',
    });
  };
  const tool = toClientTool(capability, asker, send);
  const sent = async () =>
    nest(tool.name, toJson(params, CLIENT_BOUNDS), { signal: until, named: 'by-definition', tool });
  const { error, structured } = await sent().finally(arrive);
  if (error === undefined) return structured as JsonObject;
  throw new ToolError(error.code, error.message, { hint: error.hint, data: error.data });
}
