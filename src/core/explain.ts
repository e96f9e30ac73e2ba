// Explains the verdict on a call whose input may not be known.

import { isToolError } from './error.js';
import type { Explanation, PlanOptions, Toolbox } from './toolbox.js';

/** Without an input, defaults still apply and required parameters may be missing. */
export async function explainCall(
  toolbox: Toolbox,
  ref: string,
  input: unknown,
  options: PlanOptions,
): Promise<Explanation> {
  if (input !== undefined) return toolbox.explain(ref, input, options);
  try {
    return await toolbox.explain(ref, {}, options);
  } catch (error) {
    if (!isToolError(error) || error.code !== 'invalid_input') throw error;
    return toolbox.explain(ref, {}, { ...options, checkInput: false });
  }
}
