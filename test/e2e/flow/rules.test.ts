// Rules over what a session has read: the preset, `$after`, labels in selectors, and what they never do.

import { describe, expect } from 'vitest';
import { runCode } from '../../../src/code.js';
import { json, wield } from '../../support/cli.js';
import { createLabelled, inSession, LABELLED_TOOLS, outcome, TRIFECTA } from '../../support/labelled.js';
import { spec } from '../../support/spec.js';

describe.concurrent('rules over what a session has read', () => {
  spec('FLW-3 FLW-6', 'the preset asks for an egress tool once private and untrusted content was read', async () => {
    const toolbox = createLabelled().open();
    const [one, other] = [inSession('one'), inSession('other')];
    expect(await outcome(toolbox, 'read_mail', one)).toBe('ran');
    expect(await outcome(toolbox, 'send_mail', one)).toBe('ran');
    expect(await outcome(toolbox, 'fetch_page', one)).toBe('ran');
    expect(await outcome(toolbox, 'send_mail', one)).toBe('needs_approval');
    expect(await outcome(toolbox, 'note', one)).toBe('ran');
    expect(await outcome(toolbox, 'send_mail', other)).toBe('ran');
  });

  spec(
    'FLW-4 FLW-6',
    'says what the session read, from which tool and when, in the error and in the approval',
    async () => {
      const workspace = createLabelled();
      const toolbox = workspace.open([], { now: () => Date.parse('2026-11-18T10:32:07Z') });
      const caller = inSession('one');
      await toolbox.call('read_mail', {}, { caller });
      await toolbox.call('fetch_page', {}, { caller });
      const { error } = await toolbox.call('send_mail', { to: 'mallory' }, { caller });
      const read =
        'this session read private content from read_mail at 10:32 UTC, and untrusted content from fetch_page at 10:32 UTC';
      expect(error?.message).toBe(
        `send_mail needs approval: it sends something out, and flow.trifecta asks first; ${read}`,
      );
      expect(toolbox.state.approvals.list()[0]!.record).toMatchObject({ after: ['private', 'untrusted'] });
      expect(toolbox.state.approvals.list()[0]!.record.reason).toContain(read);
    },
  );

  spec('FLW-4 COD-10', 'a suspended program says what was read, in the message and for each call', async () => {
    const toolbox = createLabelled().open([], { now: () => Date.parse('2026-11-18T10:32:07Z') });
    const caller = inSession('one');
    const code = `await tools.read_mail(); await tools.fetch_page();
      return Promise.all(['a', 'b'].map((to) => tools.send_mail({ to })));`;
    const { error } = await runCode(toolbox, code, { caller });
    const read = 'and untrusted content from fetch_page at 10:32 UTC';
    expect(error?.message).toMatch(
      /^the program is suspended as p_\S+ until you approve 2 calls of send_mail: it sends something out, /,
    );
    expect(error?.message.split(read)).toHaveLength(2);
    const reason = expect.stringContaining(read);
    expect(error?.data?.approvals).toMatchObject([
      { tool: 'send_mail', reason },
      { tool: 'send_mail', reason },
    ]);
  });

  spec(
    'FLW-6',
    'denies if a file says so, the strictest of all files counts, and a project cannot turn it off',
    async () => {
      const workspace = createLabelled();
      const toolbox = workspace.open();
      const caller = inSession('one');
      for (const ref of ['read_mail', 'fetch_page']) await toolbox.call(ref, {}, { caller });
      workspace.write('.agents/config.toml', '[flow]\ntrifecta = "off"\n');
      expect(await outcome(toolbox, 'send_mail', caller)).toBe('needs_approval');
      workspace.write('.agents/config.toml', '[flow]\ntrifecta = "deny"\n');
      expect(await outcome(toolbox, 'send_mail', caller)).toBe('denied');
      workspace.config('');
      workspace.write('.agents/config.toml', '');
      expect(await outcome(toolbox, 'send_mail', caller)).toBe('ran');
      workspace.config('[flow]\ntrifecta = "aks"\n');
      expect(await outcome(toolbox, 'note', caller)).toBe('denied');
    },
  );

  spec('FLW-6', 'a rule that allows by arguments exempts a call, and one without arguments does not', async () => {
    const rules = (text: string): string => `${TRIFECTA}[trust]\nrules = ["${text}"]\n`;
    const workspace = createLabelled(rules('send_mail(to={ada,team@corp.example},$policy=allow)'));
    const toolbox = workspace.open();
    const caller = inSession('one');
    for (const ref of ['read_mail', 'fetch_page']) await toolbox.call(ref, {}, { caller });
    const sends = (to: string): Promise<string> => outcome(toolbox, 'send_mail', caller, { to });
    expect(await sends('team@corp.example')).toBe('ran');
    expect(await sends('mallory')).toBe('needs_approval');
    workspace.config(rules('send_mail(to={team@corp.example},$policy=allow)'));
    expect([await sends('team@corp.example'), await sends('ada')]).toEqual(['ran', 'needs_approval']);
    workspace.config(rules('*($policy=allow)'));
    expect(await sends('team@corp.example')).toBe('needs_approval');
    // Nobody but the user exempts anything.
    workspace.config(TRIFECTA);
    workspace.write('.agents/config.toml', '[trust]\nrules = ["send_mail(to=*,$policy=allow)"]\n');
    expect(await sends('team@corp.example')).toBe('needs_approval');
  });

  spec('FLW-4', 'rules see one label, or all of several, and tools by their labels', async () => {
    const workspace = createLabelled(`[trust]\nrules = [
      "send_*($after=untrusted,$policy=ask)",
      "*($after=private+untrusted,#egress,$deny)",
      "#private($after=untrusted,$policy=deny)",
    ]\n`);
    const toolbox = workspace.open();
    const caller = inSession('one');
    const decisions = async (): Promise<string[]> =>
      Promise.all(['send_mail', 'note', 'read_mail'].map((ref) => outcome(toolbox, ref, caller)));
    expect(await outcome(toolbox, 'send_mail', caller)).toBe('ran');
    await toolbox.call('fetch_page', {}, { caller });
    expect(await decisions()).toEqual(['needs_approval', 'ran', 'denied']);
    const second = inSession('two');
    for (const ref of ['read_mail', 'fetch_page']) await toolbox.call(ref, {}, { caller: second });
    expect(await outcome(toolbox, 'send_mail', second)).toBe('denied');
    expect(await outcome(toolbox, 'note', second)).toBe('ran');
  });

  spec('FLW-4', 'what was read never allows more: an earlier $after does not shadow a rule that denies', async () => {
    const workspace =
      createLabelled(`allowed-tools = ["read_mail fetch_page send_mail", "note($after=untrusted,$policy=ask)"]
[trust]
rules = ["send_mail($after=untrusted,$policy=ask)", "send_mail(to=mallory,$policy=deny)", "#untrusted($policy=allow)"]\n`);
    const toolbox = workspace.open();
    const caller = inSession('one');
    for (const ref of ['fetch_page', 'read_mail']) expect(await outcome(toolbox, ref, caller)).toBe('ran');
    expect(await outcome(toolbox, 'send_mail', caller, { to: 'mallory' })).toBe('denied');
    expect(await outcome(toolbox, 'send_mail', caller, { to: 'ada' })).toBe('needs_approval');
    expect(await outcome(toolbox, 'note', caller)).toBe('denied');
  });

  spec('FLW-4', 'a label in a rule that allows selects nothing, and $after in one is invalid', async () => {
    const workspace = createLabelled('[trust]\nrules = ["#egress($policy=allow)", "*($policy=ask)"]\n');
    const toolbox = workspace.open();
    expect(await outcome(toolbox, 'send_mail', inSession('one'))).toBe('needs_approval');
    for (const rule of ['x($after=untrusted,$policy=allow)', 'x($after=)', 'x($after=A+)', 'x($afer=untrusted)']) {
      workspace.config(`[trust]\nrules = ["${rule}"]\n`);
      const { error } = await toolbox.call('note', {}, { caller: inSession('one') });
      expect([rule, error?.code]).toEqual([rule, 'denied']);
      expect(error?.message).toContain('config.toml:2');
    }
  });

  spec(
    'FLW-4',
    'an approval for another reason does not count, and a standing one only for the same labels',
    async () => {
      const workspace = createLabelled();
      const risky = { ...LABELLED_TOOLS[2]!, name: 'wipe', destructive: true };
      const toolbox = workspace.open([risky]);
      const caller = inSession('one');
      const approvals = toolbox.state.approvals;
      const approveAlways = async (): Promise<void> => {
        const pending = approvals.list().find(({ state }) => state === 'pending')!;
        await approvals.approve(pending.id, true);
      };
      expect(await outcome(toolbox, 'wipe', caller)).toBe('needs_approval');
      await approveAlways();
      expect(await outcome(toolbox, 'wipe', caller)).toBe('ran');
      for (const ref of ['read_mail', 'fetch_page']) await toolbox.call(ref, {}, { caller });
      expect(await outcome(toolbox, 'wipe', caller)).toBe('needs_approval');
      await approveAlways();
      expect(await outcome(toolbox, 'wipe', caller)).toBe('ran');
    },
  );

  spec('FLW-7', 'what was read changes no listing', async () => {
    const toolbox = createLabelled('[trust]\nrules = ["*($after=untrusted,$deny)"]\n').open();
    const caller = inSession('one');
    const names = async (): Promise<string[]> => (await toolbox.list({ caller })).map(({ name }) => name);
    const before = await names();
    await toolbox.call('fetch_page', {}, { caller });
    expect(await outcome(toolbox, 'note', caller)).toBe('denied');
    expect(await names()).toEqual(before);
  });

  spec('FLW-4 FLW-8', 'tests of rules and explain decide as in a session that has read something', async () => {
    const test = (lines: string): string => `[[trust.tests]]\n${lines}\n`;
    const workspace = createLabelled(
      `${TRIFECTA}[labels]\negress = ["send_*"]\n${test('call = "send_x"\nexpect = "allow"')}${test(
        'call = "send_x"\nafter = ["private", "untrusted"]\nexpect = "ask"',
      )}`,
    );
    workspace.script('send_x', '#!/bin/sh\n# @description Sends.\necho sent\n');
    const explain = async (...args: string[]) =>
      json(await wield(workspace, ['explain', 'send_x', '--as', 'mcp', '--json', ...args]));
    expect(await explain()).toMatchObject({ verdict: 'deny', labels: ['egress'] });
    await wield(workspace, ['trust', '--yes']);
    expect(await explain()).toMatchObject({ verdict: 'allow' });
    expect(await explain('--after', 'private+untrusted')).toMatchObject({
      verdict: 'ask',
      after: [{ label: 'private' }, { label: 'untrusted' }],
    });
    expect(await explain('--after', 'Private')).toMatchObject({ ok: false, error: { code: 'usage' } });
    const { stdout } = await wield(workspace, ['explain', 'send_x', '--as', 'mcp', '--after', 'private+untrusted']);
    expect(stdout).toContain('labels   egress');
    expect(stdout).toContain('after    private from another tool');
  });
});
