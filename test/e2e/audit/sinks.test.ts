// Sinks of the audit log, added from outside the tree: every line arrives before the process ends.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import type { AuditSink, NodeToolbox } from '../../../src/node.js';
import { type LogRecord, logRecords } from '../../support/audit.js';
import { built } from '../../support/built.js';
import { listen, readBody } from '../../support/http.js';
import { sleep } from '../../support/processes.js';
import { tool } from '../../support/ruled.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

// What a program would write: sends each line to an endpoint.
const HTTP_SINK = `
  const sink = {
    name: 'the collector',
    async write(line) {
      const response = await fetch(process.env.COLLECTOR, { method: 'POST', body: line });
      if (!response.ok) throw new Error('status ' + response.status);
    },
  };`;

function toolboxWith(sink: AuditSink, warnings: string[] = []): NodeToolbox {
  const warn = (message: string): void => void warnings.push(message);
  return createWorkspace().toolbox({ tools: [tool('look')], auditSinks: [sink], warn });
}

describe.concurrent('a sink', () => {
  spec('OBS-9', 'gets every line before a program ends', async () => {
    const lines: LogRecord[] = [];
    const collector = await listen(async (request, response) => {
      const line = await readBody(request);
      await sleep(50);
      lines.push(JSON.parse(line));
      response.end();
    });
    const workspace = createWorkspace();
    workspace.script('greet', shellScript('echo hello'));
    const program = `${HTTP_SINK}
      const { createNodeToolbox } = await import(${JSON.stringify(built('node.js'))});
      const toolbox = createNodeToolbox({ workdir: process.cwd(), auditSinks: [sink] });
      await Promise.all([1, 2, 3].map(() => toolbox.call('greet', {})));
      await toolbox.close();
      process.exit();`;
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      cwd: workspace.dir,
      env: { ...workspace.env, COLLECTOR: collector.origin },
    });
    expect(lines.map(({ tool: name, code }) => [name, code])).toEqual(Array(3).fill(['greet', null]));
    expect(lines).toEqual(logRecords(workspace));
  });

  spec('OBS-9', 'delays no call, and gets lines in order', async () => {
    const lines: string[] = [];
    const toolbox = toolboxWith({
      name: 'slow',
      async write(line) {
        await sleep(100 - 20 * lines.length);
        lines.push(JSON.parse(line).call);
      },
    });
    for (let at = 0; at < 5; at++) await toolbox.call('look', {});
    expect(lines.length).toBeLessThan(5);
    await toolbox.close();
    expect(lines).toEqual([...lines].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))));
    expect(lines).toHaveLength(5);
  });

  spec(
    'OBS-9',
    'that fails or never answers costs no call and at most five seconds at the end, and is named once',
    async () => {
      for (const [write, said] of [
        [
          () => {
            throw new Error('no disk');
          },
          'no disk',
        ],
        [
          async () => {
            throw new Error('no network');
          },
          'no network',
        ],
        [() => new Promise<void>(() => {}), 'it did not end within 5 s'],
      ] as const) {
        const warnings: string[] = [];
        const toolbox = toolboxWith({ name: 'odd', write }, warnings);
        for (let at = 0; at < 3; at++) expect((await toolbox.call('look', {})).ok).toBe(true);
        await toolbox.close();
        expect(warnings).toEqual([expect.stringContaining(said)]);
        expect(warnings[0]).toContain('not sent to odd');
      }
    },
  );
});
