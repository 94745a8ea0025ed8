// Signs the request of a delivery as Standard Webhooks prescribes (https://www.standardwebhooks.com).
import { createHmac } from 'node:crypto';

export interface SignedMessage {
  /** The id of the delivery, which all its attempts share. */
  readonly id: string;
  readonly body: string;
  readonly attemptAt: Date;
}

/** Returns the headers that identify and sign a message. They contain one signature for each secret. */
export function signedHeaders({ id, body, attemptAt }: SignedMessage, secrets: readonly string[]) {
  const timestamp = String(Math.floor(attemptAt.getTime() / 1000));
  const signatureOf = (secret: string): string => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(signatureOf).join(' '),
  };
}
