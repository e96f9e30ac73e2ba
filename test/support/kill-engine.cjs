// Preloaded by a process of wield: kills the engine of its program before the nth message in either direction.

const childProcess = require('node:child_process');
const { writeFileSync } = require('node:fs');

const { KILL_ENGINE_AT, KILL_ENGINE_COUNT } = process.env;
const { spawn } = childProcess;

childProcess.spawn = (command, args, options) => {
  const child = spawn(command, args, options);
  if (args.at(-2)?.endsWith('code/engine.cjs')) watch(child);
  return child;
};

function watch(child) {
  let messages = 0;
  const count = (added) => {
    for (let left = added; left > 0; left--) if (++messages === Number(KILL_ENGINE_AT)) child.kill('SIGKILL');
  };
  const channel = child.stdio[3];
  const { write, emit } = channel;
  channel.write = (...given) => {
    count(1);
    return write.apply(channel, given);
  };
  channel.emit = (event, ...given) => {
    if (event === 'data') count(given[0].filter((byte) => byte === 10).length);
    return emit.call(channel, event, ...given);
  };
  process.on('exit', () => writeFileSync(KILL_ENGINE_COUNT, String(messages)));
}
