// Asks the user a question of a tool: sanitised, limited in time, with a validated answer (MOD-18).

import type { Elicit, ElicitAnswer, Elicitation, Question } from '../core/elicit.js';
import { isToolError } from '../core/error.js';
import { isRecord, type Json, toJson } from '../core/json.js';
import { type Fault, fillDefaults } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';
import { cancelled } from '../core/time-limit.js';
import { createJsonSchema } from '../schema/json.js';
import { toForm, toMessage, toPage } from './form.js';

export interface ElicitOptions {
  readonly tool: string;
  readonly door: Elicit<Question>;
  readonly request: Elicitation;
  readonly signal: AbortSignal;
  readonly debug: (message: string) => void;
}

const ANSWER_BOUNDS = { maxDepth: 4, maxBytes: 1024 * 1024 };
// How long a question stays open.
const OPEN_MS = 10 * 60_000;
const CANCEL: ElicitAnswer = { action: 'cancel' };

/** Asks the user. Throws if the question is invalid, cannot be asked, or the call has ended. */
export async function elicit({ tool, door, request, signal, debug }: ElicitOptions): Promise<ElicitAnswer> {
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
  debug: (message: string) => void,
): Promise<ElicitAnswer> {
  const { tool } = question;
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  const ended = new Promise<ElicitAnswer>((resolve, reject) => {
    onAbort = () => reject(cancelled(tool, ' while it waited for an answer'));
    signal.addEventListener('abort', onAbort, { once: true });
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
    signal.removeEventListener('abort', onAbort);
    // Withdraws a question that is still shown.
    ending.abort();
  }
}

function describe({ path, expected, got }: Fault): string {
  return `${path === '' ? 'it' : path}: expected ${expected}, got ${got}`;
}
