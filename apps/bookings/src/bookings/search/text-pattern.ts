// Builds a regular expression of PostgreSQL that finds a text in upper or lower case, whatever the collation of the
// database is.

/** Equal for all cases of a letter, also for two lower cases: σ and ς give Σ, ß and ẞ give SS. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');

/** No letter above this code point has a case. */
const lastCode = 0x1e943;
const letters = Array.from({ length: lastCode + 1 }, (_, code) => String.fromCodePoint(code)).filter(
  (letter) => letter !== letter.toLowerCase() || letter !== letter.toUpperCase(),
);
const lettersByFold = Map.groupBy(letters, fold);
/** The number of code points that some letter folds to, such as 3 for ﬃ. */
const maxFoldLength = Math.max(...[...lettersByFold.keys()].map((folded) => [...folded].length));

/** Equals the lower case of every spelling in ASCII. */
export const lowerCase = (text: string): string => fold(text).toLowerCase();

/** Letters may be stored composed or decomposed (é, or e and an accent). */
export function textPattern(text: string): string {
  const characters = [...fold(text)];
  let pattern = '';
  for (let index = 0; index < characters.length; ) {
    const length = longestFoldAt(characters, index);
    const found = characters.slice(index, index + length);
    const joined = length > 1 ? (lettersByFold.get(found.join('')) ?? []) : [];
    pattern += anyOf([found.map(patternOf).join(''), ...joined.map(escapeText)]);
    index += length;
  }
  return pattern;
}

function longestFoldAt(characters: readonly string[], index: number): number {
  let length = Math.min(maxFoldLength, characters.length - index);
  while (length > 1 && !lettersByFold.has(characters.slice(index, index + length).join(''))) length -= 1;
  return length;
}

function patternOf(character: string): string {
  const cases = lettersByFold.get(character) ?? [character];
  return anyOf(
    [...new Set(cases.flatMap((letter) => [letter, letter.toLowerCase(), letter.normalize('NFD')]))].map(escapeText),
  );
}

/** PostgreSQL finds one of several characters faster than one of several strings. */
function anyOf(patterns: readonly string[]): string {
  const [characters, others] = [patterns.filter(isCharacter), patterns.filter((pattern) => !isCharacter(pattern))];
  const all = characters.length > 1 ? [`[${characters.join('')}]`, ...others] : patterns;
  return all.length === 1 ? all.join('') : `(?:${all.join('|')})`;
}

const isCharacter = (pattern: string): boolean => [...pattern].length === 1;

/** A numeric escape is never an operator. */
const escapeText = (text: string): string =>
  text.replace(/[^\p{L}\p{N}\p{M}]/gu, (character) => {
    const code = character.codePointAt(0) as number;
    return `\\U${code.toString(16).padStart(8, '0')}`;
  });
