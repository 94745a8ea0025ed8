// Names a browser so that its user recognises it, for example `Firefox on Windows`.
// Anybody can send any User-Agent, so the name must not be used for a decision.
import Bowser from 'bowser';

export function describeBrowser(userAgent: string | null): string {
  if (!userAgent) return 'Unknown browser';
  const parser = Bowser.getParser(userAgent);
  const browser = parser.getBrowserName();
  const device = parser.getPlatform().model ?? parser.getOSName();
  if (browser && device) return `${browser} on ${device}`;
  return browser || device || 'Unknown browser';
}
