// Faults of streams: floods, unread and closed stdin, invalid UTF-8, and the output cap.

import { expect } from 'vitest';
import { textOf } from '../../src/core/result.js';
import { patience } from '../support/patience.js';
import { openDescriptors } from '../support/processes.js';
import { nodeScript, READ_STDIN, shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const MIB = 1024 * 1024;
const LARGE = 'x'.repeat(5 * MIB);

spec.thorough('EXE-3', 'does not deadlock with a child that writes before it reads', async () => {
  const workspace = createWorkspace();
  workspace.script(
    'flood-first',
    nodeScript(
      `require('node:fs').writeSync(1, 'y'.repeat(4 * ${MIB}));
      ${READ_STDIN}
      require('node:fs').writeSync(1, String(input.length));`,
      '@param text string',
    ),
  );
  const result = await workspace.toolbox().call('flood-first', { text: LARGE }, { full: true });
  expect(result.ok).toBe(true);
  expect(textOf(result).slice(4 * MIB)).toBe(String(JSON.stringify({ text: LARGE }).length));
});

spec('EXE-3 SCR-10', 'F25 runs a tool that never reads 5 MB of stdin', async () => {
  const workspace = createWorkspace();
  workspace.script('deaf', shellScript('sleep 0.2; echo done', '@param text string'));
  const toolbox = workspace.toolbox();
  // The first call opens what is kept, such as the audit log.
  await toolbox.call('deaf', { text: '' });
  const before = openDescriptors();
  const result = await toolbox.call('deaf', { text: LARGE });
  expect(result).toMatchObject({ ok: true, content: [{ type: 'text', text: 'done\n' }] });
  // Those of the pipes are closed a moment after the answer.
  await expect.poll(openDescriptors).toBeLessThanOrEqual(before);
});

spec('EXE-3 SCR-10', 'runs a tool that closes stdin early', async () => {
  const workspace = createWorkspace();
  workspace.script('closes', shellScript('exec <&-; sleep 0.2; echo done', '@param text string'));
  workspace.script('takes-a-byte', shellScript('head -c 1; exec <&-; sleep 0.2', '@param text string'));
  const toolbox = workspace.toolbox();
  expect(textOf(await toolbox.call('closes', { text: LARGE }))).toBe('done\n');
  expect(textOf(await toolbox.call('takes-a-byte', { text: LARGE }))).toBe('{');
});

spec('SCR-14', 'applies the time limit to the write to stdin', async () => {
  const workspace = createWorkspace();
  workspace.script('deaf', shellScript('sleep 600', '@param text string', '@timeout 500ms'));
  const result = await workspace.toolbox().call('deaf', { text: LARGE });
  expect(result.error?.code).toBe('timeout');
  expect(result.meta.durationMs).toBeLessThan(patience(50_000));
});

spec('EXE-4', 'A58 stops a gigabyte of output at the cap with a notice', async () => {
  const workspace = createWorkspace();
  workspace.script('flood', shellScript('head -c 1073741824 /dev/zero; touch ended'));
  const result = await workspace.toolbox().call('flood', {}, { full: true });
  expect(result.ok).toBe(true);
  expect(result.meta.truncated).toBe(true);
  expect(result.meta.truncation).toEqual({ keptBytes: 16 * MIB, limitBytes: 16 * MIB });
  expect(result.content[0]).toMatchObject({ type: 'text', text: '\0'.repeat(16 * MIB) });
  expect(result.content[1]).toMatchObject({ text: expect.stringContaining('truncated') });
  expect(result.content[1]).toMatchObject({ text: expect.stringContaining('16 MiB') });
});

spec('EXE-4', 'counts both streams for the configured cap', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\noutput = "64K"\n');
  workspace.script('both', shellScript('head -c 40000 /dev/zero; head -c 1000000 /dev/zero >&2; sleep 600'));
  const result = await workspace.toolbox().call('both', {});
  expect(result.meta.truncation).toEqual({ keptBytes: 65_536, limitBytes: 65_536 });
});

spec('EXE-4', 'does not truncate output of exactly the cap', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\noutput = "64K"\n');
  workspace.script('exact', shellScript('head -c 65536 /dev/zero'));
  const result = await workspace.toolbox().call('exact', {}, { full: true });
  expect(result.meta.truncated).toBeUndefined();
  expect(textOf(result)).toHaveLength(65_536);
});

spec.thorough('EXE-4', 'truncates a tool that ends right after the cap, and uses its status', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\noutput = "1K"\n');
  workspace.script('quick', shellScript('head -c 3000 /dev/zero'));
  workspace.script('fails', shellScript('head -c 3000 /dev/zero; exit 3'));
  const toolbox = workspace.toolbox();
  for (let round = 0; round < 10; round++) {
    const quick = await toolbox.call('quick', {});
    expect(quick).toMatchObject({ ok: true, meta: { truncated: true } });
    const fails = await toolbox.call('fails', {});
    expect(fails.meta.truncated).toBe(true);
    if (fails.meta.exitCode !== undefined) expect(fails.error?.code).toBe('tool_failed');
  }
});

spec('EXE-4', 'passes everything to a listener, and reports the truncated result', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\noutput = "64K"\n');
  workspace.script('json', nodeScript(`console.log(JSON.stringify({ x: 'y'.repeat(200000) }))`, '@returns object'));
  let heard = 0;
  const result = await workspace.toolbox().call(
    'json',
    {},
    {
      onOutput: (chunk) => {
        heard += chunk.length;
      },
    },
  );
  expect(heard).toBe(200_009);
  expect(result).toMatchObject({ ok: true, meta: { truncated: true, exitCode: 0 } });
  expect(result.content[1]).toMatchObject({ text: expect.stringContaining('truncated') });
});

spec('EXE-3', 'F24 passes chunks in sequence to a slow listener, also after the exit', async () => {
  const workspace = createWorkspace();
  workspace.script('numbers', shellScript('seq 1 60000'));
  const heard: Buffer[] = [];
  let inside = 0;
  const result = await workspace.toolbox().call(
    'numbers',
    {},
    {
      onOutput: async (chunk) => {
        inside++;
        expect(inside).toBe(1);
        await new Promise((resolve) => setTimeout(resolve, 40));
        heard.push(Buffer.from(chunk));
        inside--;
      },
    },
  );
  const expected = Array.from({ length: 60_000 }, (_, index) => `${index + 1}\n`).join('');
  expect(Buffer.concat(heard).toString()).toBe(expected);
  expect(textOf(result)).toBe(expected);
});

spec('RUN-1', 'ignores errors of a listener', async () => {
  const workspace = createWorkspace();
  workspace.script('talks', shellScript('echo one; echo "::progress 1/2 half" >&2; sleep 0.1; echo two'));
  const fail = (): never => {
    throw new Error('a fault of the listener');
  };
  const result = await workspace.toolbox().call('talks', {}, { onOutput: fail, onProgress: fail });
  expect(result).toMatchObject({ ok: true, content: [{ text: 'one\ntwo\n' }] });
});

spec('EXE-7', 'replaces invalid UTF-8', async () => {
  const workspace = createWorkspace();
  workspace.script('bytes', shellScript(String.raw`printf 'a\377\376b\303'; printf '\300x' >&2`));
  const result = await workspace.toolbox().call('bytes', {});
  expect(textOf(result)).toBe('a\ufffd\ufffdb\ufffd\n[stderr]\n\ufffdx');
});

spec('EXE-7 EXE-4', 'does not cut within a character at the cap', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\noutput = "1K"\n');
  workspace.script('snow', shellScript(`i=0; while [ $i -lt 1000 ]; do printf '\u2603'; i=$((i+1)); done`));
  const result = await workspace.toolbox().call('snow', {});
  expect(result.content[0]).toEqual({ type: 'text', text: '\u2603'.repeat(341) });
});

spec('SCR-12 SCR-13', 'has both streams in the content of a success and of a failure', async () => {
  const workspace = createWorkspace();
  workspace.script('warns', shellScript('printf out; printf "oh\\n" >&2'));
  workspace.script('quiet', shellScript('echo out; echo "  " >&2'));
  workspace.script('json', shellScript(`echo '{"a":[1,null]}'; echo note >&2`));
  workspace.script('fails', shellScript('printf out; printf "oh" >&2; exit 7'));
  const toolbox = workspace.toolbox();
  expect(textOf(await toolbox.call('warns', {}))).toBe('out\n[stderr]\noh\n');
  expect(textOf(await toolbox.call('quiet', {}))).toBe('out\n');
  expect((await toolbox.call('json', {})).structured).toEqual({ a: [1, null] });
  const failed = await toolbox.call('fails', {});
  expect(failed.error).toMatchObject({ code: 'tool_failed', message: 'fails exited with status 7' });
  expect(failed.meta.exitCode).toBe(7);
  expect(textOf(failed)).toBe('[stderr]\noh\n[stdout]\nout');
});

spec('SCR-23', 'reports progress lines, removes them from output, and sends heartbeats', async () => {
  const workspace = createWorkspace();
  workspace.script('slow', shellScript('sleep 0.7; echo "::progress 1/2 half way" >&2; sleep 6.5; echo "done" >&2'));
  const heard: (string | undefined)[] = [];
  const result = await workspace.toolbox().call(
    'slow',
    {},
    {
      onProgress: ({ message }) => heard.push(message),
    },
  );
  // One every five seconds without progress.
  expect(heard.slice(0, 2)).toEqual(['half way', 'slow is still running']);
  expect(new Set(heard)).toEqual(new Set(['half way', 'slow is still running']));
  expect(textOf(result)).toBe('[stderr]\ndone\n');
});
