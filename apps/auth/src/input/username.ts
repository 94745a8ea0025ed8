// Reads a user name or e-mail address that somebody typed: one mailbox is one account, however it is spelled.
import { domainToASCII } from 'node:url';

export interface Name {
  /** The typed spelling, without invisible characters and without spaces around it. */
  readonly shown: string;
  /** Where mail is delivered: the domain is in ASCII. */
  readonly address: string;
  /** Equal for all spellings of a name. The database compares it. */
  readonly key: string;
}

/** Every stored name is shorter. Normalizing a long text can take seconds. */
const maxLength = 1024;

/** PostgreSQL cannot store NUL. */
const invisible = /[\0\p{Cf}]/gu;
/** Does not match the two joiners, which some domains contain. */
const invisibleInDomain = /(?![\u200c\u200d])[\0\p{Cf}]/gu;

/** `domainToASCII` would read these characters as parts of a URL. */
const urlSyntax = /[^\P{ASCII}A-Za-z0-9._-]/u;
const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

/** Returns undefined for a domain that UTS 46 does not allow. */
const toAsciiDomain = (domain: string): string | undefined => {
  if (isAscii(domain)) return domain.toLowerCase();
  return urlSyntax.test(domain) ? undefined : domainToASCII(domain) || undefined;
};

/** The full case folding of Unicode, which differs from lower case: `ß` is `ss`. `ı` is no `i`. */
const foldCase = (text: string): string =>
  text
    .split('ı')
    .map((part) => part.toLowerCase().toUpperCase().toLowerCase())
    .join('ı')
    .replaceAll('ς', 'σ');

const fold = (text: string): string => foldCase(text.normalize('NFD')).normalize('NFC');

export function readName(typed: string): Name {
  const visible = typed.replaceAll(invisible, '').trim();
  if (visible.length > maxLength) return { shown: visible, address: visible, key: visible };
  const at = typed.lastIndexOf('@');
  if (at === -1) return { shown: visible, address: visible, key: fold(visible) };
  const local = typed.slice(0, at).replaceAll(invisible, '').trimStart();
  const withJoiners = typed
    .slice(at + 1)
    .replaceAll(invisibleInDomain, '')
    .trimEnd();
  const domain =
    withJoiners.length > maxLength || toAsciiDomain(withJoiners) === undefined
      ? withJoiners.replaceAll(invisible, '').trimEnd()
      : withJoiners;
  const ascii = toAsciiDomain(domain);
  return {
    shown: `${local}@${domain}`,
    address: `${local.normalize('NFC')}@${ascii ?? domain}`,
    key: `${fold(local)}@${ascii ?? toAsciiDomain(fold(domain)) ?? fold(domain)}`,
  };
}

export const canonicalName = (typed: string): string => readName(typed).key;

/**
 * Finds a character that counts as an ASCII character, such as the Kelvin sign, or would if it were compared less
 * strictly. A new name must not contain it: it would block, or pretend to be, the name of somebody else.
 */
export function lookalikeIn(name: string): string | undefined {
  const { shown } = readName(name);
  if (shown.length > maxLength) return undefined;
  return [...shown, ...shown.normalize('NFC')].find(
    (character) =>
      !isAscii(character) &&
      character !== 'ß' &&
      [foldCase(character), character.normalize('NFKC')].some(([first = '']) => isAscii(first)),
  );
}
