// Tries to use the broker of a directory, as process `pid`, or takes the place of its socket and records what it is sent.

import { appendFileSync, openSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { basename, join } from 'node:path';

// Also imported by a server, with arguments of its own.
const [, program = '', mode, directory, file] = process.argv;
const isMain = program.endsWith('broker-intruder.mjs');

/** Returns what the broker answered: `connected`, or why not. */
export function intrude(place, pid = process.pid) {
  return new Promise((resolve) => {
    let name;
    try {
      name = readdirSync(place).find((one) => one.endsWith('.sock'));
    } catch (error) {
      resolve(error.code);
      return;
    }
    if (name === undefined) return void resolve('no socket');
    const socket = connect(join(place, name));
    const send = (message) => socket.write(`${JSON.stringify(message)}\n`);
    // Without a proof, and with one.
    if (pid === 0) send({ id: 0, method: 'status', params: {} });
    else send({ id: 1, method: 'hello', params: { build: name.replace('.sock', ''), pid } });
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
      for (const line of text.split('\n').slice(0, -1)) {
        const { id, result, error } = JSON.parse(line);
        if (id === 1 && result) {
          openSync(result.value.challenge, 'r');
          send({ id: 2, method: 'prove', params: {} });
          send({ id: 3, method: 'status', params: {} });
        } else if (error === undefined) {
          resolve('connected');
          socket.destroy();
        }
      }
      text = text.slice(text.lastIndexOf('\n') + 1);
    });
    socket.on('error', (error) => resolve(error.code));
    socket.on('close', () => resolve('refused'));
  });
}

if (isMain && mode === 'try')
  process.stdout.write(`${await intrude(directory)} ${await intrude(directory, process.ppid)}\n`);
if (isMain && mode === 'listen') {
  const path = directory;
  const build = basename(path, '.sock');
  rmSync(path, { force: true });
  createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      appendFileSync(file, chunk);
      for (const line of String(chunk).split('\n').filter(Boolean)) {
        const { id } = JSON.parse(line);
        const greeting = {
          build,
          pid: Number(process.argv[5] ?? process.pid),
          challenge: file,
        };
        socket.write(`${JSON.stringify({ id, result: { value: greeting } })}\n`);
      }
    });
  }).listen(path, () => appendFileSync(file, 'ready\n'));
}
