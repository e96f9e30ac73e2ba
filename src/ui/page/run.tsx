// A run: progress, questions of the tool, a way to cancel, then the result.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Progress } from '../../core/context.js';
import type { Json } from '../../core/json.js';
import type { ToolResult } from '../../core/result.js';
import type { QuestionItem } from '../api.js';
import { stream, toErrorValue } from './client.js';
import { QuestionView } from './question.js';
import { ResultView } from './result.js';

interface RunProps {
  readonly tool: string;
  readonly input: Json;
  /** Of the plan that was shown; another plan is not run. */
  readonly digest: string;
}

export function RunView({ tool, input, digest }: RunProps) {
  const progress = useSignal<Progress>({});
  const questions = useSignal<readonly QuestionItem[]>([]);
  const result = useSignal<ToolResult | undefined>(undefined);
  const abort = useSignal(new AbortController());
  const section = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const follow = async (): Promise<void> => {
      const { signal } = abort.value;
      try {
        for await (const event of stream('POST /api/run', { body: { tool, input, digest }, signal })) {
          if (event.type === 'progress') progress.value = event.progress;
          else if (event.type === 'question') questions.value = [...questions.value, event.question];
          else result.value = event.result;
        }
      } catch (error) {
        const value = signal.aborted
          ? { code: 'cancelled' as const, message: 'cancelled by you' }
          : toErrorValue(error);
        result.value = { ok: false, content: [], error: value, meta: { durationMs: 0 } };
      }
    };
    follow();
  }, []);
  useEffect(
    () => section.current?.scrollIntoView({ block: 'nearest' }),
    [result.value === undefined, questions.value.length],
  );
  const { done, total, message } = progress.value;
  const isCounted = done !== undefined && total !== undefined;
  return (
    <div ref={section} class="run">
      <p class="hidden-label" role="status">
        {result.value === undefined ? `${tool} is running` : `${tool}: ${result.value.error?.code ?? 'ok'}`}
      </p>
      {result.value !== undefined ? (
        <ResultView result={result.value} />
      ) : (
        <section class="box" aria-label="Running">
          <div class="actions">
            <progress aria-label="Progress" {...(isCounted ? { value: done, max: total } : {})} />
            <span class="prose">{message ?? (isCounted ? `${done} of ${total}` : 'running …')}</span>
            <button type="button" onClick={() => abort.value.abort()}>
              Cancel
            </button>
          </div>
          {questions.value.map((question) => (
            <QuestionView
              key={question.id}
              question={question}
              onAnswered={() => {
                questions.value = questions.value.filter(({ id }) => id !== question.id);
              }}
            />
          ))}
        </section>
      )}
    </div>
  );
}
