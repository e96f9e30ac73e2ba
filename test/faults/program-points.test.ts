// Programs whose process is killed at each of its system calls: no call runs twice, and none is lost silently.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { json } from '../support/cli.js';
import { type CrashPlace, createCrashPlace } from '../support/crash-place.js';
import { ALL_TESTS, sample } from '../support/effort.js';
import { shellScript } from '../support/shell-script.js';
import { specIf } from '../support/spec.js';
import { hasStrace, injectAt, type Step, traceSteps } from '../support/strace.js';

const PROGRAM = `const tried = (call) => call.catch((error) => error.message);
const one = await tools.note({ text: 'one' });
const deployed = await Promise.all(['a', 'b'].map((branch) => tried(tools.deploy({ branch }))));
return [one, ...deployed, await tried(tools.note({ text: 'two' }))];`;
const NOTES = ['one', 'a', 'b', 'two'];
const RUN = ['run', 'p.ts', '--json'];

/** A place whose tools note that they ran; deploy needs approval. */
function createPlace(): CrashPlace {
  const place = createCrashPlace();
  const text = (name: string): string => `printf "%s" "$WIELD_PARAM_${name}"; echo "$WIELD_PARAM_${name}" >> notes`;
  place.write({
    'home/.wield/config.toml': 'trust.rules = ["deploy"]\n',
    'project/.agents/tools/note!': shellScript(text('TEXT'), '@param *text string Text'),
    'project/.agents/tools/deploy!': shellScript(text('BRANCH'), '@param *branch string Branch'),
    'project/p.ts': PROGRAM,
  });
  return place;
}

const notesOf = ({ dir }: CrashPlace): string[] =>
  existsSync(join(dir, 'notes')) ? readFileSync(join(dir, 'notes'), 'utf8').trim().split('\n') : [];
const isStored = ({ home }: CrashPlace): boolean => {
  const directory = join(home, '.wield/programs');
  return existsSync(directory) && readdirSync(directory).some((name) => /\.(json|answer)$/.test(name));
};

interface Result {
  readonly error?: { readonly code: string; readonly message: string; readonly data?: { readonly resume?: string } };
  readonly structured?: { readonly value?: readonly string[] };
}

async function approveAll(place: CrashPlace): Promise<void> {
  const { approvals } = json(await place.run('approvals', '--json'));
  for (const { id, state } of approvals) if (state === 'pending') await place.run('approvals', 'approve', id);
}

/** Runs a command, approves what it asks for, and resumes until the program has ended. */
async function finish(place: CrashPlace, args: readonly string[]): Promise<Result> {
  for (let next = args, turn = 0; ; turn++) {
    const result = json(await place.run(...next)) as Result;
    const { code, data } = result.error ?? {};
    if (code !== 'needs_approval' || turn === 4) return result;
    await approveAll(place);
    next = ['run', '--resume', data!.resume!, '--json'];
  }
}

/** Kills the command at a step, and returns what went wrong with the program afterwards; undefined if it was not reached. */
async function killAt(place: CrashPlace, args: readonly string[], step: Step, next: readonly string[]) {
  for (let at = step, attempt = 0; ; attempt++) {
    place.restore('start');
    if ((await injectAt(place, at, 'KILL', args)).hit) break;
    if (attempt === 5) return undefined;
    // The number of other calls differs between runs.
    place.restore('start');
    at = (await traceSteps(place, args)).steps.find(({ call, at: n }) => call === step.call && n === step.at) ?? step;
  }
  const wasStored = isStored(place);
  const { error, structured } = await finish(place, next);
  const notes = notesOf(place);
  const { value = [] } = structured ?? {};
  return NOTES.flatMap((name, at) => {
    const times = notes.filter((note) => note === name).length;
    // What ran before the program was stored is not known to the next process.
    if (times > (wasStored || name !== 'one' ? 1 : 2)) return [`${name} ran ${times} times`];
    const isTold = value[at] === name ? times > 0 : value[at]?.includes('may have run') === true;
    return isTold ? [] : [`${name} ran ${times} times, told ${value[at]}`];
  }).concat(error === undefined ? [] : [`${error.code}: ${error.message}`]);
}

async function killAtSteps(place: CrashPlace, args: readonly string[], ways: readonly (readonly string[])[]) {
  place.save('start');
  for (let run = 0; run < 2; run++) {
    await place.runProcess(...args);
    place.saveCache('start');
    place.restore('start');
  }
  const { steps } = await traceSteps(place, args);
  // Those of the cache and the audit log belong to every call.
  const own = steps.filter(({ what }) => /programs|approvals|clone/.test(what));
  expect(own.length).toBeGreaterThan(5);
  const points = own.flatMap((step) => ways.map((next) => ({ step, next })));
  const chosen = sample(points, 2);
  const failures: string[] = [];
  let reached = 0;
  for (const { step, next } of chosen) {
    const found = await killAt(place, args, step, next);
    if (found !== undefined) reached++;
    for (const text of found ?? [])
      failures.push(`${step.call}:${step.at} ${step.what}, then ${next.join(' ')}: ${text}`);
  }
  // Some are missed if the calls of a program end in another order.
  expect(reached).toBeGreaterThanOrEqual(Math.floor(chosen.length * 0.8));
  expect(failures).toEqual([]);
}

specIf(
  hasStrace && ALL_TESTS,
  'no strace, or npm run thorough',
  'COD-11 COD-14',
  'a program that is suspended continues, or starts over if it was not stored yet',
  async () => {
    const place = createPlace();
    try {
      await killAtSteps(place, RUN, [RUN]);
    } finally {
      place.remove();
    }
  },
  1_800_000,
);

specIf(
  hasStrace,
  'no strace',
  'COD-11 COD-14',
  'a program that is resumed continues, or gives its answer, by id and by the same code',
  async () => {
    const place = createPlace();
    try {
      const { error } = json(await place.run(...RUN)) as Result;
      await approveAll(place);
      const resume = ['run', '--resume', error!.data!.resume!, '--json'];
      await killAtSteps(place, resume, [resume, RUN]);
      place.restore('start');
      const first = await place.runProcess(...resume);
      expect(json(first)).toMatchObject({ ok: true });
      // It was delivered, so the same code is a new program; its id still gives the answer.
      expect(json(await place.run(...resume)).structured).toMatchObject({
        value: NOTES,
        program: { ended: expect.any(Number) },
      });
      expect(json(await place.run(...RUN)).error.data.resume).not.toBe(error!.data!.resume);
    } finally {
      place.remove();
    }
  },
  1_800_000,
);
