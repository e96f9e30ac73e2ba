// The theme of the documentation site: that of VitePress with the fonts of the system, and the colours of `wield ui`.

import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
