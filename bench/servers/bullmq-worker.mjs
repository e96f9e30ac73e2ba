// A bare BullMQ worker that runs a script for each job: node bullmq-worker.mjs REDIS SCRIPT

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Worker } from 'bullmq';

const [, , url, script] = process.argv;
const run = promisify(execFile);
const worker = new Worker(
  'bare',
  async ({ data }) => (await run(script, [], { env: { ...process.env, WIELD_PARAM_NAME: data.name } })).stdout,
  { connection: { url }, concurrency: 16 },
);
await worker.waitUntilReady();
console.log('ready');
