// Row 12: how long after a file is saved a listener is notified and the tool is listed.

import { watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createNodeToolbox } from '../../dist/node.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createDirectory, createWorkspace, settle } from '../support/workspace.mjs';

const TARGET = { of: 'value', atMost: 20, unit: 'ms' };
const COUNTS = sized([20, 1000], [20]);
const ROUNDS = 50;

export const row = {
  id: '12',
  title: 'from a saved file to a tool that is listed',
  async run() {
    const watched = createDirectory();
    const opened = COUNTS.map((count) => ({ count, ...createWorkspace(count) }));
    await settle();
    const cases = { 'fs.watch (floor)': (round) => untilEvent(watched, round) };
    const toolboxes = [];
    for (const { count, dir, tools, env } of opened) {
      const toolbox = createNodeToolbox({ workdir: dir, env });
      toolboxes.push(toolbox);
      await toolbox.list();
      const name = `notified and listed, ${count.toLocaleString('en')} tools`;
      cases[name] = (round) => untilListed(toolbox, join(tools, `saved-${round + 1}`));
    }
    const samples = await measureRounds(cases, ROUNDS);
    for (const toolbox of toolboxes) await toolbox.close();
    const [floor] = Object.values(samples);
    return Object.entries(samples).map(([name, values]) => ({
      case: name,
      value: spread(values),
      unit: 'ms',
      ratio: values === floor ? undefined : ratios(values, floor),
      target: values === floor ? undefined : TARGET,
    }));
  },
};

function untilEvent(directory, round) {
  return new Promise((resolve) => {
    let began;
    const watcher = watch(directory, () => {
      watcher.close();
      resolve(performance.now() - began);
    });
    began = performance.now();
    writeFileSync(join(directory, `saved-${round + 1}`), 'text');
  });
}

function untilListed(toolbox, path) {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return new Promise((resolve, reject) => {
    let began;
    const stop = toolbox.catalog.watch(async () => {
      const tools = await toolbox.list().catch(reject);
      if (tools?.some((tool) => tool.name === name)) {
        stop();
        resolve(performance.now() - began);
      }
    });
    began = performance.now();
    writeFileSync(path, '#!/bin/sh\n# @description A tool that was just saved.\necho saved\n', { mode: 0o755 });
  });
}
