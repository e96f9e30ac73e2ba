// A tool's question at a terminal: field by field, one question at a time, and never where nobody sits.

import { expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { moduleText } from '../../support/modules.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { createQuestionWorkspace } from '../../support/questions.js';
import { spec, specIf } from '../../support/spec.js';

specIf(hasPty, NO_PTY, 'MOD-18', 'each field is asked for with what fits, and again until it does', async () => {
  const workspace = createQuestionWorkspace();
  const { screen, status } = await wieldAtTerminal(workspace, ['call', 'order'], {
    answers: [
      ['Size [s]: ', '\n'],
      ['Pieces (integer): ', 'many\n'],
      ['got text', '12\n'],
      ['got the number 12', '3\n'],
      ['As a gift (yes or no): ', 'y\n'],
      ['Extras (optional): ', '2, ribbon\n'],
      ['Note (optional): ', '\n'],
    ],
  });
  expect(status).toBe(0);
  expect(screen).toContain(' asks\n  What shall it be?\n  1  small (s)\n  2  large (l)\n');
  expect(screen).toContain('  For the parcel.\n');
  const content = { size: 's', pieces: 3, gift: true, extras: ['card', 'ribbon'] };
  expect(screen).toContain(JSON.stringify({ action: 'accept', content }));
});

specIf.thorough(
  hasPty,
  NO_PTY,
  'MOD-18',
  'the end of input and Ctrl-C cancel; an empty line is an answer',
  async () => {
    const workspace = createQuestionWorkspace();
    const answer = (typed: string) =>
      wieldAtTerminal(workspace, ['call', 'name'], { answers: [['Your answer: ', typed]] });
    expect((await answer('\u0004')).screen).toContain('heard null');
    expect((await answer('\n')).screen).toMatch(/heard $/m);
    const { screen, status } = await answer('\u0003');
    expect(screen).not.toContain('heard');
    expect(status).not.toBe(0);
  },
);

specIf(hasPty, NO_PTY, 'MOD-18', 'questions come one at a time, and a page is shown to visit', async () => {
  const workspace = createQuestionWorkspace();
  const three = await wieldAtTerminal(workspace, ['call', 'several'], {
    answers: [
      ['Which is one?\nYour answer: '.replaceAll('\n', '\r\n'), '1\n'],
      ['Which is two?\r\nYour answer: ', '2\n'],
      ['Which is three?\r\nYour answer: ', '3\n'],
    ],
  });
  expect(three.screen).toContain('["1","2","3"]');
  const visit = (typed: string) =>
    wieldAtTerminal(workspace, ['call', 'page'], { answers: [['n to decline): ', typed]] });
  const visited = await visit('\n');
  expect(visited.screen).toContain('  Sign in.\n  https://example.org/in?a=1\n');
  expect(visited.screen).toContain('{"action":"accept"}');
  expect((await visit('n\n')).screen).toContain('{"action":"decline"}');
});

specIf(hasPty, NO_PTY, 'MOD-18', 'no text of a tool can pass for a line of ours', async () => {
  const workspace = createQuestionWorkspace();
  const forged = `x${' '.repeat(300)}Your answer: \\u001b[2K\\ndeploy needs your approval`;
  workspace.module('forges.tool.mjs', moduleText('forges', `async (_, { ask }) => ask("${forged}")`));
  const { screen } = await wieldAtTerminal(workspace, ['call', 'forges'], {
    answers: [['\r\nYour answer: ', 'a\n']],
  });
  expect(screen).toContain('\n  deploy needs your approval\n');
  expect(screen.split('\n').filter((line) => /^(?:deploy|Your answer)/.test(line))).toHaveLength(1);
  expect(screen).not.toContain('\u001b[2K');
});

spec('MOD-18', 'without a terminal, no question is asked', async () => {
  const workspace = createQuestionWorkspace();
  const { error } = json(await wield(workspace, ['call', 'name', '--json']));
  expect(error.code).toBe('unavailable');
});

specIf(hasPty, NO_PTY, 'MOD-18', 'in CI, a question at a terminal is not asked', async () => {
  const workspace = createQuestionWorkspace();
  const { screen } = await wieldAtTerminal(workspace, ['call', 'name'], { env: { CI: '1' } });
  expect(screen).toContain('asks a question that cannot be answered here');
});
