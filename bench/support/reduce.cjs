// The floor of row 15: a script that parses a document and reduces it in a loop.

const { readFileSync } = require('node:fs');

const [, , file, what] = process.argv;
const records = JSON.parse(readFileSync(file, 'utf8'));

const REDUCTIONS = {
  sum: () => {
    let sum = 0;
    for (const { amount } of records) sum += amount;
    return sum;
  },
  filter: () => records.filter(({ amount }) => amount > 900).length,
  group: () => {
    const days = {};
    for (const { ts } of records) {
      const day = ts.slice(0, 10);
      days[day] = (days[day] ?? 0) + 1;
    }
    return days;
  },
  sort: () =>
    [...records]
      .sort((a, b) => (a.ts < b.ts ? 1 : a.ts > b.ts ? -1 : 0))
      .slice(0, 10)
      .map(({ id }) => id),
};

process.stdout.write(JSON.stringify(REDUCTIONS[what]()));
