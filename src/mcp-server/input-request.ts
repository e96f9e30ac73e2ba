// Questions in an `input_required` result, and the answers that a repeated request carries.

import type { ElicitAnswer } from '../core/elicit.js';
import { isRecord } from '../core/json.js';

/** A question in an `input_required` result. */
export interface InputRequest {
  readonly method: 'elicitation/create';
  readonly params: object;
}

/** A result that asks the client for input; the client repeats the call with it. */
export interface InputRequiredResult {
  readonly resultType: 'input_required';
  readonly inputRequests: Readonly<Record<string, InputRequest>>;
  readonly requestState: string;
}

const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel'];

/** Reads the answer to one question; undefined if there is none. */
export function readAnswer(responses: unknown, key: string): ElicitAnswer | undefined {
  const response = isRecord(responses) && Object.hasOwn(responses, key) ? responses[key] : undefined;
  // An entry that is a whole response instead of its result is no answer.
  if (!isRecord(response) || 'method' in response || 'result' in response) return undefined;
  if (!ACTIONS.includes(response.action)) return undefined;
  const action = response.action as ElicitAnswer['action'];
  return isRecord(response.content) ? { action, content: response.content as ElicitAnswer['content'] } : { action };
}
