// Preloaded into the server of a soak: on SIGUSR2 it collects garbage and writes the used memory to $SOAK_MEMORY.

const { renameSync, writeFileSync } = require('node:fs');

const file = process.env.SOAK_MEMORY;
process.on('SIGUSR2', () => {
  for (let at = 0; at < 3; at++) global.gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  writeFileSync(`${file}.part`, JSON.stringify({ used: heapUsed + external, rss }));
  renameSync(`${file}.part`, file);
});
