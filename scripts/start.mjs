// `npm start`: serves the tools of the first example over HTTP and prints what to try next.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const BINARY = 'dist/cli/wield.cjs';
const EXAMPLE = 'examples/01-script';
const PORT = process.env.PORT ?? '7070';
const PORT_IN_USE = 8;
const INTERRUPTED = 130;

function serve(port) {
  // Trusted for this run only: the tools belong to this project.
  const args = [BINARY, '--cwd', EXAMPLE, 'serve', '--http', port, '--trust'];
  const server = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  server.stdout.once('data', (line) => printIntroduction(String(line).trim()));
  server.stderr.on('data', (text) => {
    errors += text;
  });
  server.once('exit', (status) => {
    if (status === PORT_IN_USE && port !== '0') return serve('0');
    if (status !== 0 && status !== INTERRUPTED) process.stderr.write(errors);
    process.exit(status ?? 1);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => server.kill('SIGTERM'));
}

function printIntroduction(url) {
  console.log(`Serving the tools of ${EXAMPLE} (greet, sum) over MCP
${url}

Try next, in another terminal
  node ${BINARY} --cwd ${EXAMPLE} call greet --name Ada      call a tool from a shell
  npx mcp-inspector --cli ${url} --transport http --method tools/list      list the tools as a client
  mkdir /tmp/mine && cd /tmp/mine && node ${root}${BINARY} init      create your own tool

Press Ctrl-C to stop.`);
}

serve(PORT);
