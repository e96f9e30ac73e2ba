// A selector term that depends on the clock, added from outside the tree: a listing, a call and an explanation agree.

import { expect, onTestFinished } from 'vitest';
import { SELECTOR_TERMS, type SelectorTerm } from '../../../src/core/selector-terms.js';
import type { NodeToolbox } from '../../../src/node.js';
import { list, MODEL, outcome, tool, trust, write } from '../../support/ruled.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const MINUTES = 60_000;

/** `$at=09:00-17:00`, in UTC. */
const AT: SelectorTerm = {
  name: '$at',
  parse(value) {
    const [, ...parts] = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(value) ?? [];
    if (parts.length === 0) throw new Error('write a time of day, as in $at=09:00-17:00');
    const [hours, minutes, endHours, endMinutes] = parts.map(Number) as [number, number, number, number];
    return ({ now }) => {
      const minute = Math.floor(now / MINUTES) % (24 * 60);
      return minute >= hours * 60 + minutes && minute < endHours * 60 + endMinutes;
    };
  },
};

const clock = { now: 0 };

function toolboxOf(config: string): NodeToolbox {
  const terms = SELECTOR_TERMS as SelectorTerm[];
  terms.push(AT);
  onTestFinished(() => void terms.splice(terms.indexOf(AT), 1));
  return write(createWorkspace(), { user: config }).toolbox({
    tools: [tool('deploy'), tool('look')],
    trust: true,
    now: () => clock.now,
  });
}

async function answers(toolbox: NodeToolbox, time: string) {
  clock.now = Date.parse(`2026-11-17T${time}:00Z`);
  const names = async (options: object) => (await toolbox.list(options)).map(({ name }) => name);
  return {
    listed: (await names({})).includes('deploy'),
    shown: (await names({ caller: MODEL })).includes('deploy'),
    found: (await toolbox.search('deploy', 10)).some(({ name }) => name === 'deploy'),
    explained: (await toolbox.explain('deploy', {})).verdict.verdict,
    called: await outcome(toolbox, 'deploy'),
  };
}

const YES = { listed: true, shown: true, found: true, explained: 'allow', called: 'allow' };
const NO = { listed: false, shown: false, found: false, explained: 'deny', called: 'deny' };

spec('POL-8', 'a rule that depends on the clock lists, shows, finds, explains and allows the same', async () => {
  const allowed = toolboxOf(list('look', 'deploy($at=09:00-17:00)'));
  expect(await answers(allowed, '08:59')).toEqual(NO);
  expect(await answers(allowed, '09:00')).toEqual(YES);
  expect(await answers(allowed, '17:00')).toEqual(NO);
  const denied = toolboxOf(trust('deploy($at=09:00-17:00,$deny)'));
  expect(await answers(denied, '08:59')).toEqual(YES);
  expect(await answers(denied, '16:59')).toEqual(NO);
  expect(await answers(denied, '17:00')).toEqual(YES);
});

spec('SEL-3', 'an invalid value of a term is an error with its column', async () => {
  const toolbox = toolboxOf(list('deploy($at=noon)'));
  const { verdict } = await toolbox.explain('deploy', {});
  expect(verdict).toMatchObject({ verdict: 'deny', reason: expect.stringContaining('an invalid $at') });
});
