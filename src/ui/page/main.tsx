// Entry of the page.

import { render } from 'preact';
import { startClock } from './clock.js';
import { startKeys } from './keys.js';
import { Page } from './page.js';
import { revealAllText } from './reveal.js';
import { startRouting } from './route.js';
import { start } from './store.js';

revealAllText();
startRouting();
startKeys();
startClock();
// The server answers while the page is rendered for the first time.
start();
render(<Page />, document.getElementById('page')!);
