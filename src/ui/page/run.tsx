// A run: progress, cancel, and its result.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Progress } from '../../core/context.js';
import type { Json } from '../../core/json.js';
import type { ToolResult } from '../../core/result.js';
import { stream, toErrorValue } from './client.js';
import { ResultView } from './result.js';

interface RunProps {
  readonly tool: string;
  readonly input: Json;
  /** Of the plan that was shown; another plan is not run. */
  readonly digest: string;
}

export function RunView({ tool, input, digest }: RunProps) {
  const progress = useSignal<Progress>({});
  const result = useSignal<ToolResult | undefined>(undefined);
  const abort = useSignal(new AbortController());
  useEffect(() => {
    const follow = async (): Promise<void> => {
      const { signal } = abort.value;
      try {
        for await (const event of stream('POST /api/run', { body: { tool, input, digest }, signal })) {
          if (event.type === 'progress') progress.value = event.progress;
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
  if (result.value !== undefined) return <ResultView result={result.value} />;
  const { done, total, message } = progress.value;
  return (
    <section class="box" aria-label="Running" aria-live="polite">
      <div class="actions">
        <progress
          aria-label="Progress"
          {...(done === undefined || total === undefined ? {} : { value: done, max: total })}
        />
        <span class="prose">{message ?? 'running …'}</span>
        <button type="button" onClick={() => abort.value.abort()}>
          Cancel
        </button>
      </div>
    </section>
  );
}
