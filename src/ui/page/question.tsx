// A question of a tool that runs: its form, or the address of a page to visit.

import { useSignal } from '@preact/signals';
import type { JsonObject } from '../../core/json.js';
import type { Fault } from '../../core/schema.js';
import type { QuestionAnswer, QuestionItem } from '../api.js';
import { createForm, type FormState } from '../form/state.js';
import { request } from './client.js';
import { Part } from './fields/part.js';
import { ErrorBox } from './parts.js';
import { useTask } from './use-request.js';

export function QuestionView({ question, onAnswered }: { question: QuestionItem; onAnswered: () => void }) {
  const { id, tool, message, schema, url } = question;
  const state = useSignal<FormState>(createForm(schema ?? {}, undefined));
  const { error, isBusy, run } = useTask<void>();
  const answer = (action: QuestionAnswer['action']): Promise<void> =>
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
