// The run of a plan: progress, questions, a way to cancel, and the result.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Progress } from '../../core/context.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { ToolResult } from '../../core/result.js';
import type { QuestionItem } from '../api.js';
import { createForm, type FormState } from '../form/state.js';
import type { RequestOf } from '../requests.js';
import { inSlot, request, stream, toErrorValue } from './client.js';
import { Part } from './fields/part.js';
import { Button, ErrorBox } from './parts.js';
import { ResultView } from './result.js';
import { useCheck, useTask } from './use-request.js';

const WAITING = 'waiting for other runs of this browser …';

interface RunProps {
  readonly tool: string;
  readonly input: Json;
  /** Of the plan that was shown; another plan is not run. */
  readonly digest: string;
  /** The plan is another one by now. */
  readonly onChanged: () => void;
}

export function RunView({ tool, input, digest, onChanged }: RunProps) {
  const progress = useSignal<Progress>({});
  const questions = useSignal<readonly QuestionItem[]>([]);
  const result = useSignal<ToolResult | undefined>(undefined);
  const isStarted = useSignal(false);
  const abort = useSignal(new AbortController());
  const section = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { signal } = abort.value;
    const since = performance.now();
    const follow = async (): Promise<void> => {
      isStarted.value = true;
      for await (const event of stream('POST /api/run', { body: { tool, input, digest }, signal })) {
        if (event.type === 'progress') progress.value = event.progress;
        else if (event.type === 'question') questions.value = [...questions.value, event.question];
        else result.value = event.result;
      }
    };
    inSlot(follow, signal).catch((thrown) => {
      const error = signal.aborted ? { code: 'cancelled' as const, message: 'cancelled by you' } : toErrorValue(thrown);
      result.value = { ok: false, content: [], error, meta: { durationMs: performance.now() - since } };
      if (error.code === 'conflict') onChanged();
    });
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
            <span class="prose">
              {message ?? (isCounted ? `${done} of ${total}` : isStarted.value ? 'running …' : WAITING)}
            </span>
            <Button onClick={() => abort.value.abort()}>Cancel</Button>
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

function QuestionView({ question, onAnswered }: { question: QuestionItem; onAnswered: () => void }) {
  const { id, tool, message, schema, url } = question;
  const state = useSignal<FormState>(createForm(schema ?? {}, undefined));
  const input = state.value.value;
  const send = async (action: RequestOf<'POST /api/answers'>['action']): Promise<void> => {
    const isForm = (action === 'accept' || action === 'check') && schema !== undefined;
    const content = isForm ? (input as JsonObject) : undefined;
    await request('POST /api/answers', { body: { question: id, action, content } });
    if (action !== 'check') onAnswered();
  };
  const answer = useCheck(input, (_, isAsked) => send(isAsked ? 'accept' : 'check'));
  const declined = useTask<void>();
  return (
    <section class="question" aria-label={`Question of ${tool}`}>
      <h3>{tool} asks</h3>
      <p class="prose">{message}</p>
      {url !== undefined && <code>{url}</code>}
      {schema !== undefined && (
        <Part
          form={{ root: schema, state, faults: answer.faults, Part }}
          schema={schema}
          path={[]}
          labelledBy={`question-${id}`}
        />
      )}
      <span id={`question-${id}`} class="hidden-label">
        Answer to {tool}
      </span>
      <ErrorBox error={answer.error ?? declined.error.value} />
      <div class="actions">
        <Button class="primary" onClick={answer.ask}>
          {url === undefined ? 'Send the answer' : 'I have visited it'}
        </Button>
        <Button onClick={() => declined.run(() => send('decline'))}>Decline</Button>
      </div>
    </section>
  );
}
