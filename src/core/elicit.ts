// Questions of a tool to the user: a form or a page to visit, and the answer.

import { ToolError } from './error.js';
import { isRecord, type Json, type JsonObject } from './json.js';
import type { Fault, JsonSchema } from './schema.js';

/** What a tool asks. */
export interface Elicitation {
  /** The question. */
  readonly message: string;
  /** A flat form, as in the protocol's `requestedSchema`. */
  readonly schema?: JsonSchema;
  /** A page to visit, instead of a form. */
  readonly url?: string;
  /** The id that the tool gave this question, also its key in the newer protocol version. */
  readonly id?: string;
}

/** A question for a door to show, with sanitised texts of bounded length. */
export interface Question extends Elicitation {
  /** The tool that asks. */
  readonly tool: string;
  /** Validates an answer, so that a door can ask again. */
  check(content: JsonObject): Promise<readonly Fault[]>;
}

/** `decline`: the user refused. `cancel`: there was no decision. */
export interface ElicitAnswer {
  /** What the person did. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /** The filled-in form, if accepted. */
  readonly content?: Readonly<Record<string, Json>>;
}

/** The choice that consents to a call. No form of a tool has it, nor a label that begins with `wield` (POL-34). */
export const CONSENT_CHOICE = 'run it once';

/** Asks the user. Throws `unavailable` if the door cannot ask this. */
export type Elicit<Asked extends Elicitation = Elicitation> = (
  request: Asked,
  signal: AbortSignal,
) => Promise<ElicitAnswer>;

/** Asks the user for a line of text; null without an answer. */
export type Ask = (question: string) => Promise<string | null>;

const ONE_LINE: JsonSchema = {
  type: 'object',
  properties: { answer: { type: 'string', title: 'Your answer' } },
  required: ['answer'],
};

/** Asks for a line of text; null without an answer. */
export async function askText(elicit: Elicit, message: string, signal: AbortSignal): Promise<string | null> {
  const { action, content } = await elicit({ message, schema: ONE_LINE }, signal);
  const answer = content?.answer;
  return action === 'accept' && typeof answer === 'string' ? answer : null;
}

/** Turns a door that asks for text into one that asks forms with a single text field. */
export function elicitByText(ask: Ask): Elicit {
  return async ({ message, schema, url }) => {
    const field = schema === undefined || url !== undefined ? undefined : onlyTextField(schema);
    if (field === undefined) throw cannotAsk('a form');
    const text = await ask(message);
    return text === null ? { action: 'cancel' } : { action: 'accept', content: { [field]: text } };
  };
}

/** The error for a kind of question that a door cannot ask. */
export function cannotAsk(what: string): ToolError {
  return new ToolError('unavailable', `this client cannot show ${what}`, {
    hint: 'call it from a terminal, or give the answer as a parameter',
  });
}

function onlyTextField({ properties }: JsonSchema): string | undefined {
  const [first, ...others] = Object.entries(isRecord(properties) ? properties : {});
  if (first === undefined || others.length > 0) return undefined;
  const [name, field] = first;
  const isText = isRecord(field) && field.type === 'string' && field.enum === undefined && field.oneOf === undefined;
  return isText ? name : undefined;
}
