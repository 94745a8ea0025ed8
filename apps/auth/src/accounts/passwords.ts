// How are passwords kept and compared? argon2id with OWASP's parameters, off the event loop, and never more at once than the machine can
// take: beyond, callers wait, and beyond that they are refused rather than kept.
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';

const parameters = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/** Longer ones cost more to hash and help nobody. */
export const maxPasswordLength = 256;

const atOnce = Math.max(2, Math.min(availableParallelism(), 4));
const waitingAtMost = 500;

/** Too many passwords are being compared: the caller should come back (503). */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy';
  readonly status = 503;
}

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= atOnce) {
    if (waiting.length >= waitingAtMost) throw new PasswordsBusy('too many passwords are being compared');
    await new Promise<void>((resume) => waiting.push(resume));
  } else {
    running++;
  }
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    // The turn passes on; the count stays.
    if (next) next();
    else running--;
  }
}

// The same characters typed on another keyboard may come as other code points.
const normalize = (password: string): string => password.normalize('NFKC');

export const hashPassword = (password: string): Promise<string> => inTurn(() => hash(normalize(password), parameters));

/** Made beside the queue, which may be full: a refusal would be kept for every unknown account. */
let dummy: Promise<string> | undefined;

/** Without a hash (an unknown account, or one without a password) it takes as long, and answers false. */
export async function verifyPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  dummy ??= hash('the password of nobody', parameters);
  const compared = passwordHash ?? (await dummy);
  if (password.length > maxPasswordLength) return false;
  const right = await inTurn(() => verify(compared, normalize(password)));
  return right && passwordHash != null;
}
