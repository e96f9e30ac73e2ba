// Requests to the client in an `input_required` result, and the answers that a repeated request carries.

import { type CLIENT_METHODS, capabilityOf, isClientResult } from '../core/client-request.js';
import type { ClientCapability } from '../core/context.js';
import type { ElicitAnswer } from '../core/elicit.js';
import { isRecord, type JsonObject } from '../core/json.js';

/** A request to the client, as in an `input_required` result. */
export interface InputRequest {
  readonly method: 'elicitation/create' | (typeof CLIENT_METHODS)[ClientCapability];
  readonly params: object;
}

/** A result that asks the client for input; the client repeats the call with it. */
export interface InputRequiredResult {
  readonly resultType: 'input_required';
  readonly inputRequests: Readonly<Record<string, InputRequest>>;
  readonly requestState: string;
}

/** What a client answers: to a question, or to another request. */
export type InputAnswer = ElicitAnswer | JsonObject;

const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel'];

/** Reads the answer to one request; undefined if there is none. */
export function readAnswer(
  responses: unknown,
  key: string,
  method: InputRequest['method'] = 'elicitation/create',
): InputAnswer | undefined {
  const response = isRecord(responses) && Object.hasOwn(responses, key) ? responses[key] : undefined;
  // An entry that is a whole response instead of its result is no answer.
  if (!isRecord(response) || 'method' in response || 'result' in response) return undefined;
  const capability = capabilityOf(method);
  if (capability !== undefined) return isClientResult(capability, response) ? response : undefined;
  if (!ACTIONS.includes(response.action)) return undefined;
  const action = response.action as ElicitAnswer['action'];
  return isRecord(response.content) ? { action, content: response.content as ElicitAnswer['content'] } : { action };
}
