// Elicitation: converts requests of a server for user input, in both protocol versions.

import type { Elicit, ElicitAnswer, Elicitation } from '../../core/elicit.js';
import { ToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { RpcError } from '../../core/rpc-error.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';

/** The error code of the older protocol version for "visit these pages first". */
const URL_ELICITATION_REQUIRED = -32042;
const MAX_PAGES = 8;
// More than any tool needs, and few enough to dismiss one by one.
const MAX_QUESTIONS = 16;

interface ElicitContext {
  readonly elicit?: Elicit | undefined;
  readonly signal: AbortSignal;
}

/** Converts the parameters of `elicitation/create`. */
export function toElicitation({ message, requestedSchema, url, elicitationId }: JsonObject): Elicitation {
  return {
    message: typeof message === 'string' ? message : '',
    schema: isRecord(requestedSchema) ? (requestedSchema as JsonSchema) : undefined,
    url: typeof url === 'string' ? url : undefined,
    id: typeof elicitationId === 'string' ? elicitationId : undefined,
  };
}

/** Limits the questions of one call; further ones are cancelled. */
export function limitQuestions(elicit: Elicit): Elicit {
  let asked = 0;
  return async (question, signal) => (++asked > MAX_QUESTIONS ? { action: 'cancel' } : elicit(question, signal));
}

/** Handles an error that requires the user to visit pages; returns whether the user visited all of them. */
export async function visitPages(error: unknown, { elicit, signal }: ElicitContext): Promise<boolean> {
  if (!(error instanceof RpcError) || error.code !== URL_ELICITATION_REQUIRED || elicit === undefined) return false;
  const { elicitations } = isRecord(error.data) ? error.data : {};
  const pages = Array.isArray(elicitations) ? elicitations.slice(0, MAX_PAGES) : [];
  for (const page of pages) {
    if (!isRecord(page) || typeof page.url !== 'string') return false;
    const { action } = await elicit(toElicitation(page as JsonObject), signal);
    if (action !== 'accept') return false;
  }
  return pages.length > 0;
}

/** Answers the input requests of a call (newer protocol version). Throws for anything but elicitation. */
export async function answerInputs(
  requests: unknown,
  { elicit, signal }: ElicitContext,
): Promise<Readonly<Record<string, ElicitAnswer>>> {
  const answers: Record<string, ElicitAnswer> = {};
  for (const [key, request] of Object.entries(isRecord(requests) ? requests : {})) {
    const { method, params } = isRecord(request) ? request : {};
    if (method !== 'elicitation/create' || !isRecord(params)) {
      const shown = quoteOutside(String(method), 60);
      throw new ToolError('unavailable', `its server requested "${shown}", which is not supported`, {
        hint: 'only elicitation is supported',
      });
    }
    const question = { ...toElicitation(params as JsonObject), id: key };
    answers[key] = elicit === undefined ? { action: 'cancel' } : await elicit(question, signal);
  }
  return answers;
}
