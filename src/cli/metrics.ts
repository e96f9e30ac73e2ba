// The metrics of a front of a fleet.

import type { FrontLoad } from '../fleet/front.js';
import { type MetricFamily, toGauge } from '../telemetry/metric.js';

export function describeFront({ workers, lost }: FrontLoad): readonly MetricFamily[] {
  const lostHelp = 'Calls of this front whose worker was lost.';
  return [
    toGauge('wield.fleet.workers', 'Connected workers; the same at every front.', workers),
    { name: 'wield.fleet.lost', help: lostHelp, type: 'counter', points: [{ value: lost }] },
  ];
}
