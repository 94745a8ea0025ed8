// Loads the style sheet that only the pages of the portal use.
import { readFileSync } from 'node:fs';
import { createAsset } from '../html/asset.ts';

export const portalAssets = {
  styles: createAsset('portal.css', 'text/css; charset=utf-8', readFileSync(new URL('./portal.css', import.meta.url))),
};
