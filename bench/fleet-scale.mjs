// Simulates a fleet from measured costs, up to 1,000 workers: node bench/fleet-scale.mjs [SECONDS_PER_CALL]
// Calls arrive at random at 70 % of what the workers can run. Redis is one core, fronts are as many as needed.

// Measured by `npm run bench -- fleet`; commands per second are what one core of Redis usually runs.
const FRONT_MS = 5;
const COMMANDS_PER_CALL = 80;
const COMMANDS_PER_SECOND = 100_000;
const LATENCY_MS = 6;
// Per second: a worker shows that it lives, waits for jobs and renews locks; a front reads the state of every worker.
const COMMANDS_PER_WORKER = 12;
const LOOKS_PER_FRONT = 4;
// Reading one of many keys at once is cheaper than a command.
const KEY_SHARE = 0.1;
const SLOTS = 16;
const LOAD = 0.7;
const FRONT_LOAD = 0.6;
const CALLS = 30_000;

const seconds = Number(process.argv[2] ?? 5);

/** Random numbers that are the same in every run. */
function createRandom(seed) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return (state + 0.5) / 4_294_967_296;
  };
}

/** A heap of times at which slots become free. */
class Times {
  #heap = [];

  get size() {
    return this.#heap.length;
  }

  push(value) {
    const heap = this.#heap;
    let at = heap.push(value) - 1;
    for (let up = (at - 1) >> 1; at > 0 && heap[up] > heap[at]; up = (at - 1) >> 1) {
      [heap[up], heap[at]] = [heap[at], heap[up]];
      at = up;
    }
  }

  pop() {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (heap.length === 0) return first;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < heap.length && heap[left] < heap[least]) least = left;
      if (right < heap.length && heap[right] < heap[least]) least = right;
      if (least === at) return first;
      [heap[least], heap[at]] = [heap[at], heap[least]];
      at = least;
    }
  }
}

export function simulate(workers, serviceSeconds) {
  const random = createRandom(workers);
  const slots = workers * SLOTS;
  const rate = (slots / serviceSeconds) * LOAD;
  const fronts = Math.max(1, Math.ceil((rate * FRONT_MS) / 1000 / FRONT_LOAD));
  const looking = fronts * LOOKS_PER_FRONT * (1 + workers * KEY_SHARE);
  const background = workers * COMMANDS_PER_WORKER + looking;
  const redis = (rate * COMMANDS_PER_CALL + background) / COMMANDS_PER_SECOND;
  const free = new Times();
  for (let at = 0; at < slots; at++) free.push(0);
  const waits = [];
  let now = 0;
  let redisFree = 0;
  // What Redis has left for calls.
  const perCall = COMMANDS_PER_CALL / Math.max(1, COMMANDS_PER_SECOND - background);
  for (let at = 0; at < CALLS; at++) {
    now += -Math.log(random()) / rate;
    redisFree = Math.max(now, redisFree) + perCall;
    const start = Math.max(redisFree, free.pop());
    free.push(start + serviceSeconds * (0.5 + random()));
    waits.push((start - now) * 1000 + LATENCY_MS);
  }
  waits.sort((a, b) => a - b);
  const part = (share) => waits[Math.floor(waits.length * share)];
  return { workers, rate, fronts, redis, p50: part(0.5), p99: part(0.99) };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  console.log('| workers | calls per second | fronts | Redis, of one core | added, p50 | added, p99 |');
  console.log('|---|---|---|---|---|---|');
  for (const workers of [1, 10, 100, 1000]) {
    const { rate, fronts, redis, p50, p99 } = simulate(workers, seconds);
    const cells = [workers, Math.round(rate), fronts, `${(redis * 100).toFixed(redis < 0.1 ? 1 : 0)} %`];
    console.log(
      `| ${[...cells, `${p50.toFixed(0)} ms`, `${p99.toFixed(0)} ms`].map((cell) => cell.toLocaleString('en')).join(' | ')} |`,
    );
  }
}
