// Preloaded into a process: writes the longest time that its event loop was busy to the file LOOP_DELAY_FILE.

import { writeFileSync } from 'node:fs';

const file = process.env.LOOP_DELAY_FILE;
let longest = 0;
let at = performance.now();
let used = process.cpuUsage();

// On a busy machine a turn takes long although it does little, so the smaller of wall and CPU time counts.
const timer = setInterval(() => {
  const { user, system } = process.cpuUsage(used);
  const busy = Math.min(performance.now() - at, (user + system) / 1000);
  if (busy > longest) {
    longest = busy;
    writeFileSync(file, String(longest));
  }
  at = performance.now();
  used = process.cpuUsage();
}, 2);
timer.unref();
// Not counted: the start of the process.
process.on('SIGUSR2', () => {
  longest = 0;
  writeFileSync(file, '0');
});
