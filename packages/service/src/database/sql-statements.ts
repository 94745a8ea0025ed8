// Splits an SQL file into its statements.
//
// Citus passes the text of some statements on to its workers. The workers reject a text that contains several
// statements. Migrations therefore send each statement separately.

/**
 * Matches one statement: comments, strings, quoted identifiers and dollar-quoted bodies, which can all contain
 * semicolons, and any other characters except a semicolon.
 */
const statement = /(?:--.*|\/\*[\s\S]*?\*\/|'[^']*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|[^;])+/g;
const comment = /--.*|\/\*[\s\S]*?\*\//g;

/** Returns the statements without their semicolons. Strings with backslash escapes (`E'…'`) are not supported. */
export function splitStatements(sql: string): string[] {
  return (sql.match(statement) ?? []).filter((text) => text.replace(comment, '').trim() !== '');
}
