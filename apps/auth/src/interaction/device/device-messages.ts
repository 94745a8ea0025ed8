// Defines the texts of the page that ends the sign-in for a device.
import type { ErrorMessage } from '../../html/error-page.ts';

export const deviceMessages = {
  denied: {
    title: 'The device is not connected',
    text: 'You did not allow the sign-in. You can close this page.',
  },
  expired: {
    title: 'The device is not connected',
    text:
      'The code has expired or was used already, or this page was open for too long. ' +
      'If your device still shows a code, enter this code again. Otherwise, get a new code on the device.',
  },
  failed: {
    title: 'The device is not connected',
    text: 'Something went wrong on our side. Enter the code again in a moment.',
  },
  connected: {
    title: 'Your device is connected',
    text: 'You can close this page and go back to your device.',
  },
} as const satisfies Readonly<Record<string, ErrorMessage>>;
