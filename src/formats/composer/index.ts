// The composer.json format: scripts of Composer.

import type { Format } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import { createTaskFormat, type LeftOut, type Task, type Tasks } from '../shared/task-file.js';
import { ARGS, describeTask } from '../shared/task-input.js';
import { parseObject } from '../shared/task-text.js';

export function createComposerFormat(): Format {
  return createTaskFormat({
    name: 'composer',
    prefix: 'composer',
    files: ['composer.json'],
    parse: ({ text }) => parse(text),
  });
}

// Composer runs these itself.
const EVENT =
  /^(?:pre|post)-(?:install|update|status|archive|autoload|root-package-install|create-project|operations|package|dependencies|file|command|pool)\b/;

function parse(text: string): Tasks {
  const document = parseObject(text);
  const descriptions = isRecord(document['scripts-descriptions']) ? document['scripts-descriptions'] : {};
  const tasks: Task[] = [];
  const leftOut: LeftOut[] = [];
  for (const [name, value] of Object.entries(isRecord(document.scripts) ? document.scripts : {})) {
    if (EVENT.test(name) || name === 'command' || name === 'init') continue;
    const lines = Array.isArray(value) ? value : [value];
    if (!lines.every((line) => typeof line === 'string')) {
      leftOut.push({ name, why: 'not a string or a list of strings' });
      continue;
    }
    const about = descriptions[name];
    tasks.push({
      name,
      runs: lines.join('\n'),
      description: describeTask(typeof about === 'string' ? about : undefined, lines.join(' && ')),
      argv: ['composer', 'run-script', name, { param: 'args' }],
      input: ARGS,
      endOfOptions: true,
    });
  }
  return { tasks, leftOut };
}
