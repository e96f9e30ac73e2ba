// Preloaded into a process: measures the longest turn of its event loop, with the same work as a unit on every machine.

import { writeFileSync } from 'node:fs';

const rows = Array.from({ length: 4000 }, (_, id) => ({ id, name: `row ${id}`, list: [id, String(id)] }));
let resets = 0;
let longest = 0;
let unit = Number.POSITIVE_INFINITY;
let at = 0;
let used = process.cpuUsage();

const restart = () => {
  at = performance.now();
  used = process.cpuUsage();
};
// On a busy machine a turn takes long although it does little, so the smaller of wall and CPU time counts.
const elapsed = () => {
  const { user, system } = process.cpuUsage(used);
  return Math.min(performance.now() - at, (user + system) / 1000);
};
const write = () => writeFileSync(process.env.LOOP_DELAY_FILE, `${resets} ${longest}\n`);

const timer = setInterval(() => {
  const busy = elapsed() / unit;
  if (busy > longest) {
    longest = busy;
    write();
  }
  restart();
}, 2);
timer.unref();

process.on('SIGUSR2', () => {
  unit = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    restart();
    JSON.parse(JSON.stringify(rows));
    unit = Math.min(unit, elapsed());
  }
  resets++;
  longest = 0;
  write();
  restart();
});
