// Minimal stdio client: writes lines and counts the lines of the response.

import { spawn } from 'node:child_process';
import { askCpu, ENVIRONMENT } from './measure.mjs';

export const PROTOCOL = '2025-06-18';
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a server. `ask` sends a request and returns the line of its response; `askMany` keeps several in flight. */
export function startServer(argv, { cwd, env = ENVIRONMENT, probed = false } = {}) {
  // An IPC channel slows the start by milliseconds, so only probed servers have one.
  const stdio = ['pipe', 'pipe', 'ignore', ...(probed ? ['ipc'] : [])];
  const child = spawn(argv[0], argv.slice(1), { cwd, env, stdio });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let id = 0;
  let pieces = [];
  let onLine = () => {};
  child.stdout.on('data', (chunk) => {
    let at = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, at)) {
      pieces.push(chunk.subarray(at, end));
      at = end + 1;
      const line = pieces;
      pieces = [];
      if (!isNotification(line)) onLine(line);
    }
    if (at < chunk.length) pieces.push(chunk.subarray(at));
  });
  const send = (method, params) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`);
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      const gone = () => reject(new Error(`${argv.join(' ')} ended before it answered ${method}`));
      child.once('exit', gone);
      onLine = (line) => {
        child.off('exit', gone);
        resolve(line);
      };
      send(method, params);
    });
  return {
    pid: child.pid,
    ask,
    /** Initializes the connection. */
    async open() {
      await ask('initialize', {
        protocolVersion: PROTOCOL,
        capabilities: {},
        clientInfo: { name: 'bench', version: '0' },
      });
      child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    },
    askMany: (method, params, total, atOnce) =>
      new Promise((resolve) => {
        let sent = 0;
        let answered = 0;
        onLine = () => {
          if (++answered === total) resolve();
          else if (sent < total) {
            sent++;
            send(method, params);
          }
        };
        for (; sent < atOnce; sent++) send(method, params);
      }),
    cpu: () => askCpu(child),
    /** Ends the input and waits for the end of the server. */
    end: () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.stdin.end();
      }),
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.kill('SIGKILL');
      }),
  };
}

// A notification begins with its method and has no id; only the head is checked, because responses may be long.
function isNotification([head]) {
  return head.subarray(0, 40).includes('"method"');
}

export function parseAnswer(line) {
  return JSON.parse(Buffer.concat(line).toString('utf8'));
}
