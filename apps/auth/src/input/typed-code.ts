// Reads a code that somebody typed or pasted.

const ignored = /[\s\p{Z}\p{Pd}\p{Cf}\0\u2212]/gu;
/** Every code is shorter. Normalizing a long text can take seconds. */
const maxLength = 100;

const isDigit = (codePoint: number): boolean => /^\p{Nd}$/u.test(String.fromCodePoint(codePoint));

/** Unicode has the digits of a script in a row, from 0 to 9. */
function toAsciiDigit(digit: string): string {
  const codePoint = digit.codePointAt(0) ?? 0;
  let zero = codePoint;
  while (isDigit(zero - 1)) zero--;
  return String((codePoint - zero) % 10);
}

/** Removes spaces, dashes and invisible characters, and converts digits of any script to those of ASCII. */
export function readCode(typed: string): string {
  const visible = typed.replaceAll(ignored, '');
  if (visible.length > maxLength) return visible.slice(0, maxLength);
  return visible
    .normalize('NFKC')
    .replaceAll(/(?!\p{ASCII})\p{Nd}/gu, toAsciiDigit)
    .replaceAll(ignored, '');
}
