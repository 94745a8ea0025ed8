// States which strings from outside are valid: formats that schemas name, and a check of whole values.

/** A format of strings. Its pattern has no look-around and no surrogates, so that every language can compile it. */
export interface TextFormat {
  readonly pattern: string;
  readonly hint: string;
}

const controls = '\\u0000-\\u001f\\u007f-\\u009f';
/** They change the order of the text around them on a page (Unicode: Bidi_Control). */
const directional = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';
const ofName = controls + directional;
const unstorable = 'must not contain NUL, half a surrogate pair or invalid UTF-8';
const noControls = 'must not contain control characters';
const noInvisible = 'must not contain control characters (including those for the direction of text)';

export const textFormats = {
  text: { pattern: `^[^${controls}]*$`, hint: noControls },
  /** May contain line breaks. */
  note: { pattern: '^[^\\u0000]*$', hint: unstorable },
  /** What people see on pages. */
  name: { pattern: `^[^${ofName}]*$`, hint: `must have a visible character, and ${noInvisible}` },
  /** A segment of a path: every URL parser resolves `.` and `..`. `minLength` reports an empty one. */
  id: {
    pattern: `^$|^(?:[^.${ofName}][^${ofName}]*|\\.[^.${ofName}][^${ofName}]*|\\.\\.[^${ofName}]+)$`,
    hint: `must not be . or .., and ${noInvisible}`,
  },
} as const satisfies Readonly<Record<string, TextFormat>>;

const length = { type: 'string', minLength: 1, maxLength: 256 } as const;
/** The keyword of a schema whose strings are only compared, or validated later: `createCompiler` allows any string. */
export const anyText = 'anyText';
export const textSchema = { ...length, format: 'text' } as const;
export const nameSchema = { ...length, format: 'name' } as const;
export const idSchema = { ...length, format: 'id' } as const;

/** `u` counts a character such as 🏌 once. */
const expressions = new Map(
  Object.entries(textFormats).map(([format, { pattern }]) => [format, new RegExp(pattern, 'u')]),
);

/** Whether PostgreSQL can store the string. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/**
 * The patterns do not exclude lone surrogates, which `findTextErrors` reports, nor invisible names. `minLength` reports
 * an empty name.
 */
export const matchesFormat = (format: keyof typeof textFormats, text: string): boolean =>
  expressions.get(format)?.test(text) === true && (format !== 'name' || text === '' || !isInvisible(text));

export const hasFormat = (format: keyof typeof textFormats, text: string): boolean =>
  text.isWellFormed() && matchesFormat(format, text);

/** Whether a page would show nothing of the string. U+2800 is an empty Braille pattern. */
export const isInvisible = (text: string): boolean =>
  /^[\p{Default_Ignorable_Code_Point}\s\p{Cc}\p{Cf}\u2800]*$/u.test(text);

/** Whether an id in a path is possible. `length` counts a character such as 🏌 twice. */
export const isText = (text: string): boolean =>
  text !== '' && text.length <= 2 * length.maxLength && hasFormat('text', text);

export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
/** No request needs more levels. Functions that call themselves would fail at some thousands. */
const maxDepth = 100;
const maxErrors = 100;

export interface TextError {
  /** A JSON Pointer (RFC 6901). */
  readonly pointer: string;
  readonly hint: string;
}

/**
 * Finds strings and names of fields that PostgreSQL cannot store, at any depth. The fields `anyTextIn` may contain
 * them, but not more levels than others.
 */
export function findTextErrors(value: unknown, anyTextIn: readonly string[] = []): readonly TextError[] {
  const errors: TextError[] = [];
  const isAllowed = (text: string, [field = '']: readonly string[]): boolean =>
    isStorable(text) || anyTextIn.includes(field);
  const report = (segments: readonly string[], hint: string): void => {
    errors.push({ pointer: segments.map((segment) => `/${escapePointer(segment)}`).join(''), hint });
  };
  const visit = (current: unknown, segments: readonly string[]): void => {
    if (errors.length === maxErrors) return;
    if (typeof current === 'string' && !isAllowed(current, segments)) report(segments, unstorable);
    if (typeof current !== 'object' || current === null) return;
    if (segments.length === maxDepth) return void report(segments, `must not have more than ${maxDepth} levels`);
    for (const [name, inner] of Object.entries(current)) {
      const path = [...segments, name];
      if (isAllowed(name, path)) visit(inner, path);
      else report(path, `has a name that ${unstorable}`);
    }
  };
  visit(value, []);
  return errors;
}
