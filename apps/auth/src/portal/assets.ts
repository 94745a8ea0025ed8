// The portal's own style sheet and script. The script copies and tells the viewer's time; every page works without it.
import { readFileSync } from 'node:fs';
import { asset } from '../html/asset.ts';

const readAsset = (name: string, type: string) =>
  asset(name, type, readFileSync(new URL(`./browser/${name}`, import.meta.url)));

export const portalAssets = {
  styles: readAsset('portal.css', 'text/css; charset=utf-8'),
  script: readAsset('portal.js', 'text/javascript; charset=utf-8'),
};
