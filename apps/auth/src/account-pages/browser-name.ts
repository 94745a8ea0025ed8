// Derives the name of a browser from its User-Agent, for example `Firefox on Windows`, so that users recognise their
// browsers. Anybody can send any User-Agent, so no decision may depend on the name.
import Bowser from 'bowser';

export function describeBrowser(userAgent: string | null): string {
  if (!userAgent) return 'Unknown browser';
  const parser = Bowser.getParser(userAgent);
  const browser = parser.getBrowserName();
  const device = parser.getPlatform().model ?? parser.getOSName();
  if (browser && device) return `${browser} on ${device}`;
  return browser || device || 'Unknown browser';
}
