// Checks and hashes the new password of a form.
import type { Response } from 'express';
import { validateNewPassword } from '../accounts/password-policy.ts';
import { hashPassword } from '../accounts/passwords.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import { rawField, tooMany } from './forms.ts';
import type { FormState } from './site.ts';

export interface NewPassword {
  readonly field?: string;
  /** Facts that others may know about the user. */
  readonly about: readonly string[];
  readonly limit: UsageLimit;
  readonly limitKey: string;
  readonly limitReason?: string;
}

/** Returns the hash of the password, or the errors with which the page shows its form again. */
export async function hashNewPassword(
  response: Response,
  { field = 'password', about, limit, limitKey, limitReason = 'Too many passwords were tried.' }: NewPassword,
): Promise<{ readonly passwordHash: string } | { readonly errors: FormState }> {
  // The limit comes first, because the estimate of the strength of the password is expensive.
  const waitSeconds = await limit.use(limitKey);
  if (waitSeconds > 0) return { errors: tooMany(response, waitSeconds, limitReason) };
  const password = rawField(response.req, field);
  const text = await validateNewPassword(password, about);
  if (text) return { errors: { validationErrors: [{ field, text }], status: 400 } };
  return { passwordHash: await hashPassword(password) };
}
