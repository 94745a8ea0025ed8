// Tests the encryption of stored secrets.
import { expect, test } from '@jest/globals';
import { createSecretBox, UnknownEncryptionKey } from './secret-box.ts';

const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const oldBox = createSecretBox([oldKey]);
const newBox = createSecretBox([newKey]);
const bothBox = createSecretBox([newKey, oldKey]);

test('the first key encrypts, and every key decrypts', () => {
  const text = oldBox.encrypt('whsec_äöü', 'hook-1');
  expect(bothBox.decrypt(text, 'hook-1')).toBe('whsec_äöü');
  const reencrypted = bothBox.encrypt('whsec_äöü', 'hook-1');
  expect(reencrypted.startsWith(newBox.currentPrefix)).toBe(true);
  expect(newBox.decrypt(reencrypted, 'hook-1')).toBe('whsec_äöü');
  expect(() => oldBox.decrypt(reencrypted, 'hook-1')).toThrow(UnknownEncryptionKey);
});

test.each([
  ['another owner', (text: string) => text, 'hook-2'],
  ['a changed ciphertext', (text: string) => `${text.slice(0, -4)}AAAA`, 'hook-1'],
  ['a shortened tag', (text: string) => text.slice(0, -8), 'hook-1'],
  ['another format', () => 'v2.a.b.c', 'hook-1'],
  ['no format', () => 'plain text', 'hook-1'],
])('a text with %s cannot be decrypted', (_title, change, owner) => {
  expect(() => bothBox.decrypt(change(bothBox.encrypt('secret', 'hook-1')), owner)).toThrow();
});
