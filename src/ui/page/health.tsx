// Health: what `wield doctor` knows, and settings with file and line.

import type { HealthCheck } from '../api.js';
import { request } from './client.js';
import { Chip, Fetched, PositionText, type Tone } from './parts.js';
import { catalog } from './store.js';
import { useFetch } from './use-request.js';

const TONES: Readonly<Record<HealthCheck['level'], Tone>> = {
  ok: 'good',
  absent: 'plain',
  warning: 'warn',
  problem: 'bad',
};

export function HealthPanel() {
  const health = useFetch(
    async () => ({ ...(await request('GET /api/health')), ...(await request('GET /api/settings')) }),
    [catalog.value],
  );
  return (
    <section aria-label="Health">
      <h1>Health</h1>
      <Fetched task={health}>
        {({ fault, checks, settings }) => (
          <>
            {fault !== null && <p class="box bad">{fault}</p>}
            <ul class="plain checks">
              {checks.map(({ level, about, message, hint }) => (
                <li key={`${about} ${message}`}>
                  <Chip tone={TONES[level]}>{level}</Chip>
                  <div>
                    <strong>{about}</strong> <span class="prose">{message}</span>
                    {hint !== undefined && <p class="note">{hint}</p>}
                  </div>
                </li>
              ))}
            </ul>
            <h2>Settings</h2>
            <table class="settings">
              <thead>
                <tr>
                  <th>key</th>
                  <th>value</th>
                  <th>file</th>
                </tr>
              </thead>
              <tbody>
                {settings.map(({ key, value, position }) => (
                  <tr key={key}>
                    <th scope="row">{key}</th>
                    <td>{value}</td>
                    <td>
                      {position === null ? <span class="note">default</span> : <PositionText position={position} />}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </>
        )}
      </Fetched>
    </section>
  );
}
