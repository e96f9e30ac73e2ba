// Questions that a tool has for the person behind a call: a form or a page to visit, and what came back of it.

import { ToolError } from './error.js';
import { isRecord, type Json, type JsonObject } from './json.js';
import type { Fault, JsonSchema } from './schema.js';

/** What a tool asks. */
export interface Elicitation {
  readonly message: string;
  /** A flat form: an object of plain fields, as the protocol's `requestedSchema` has it. */
  readonly schema?: JsonSchema;
  /** A page that the person visits, in place of a form. */
  readonly url?: string;
  /** What whoever asks calls this question. */
  readonly id?: string;
}

/** A question as a door shows it: its texts are harmless and bounded. */
export interface Question extends Elicitation {
  /** Which tool asks. */
  readonly tool: string;
  /** What is wrong with an answer; a door that can asks again. */
  check(content: JsonObject): Promise<readonly Fault[]>;
}

/** `decline`: the person said no. `cancel`: nobody decided anything. */
export interface ElicitAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** What the form was filled in with, where it was accepted. */
  readonly content?: Readonly<Record<string, Json>>;
}

/** Asks the person. Throws `unavailable` where that cannot be asked there. */
export type Elicit<Asked extends Elicitation = Elicitation> = (
  request: Asked,
  signal: AbortSignal,
) => Promise<ElicitAnswer>;

/** Asks whoever calls; null where that one does not answer. */
export type Ask = (question: string) => Promise<string | null>;

const ONE_LINE: JsonSchema = {
  type: 'object',
  properties: { answer: { type: 'string', title: 'Your answer' } },
  required: ['answer'],
};

/** Asks for a line of text; null where nothing was answered. */
export async function askText(elicit: Elicit, message: string, signal: AbortSignal): Promise<string | null> {
  const { action, content } = await elicit({ message, schema: ONE_LINE }, signal);
  const answer = content?.answer;
  return action === 'accept' && typeof answer === 'string' ? answer : null;
}

/** A door that only takes text, as one that takes forms: those with one field for text. */
export function elicitByText(ask: Ask): Elicit {
  return async ({ message, schema, url }) => {
    const field = schema === undefined || url !== undefined ? undefined : onlyTextField(schema);
    if (field === undefined) throw cannotAsk('a form');
    const text = await ask(message);
    return text === null ? { action: 'cancel' } : { action: 'accept', content: { [field]: text } };
  };
}

/** What a door answers to a question of a kind that it cannot ask. */
export function cannotAsk(what: string): ToolError {
  return new ToolError('unavailable', `nobody can be asked with ${what} here`, {
    hint: 'call it from a terminal, or give the answer as a parameter',
  });
}

function onlyTextField({ properties }: JsonSchema): string | undefined {
  const [first, ...others] = Object.entries(isRecord(properties) ? properties : {});
  if (first === undefined || others.length > 0) return undefined;
  const [name, field] = first;
  const isText =
    isRecord(field) && field.type === 'string' && field.enum === undefined && field.oneOf === undefined;
  return isText ? name : undefined;
}
