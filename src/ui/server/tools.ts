// Routes of one tool: its details, plan and verdict, a run with its questions, and pages of a stored result.

import { randomUUID } from 'node:crypto';
import { type Approve, approveBy } from '../../core/approval.js';
import { deferred, onAbort } from '../../core/async.js';
import type { Elicit, ElicitAnswer, Question } from '../../core/elicit.js';
import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { Plan } from '../../core/plan.js';
import { redactValue } from '../../core/redact.js';
import type { DoorOptions } from '../../core/toolbox.js';
import { digestPlan } from '../../policy/binding.js';
import { describeSandbox } from '../../process/sandbox/text.js';
import type { PlannedCall, RunEvent, ToolDetails } from '../api.js';
import { planRows } from '../plan-text.js';
import type { RequestOf } from '../requests.js';
import { findNamed, type Named, toItem, toToolItems } from './catalog.js';
import { type PageParts, PERSON } from './parts.js';
import type { Handlers } from './route.js';

export function createToolRoutes(parts: PageParts) {
  const { toolbox } = parts;
  const questions = createQuestions();
  return {
    'GET /api/tools/:name': async ({ params }) => describeTool(parts, params.name!),
    'POST /api/plan': async ({ body }) => planCall(parts, await findNamed(toolbox, body.tool), body.input),
    'POST /api/run': async ({ body, signal, send }) => {
      const named = await findNamed(toolbox, body.tool);
      const { digest } = await planCall(parts, named, body.input);
      if (digest !== body.digest) throw changedPlan(body.tool);
      let isShown = true;
      const options: DoorOptions = {
        caller: PERSON,
        as: named.as,
        signal,
        // UI-7: the call plans again, and what it reads may have changed meanwhile.
        checkPlan: (plan) => {
          isShown = digestOf(parts, plan) === body.digest;
          if (!isShown) throw changedPlan(body.tool);
        },
        approve: approveShown(body.digest),
        elicit: questions.ask(send, signal),
        onProgress: (progress) => send({ type: 'progress', progress }),
      };
      const result = await toolbox.call(named.ref, body.input, options);
      if (!isShown) throw changedPlan(body.tool);
      send({ type: 'result', result });
      return undefined;
    },
    'POST /api/answers': async ({ body }) => {
      await questions.answer(body);
      return { answered: body.question };
    },
    'GET /api/results/:handle/:page': async ({ params, signal }) => {
      const input = { id: params.handle, page: Number(params.page) };
      return { result: await toolbox.call('read_result', input, { caller: PERSON, signal, full: true }) };
    },
    'POST /api/explain': async ({ body }) => {
      const { ref, as } = await findNamed(toolbox, body.tool);
      const { verdict, unmatched, sandbox } = await toolbox.explain(ref, body.input, {
        caller: body.caller,
        as,
      } as DoorOptions);
      return { verdict, unmatched, sandbox: sandbox && describeSandbox(sandbox) };
    },
  } satisfies Partial<Handlers>;
}

// UI-7: consent to exactly the plan that was shown; a nested call waits in the inbox.
function approveShown(digest: string): Approve {
  return approveBy('page', async (request) =>
    request.depth === 0 && request.planDigest === digest ? 'once' : 'unable',
  );
}

async function planCall(parts: PageParts, { ref, as }: Named, input: Json): Promise<PlannedCall> {
  const { toolbox } = parts;
  const { plan, verdict } = await toolbox.plan(ref, input, { caller: PERSON, as } as DoorOptions);
  const { secrets } = toolbox.state.snapshot();
  const digest = digestOf(parts, plan);
  // The form shows the input.
  const rows = planRows(plan).filter(([label]) => label !== 'input');
  return { rows: redactValue(rows, secrets), verdict, digest };
}

// The digest that approvals of the plan have.
function digestOf({ toolbox }: PageParts, plan: Plan): string {
  return digestPlan(plan, toolbox.state.sharedApprovals.key());
}

async function describeTool(parts: PageParts, name: string): Promise<ToolDetails> {
  const { tool, as, survey } = await findNamed(parts.toolbox, name);
  const item = toToolItems(parts, survey, PERSON).find(({ id }) => id === `tool:${name}`);
  const digest = as === undefined ? (await parts.toolbox.find(name)).origin.digest : null;
  return {
    item: item ?? toItem(tool, { state: 'listed' }),
    description: tool.description,
    input: tool.input.json,
    output: tool.output?.json,
    examples: tool.traits.examples,
    origin: tool.origin.uri,
    digest,
    action: tool.action.kind,
  };
}

function changedPlan(name: string): ToolError {
  return new ToolError('conflict', `${name} was not run: it would now run something else than shown`, {
    hint: 'look at the plan again, then run it',
  });
}

interface OpenQuestion {
  readonly check: Question['check'];
  readonly end: (answer: ElicitAnswer) => void;
}

function createQuestions() {
  const open = new Map<string, OpenQuestion>();
  return {
    /** Returns how the tools of a run ask; its questions end when its stream does. */
    ask:
      (send: (event: RunEvent) => void, streamEnd: AbortSignal): Elicit<Question> =>
      async ({ tool, message, schema, url, check }, callEnd) => {
        const signal = AbortSignal.any([callEnd, streamEnd]);
        const id = randomUUID();
        const { promise, resolve } = deferred<ElicitAnswer>();
        const unlisten = onAbort(signal, () => resolve({ action: 'cancel' }));
        open.set(id, { check, end: resolve });
        if (!signal.aborted) send({ type: 'question', question: { id, tool, message, schema, url } });
        return promise.finally(() => {
          open.delete(id);
          unlisten();
        });
      },
    /** Answers a question. Throws `not_found`, or `invalid_input` with the faults of the form. */
    async answer({ question, action, content = {} }: RequestOf<'POST /api/answers'>): Promise<void> {
      const found = open.get(question);
      if (found === undefined)
        throw new ToolError('not_found', 'no tool waits for this answer', { hint: 'run the tool again' });
      if (action === 'decline' || action === 'cancel') return found.end({ action });
      const faults = await found.check(content);
      if (faults.length > 0)
        throw new ToolError('invalid_input', 'the answer is not valid', {
          hint: 'correct the marked fields',
          data: { faults },
        });
      if (action === 'accept') found.end({ action, content });
    },
  };
}
