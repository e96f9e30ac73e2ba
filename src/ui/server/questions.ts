// Questions of tools to the person at the page, while a run waits for the answers.

import { randomUUID } from 'node:crypto';
import type { Elicit, ElicitAnswer, Question } from '../../core/elicit.js';
import { ToolError } from '../../core/error.js';
import type { QuestionAnswer, RunEvent } from '../api.js';

export interface Questions {
  /** Returns how the tools of a run ask; its questions end when its stream does. */
  ask(send: (event: RunEvent) => void, streamEnd: AbortSignal): Elicit<Question>;
  /** Answers a question. Throws `not_found`, or `invalid_input` with the faults of the form. */
  answer(given: QuestionAnswer): Promise<void>;
}

interface OpenQuestion {
  readonly check: Question['check'];
  readonly end: (answer: ElicitAnswer) => void;
}

export function createQuestions(): Questions {
  const open = new Map<string, OpenQuestion>();
  return {
    ask:
      (send, streamEnd) =>
      ({ tool, message, schema, url, check }, callEnd) =>
        new Promise((resolve) => {
          const signal = AbortSignal.any([callEnd, streamEnd]);
          const id = randomUUID();
          const cancel = (): void => end({ action: 'cancel' });
          const end = (answer: ElicitAnswer): void => {
            open.delete(id);
            signal.removeEventListener('abort', cancel);
            resolve(answer);
          };
          open.set(id, { check, end });
          signal.addEventListener('abort', cancel);
          if (signal.aborted) return cancel();
          const asked = { ...(schema === undefined ? {} : { schema }), ...(url === undefined ? {} : { url }) };
          send({ type: 'question', question: { id, tool, message, ...asked } });
        }),
    async answer({ question, action, content = {} }) {
      const found = open.get(question);
      if (found === undefined)
        throw new ToolError('not_found', 'no tool waits for this answer', { hint: 'run the tool again' });
      if (action !== 'accept') return found.end({ action });
      const faults = await found.check(content);
      if (faults.length > 0)
        throw new ToolError('invalid_input', 'the answer is not valid', {
          hint: 'correct the marked fields',
          data: { faults },
        });
      found.end({ action, content });
    },
  };
}
