// The form of a tool and its JSON, then the plan and the verdict, then the run.

import { type Signal, useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Progress } from '../../core/context.js';
import { type Json, type JsonObject, parseWithPosition } from '../../core/json.js';
import type { ToolResult } from '../../core/result.js';
import type { Fault } from '../../core/schema.js';
import type { PlannedCall, QuestionItem, ToolDetails } from '../api.js';
import { createForm, type FormState } from '../form/state.js';
import type { RequestOf } from '../requests.js';
import { request, stream, toErrorValue } from './client.js';
import { Part } from './fields/part.js';
import { ErrorBox } from './parts.js';
import { PlanView } from './plan.js';
import { ResultView } from './result.js';
import { view } from './route.js';
import { useTask } from './use-request.js';

export function CallForm({ details }: { details: ToolDetails }) {
  const { input: schema, item } = details;
  const state = useSignal<FormState>(createForm(schema, view.value.input));
  const isJson = useSignal(false);
  const jsonFault = useSignal('');
  const running = useSignal<{ readonly plan: PlannedCall; readonly input: Json } | undefined>(undefined);
  const plan = useTask<PlannedCall & { readonly input: Json }>();
  const { input: given } = view.value;
  // A link or an edited call fills in the form, and nothing runs; a change of the catalog keeps what was typed.
  useEffect(() => {
    if (given !== undefined) state.value = createForm(schema, given);
  }, [given]);
  // A plan belongs to the input that it was made for.
  const current = useComputed(() =>
    plan.value.value !== undefined && plan.value.value.input === state.value.value ? plan.value.value : undefined,
  );
  const submit = (): void => {
    const input = state.value.value;
    const shown = current.value;
    if (shown !== undefined) running.value = { plan: shown, input };
    else plan.run(async () => ({ ...(await request('POST /api/plan', { body: { tool: item.name, input } })), input }));
  };
  const error = current.value === undefined ? plan.error.value : undefined;
  const faults = (error?.data?.faults ?? []) as readonly Fault[];
  const isDenied = current.value?.verdict.verdict === 'deny';
  return (
    <>
      <form
        class="call"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <InputView details={details} state={state} isJson={isJson} jsonFault={jsonFault} faults={faults} />
        <ErrorBox error={error} />
        {current.value !== undefined && <PlanView planned={current.value} />}
        <div class="actions">
          <button
            type="submit"
            class="primary"
            aria-keyshortcuts="r"
            disabled={plan.isBusy.value || isDenied || jsonFault.value !== ''}
          >
            {current.value === undefined ? 'Show plan' : 'Run this plan'} <kbd>r</kbd>
          </button>
          {current.value === undefined && <span class="note">Nothing runs before you have seen the plan.</span>}
        </div>
      </form>
      {running.value !== undefined && (
        <RunView key={running.value} tool={item.name} input={running.value.input} digest={running.value.plan.digest} />
      )}
    </>
  );
}

interface InputProps {
  readonly details: ToolDetails;
  readonly state: Signal<FormState>;
  readonly isJson: Signal<boolean>;
  readonly jsonFault: Signal<string>;
  readonly faults: readonly Fault[];
}

function InputView({ details, state, isJson, jsonFault, faults }: InputProps) {
  const { input: schema, examples } = details;
  const toggle = (json: boolean): void => {
    isJson.value = json;
    jsonFault.value = '';
  };
  return (
    <section aria-label="Input">
      <div class="switch">
        <button type="button" aria-pressed={!isJson.value} onClick={() => toggle(false)}>
          Form
        </button>
        <button type="button" aria-pressed={isJson.value} onClick={() => toggle(true)}>
          JSON
        </button>
        {examples.map((example, index) => (
          <button
            key={JSON.stringify(example)}
            type="button"
            class="quiet"
            onClick={() => {
              state.value = createForm(schema, example);
            }}
          >
            Example {index + 1}
          </button>
        ))}
      </div>
      {isJson.value ? (
        <JsonInput state={state} fault={jsonFault} />
      ) : (
        <Part form={{ root: schema, state, faults, Part }} schema={schema} path={[]} labelledBy="input-label" />
      )}
      <span id="input-label" class="hidden-label">
        Input of {details.item.name}
      </span>
      {faults
        .filter(({ path }) => path === '' || isJson.value)
        .map(({ path, expected, got }) => (
          <p key={path + expected} class="fault">
            {path} must be {expected}, got {got}
          </p>
        ))}
    </section>
  );
}

function JsonInput({ state, fault }: { state: Signal<FormState>; fault: Signal<string> }) {
  const text = useSignal(JSON.stringify(state.value.value, null, 2));
  return (
    <>
      <textarea
        class="json"
        aria-label="Input as JSON"
        rows={12}
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          try {
            state.value = { value: parseWithPosition(text.value) as Json, choices: {} };
            fault.value = '';
          } catch (error) {
            fault.value = (error as Error).message;
          }
        }}
      />
      {fault.value !== '' && (
        <p class="fault" role="alert">
          not valid JSON: {fault.value}
        </p>
      )}
    </>
  );
}

interface RunProps {
  readonly tool: string;
  readonly input: Json;
  /** Of the plan that was shown; another plan is not run. */
  readonly digest: string;
}

function RunView({ tool, input, digest }: RunProps) {
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

function QuestionView({ question, onAnswered }: { question: QuestionItem; onAnswered: () => void }) {
  const { id, tool, message, schema, url } = question;
  const state = useSignal<FormState>(createForm(schema ?? {}, undefined));
  const { error, isBusy, run } = useTask<void>();
  const answer = (action: RequestOf<'POST /api/answers'>['action']): Promise<void> =>
    run(async () => {
      const content = action === 'accept' && schema !== undefined ? { content: state.value.value as JsonObject } : {};
      await request('POST /api/answers', { body: { question: id, action, ...content } });
      onAnswered();
    });
  const faults = (error.value?.data?.faults ?? []) as readonly Fault[];
  return (
    <section class="question" aria-label={`Question of ${tool}`}>
      <h3>{tool} asks</h3>
      <p class="prose">{message}</p>
      {url !== undefined && <code>{url}</code>}
      {schema !== undefined && (
        <Part form={{ root: schema, state, faults, Part }} schema={schema} path={[]} labelledBy={`question-${id}`} />
      )}
      <span id={`question-${id}`} class="hidden-label">
        Answer to {tool}
      </span>
      <ErrorBox error={error.value} />
      <div class="actions">
        <button type="button" class="primary" disabled={isBusy.value} onClick={() => answer('accept')}>
          {url === undefined ? 'Send the answer' : 'I have visited it'}
        </button>
        <button type="button" disabled={isBusy.value} onClick={() => answer('decline')}>
          Decline
        </button>
      </div>
    </section>
  );
}
