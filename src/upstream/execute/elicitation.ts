// Questions of a server, in our words and back.

import type { Elicit, ElicitAnswer, Elicitation } from '../../core/elicit.js';
import { ToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { RemoteError } from '../connection/lane.js';

/** A question as the protocol puts it. */
export function toElicitation(params: JsonObject): Elicitation {
  const { message, requestedSchema, url, elicitationId } = params;
  return {
    message: typeof message === 'string' ? message : '',
    ...(isRecord(requestedSchema) ? { schema: requestedSchema as JsonSchema } : {}),
    ...(typeof url === 'string' ? { url } : {}),
    ...(typeof elicitationId === 'string' ? { id: elicitationId } : {}),
  };
}

// More than any tool needs to ask, and few enough for a person who has to send them all away.
const MAX_QUESTIONS = 16;

/** The questions of one call: a server that asks on and on is answered in the person's place. */
export function limitQuestions(elicit: Elicit): Elicit {
  let asked = 0;
  return async (question, signal) =>
    ++asked > MAX_QUESTIONS ? { action: 'cancel' } : elicit(question, signal);
}

// What an older server refuses a call with until the person has been to a page.
const PAGES_FIRST = -32042;
const MAX_PAGES = 8;

/** Whether a call was refused until a person has visited pages, and they have by now. */
export async function visitPages(
  error: unknown,
  { elicit, signal }: { readonly elicit?: Elicit | undefined; readonly signal: AbortSignal },
): Promise<boolean> {
  if (!(error instanceof RemoteError) || error.code !== PAGES_FIRST || elicit === undefined) return false;
  const { elicitations } = isRecord(error.data) ? error.data : {};
  const pages = Array.isArray(elicitations) ? elicitations.slice(0, MAX_PAGES) : [];
  for (const page of pages) {
    if (!isRecord(page) || typeof page.url !== 'string') return false;
    const { action } = await elicit(toElicitation(page as JsonObject), signal);
    if (action !== 'accept') return false;
  }
  return pages.length > 0;
}

/** The answers to what a call of the newer era waits for. Throws where it waits for something else than a person. */
export async function answerInputs(
  requests: unknown,
  { elicit, signal }: { readonly elicit?: Elicit | undefined; readonly signal: AbortSignal },
): Promise<Readonly<Record<string, ElicitAnswer>>> {
  const answers: Record<string, ElicitAnswer> = {};
  for (const [key, request] of Object.entries(isRecord(requests) ? requests : {})) {
    const { method, params } = isRecord(request) ? request : {};
    if (method !== 'elicitation/create' || !isRecord(params)) {
      throw new ToolError(
        'unavailable',
        `its server wants "${quoteOutside(String(method), 60)}", which is not given`,
        {
          hint: 'only questions to a person are answered',
        },
      );
    }
    answers[key] =
      elicit === undefined ? { action: 'cancel' } : await elicit(toElicitation(params as JsonObject), signal);
  }
  return answers;
}
