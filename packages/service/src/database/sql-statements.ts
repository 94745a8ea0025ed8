// Splits an SQL file into statements, because Citus rejects several statements in one query.

/** Comments, strings, quoted identifiers and dollar-quoted bodies can contain semicolons. */
const statement = /(?:--.*|\/\*[\s\S]*?\*\/|'[^']*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|[^;])+/g;
const comment = /--.*|\/\*[\s\S]*?\*\//g;

/** Returns the statements without their semicolons. Strings with backslash escapes (`E'…'`) are not supported. */
export function splitStatements(sql: string): string[] {
  return (sql.match(statement) ?? []).filter((text) => text.replace(comment, '').trim() !== '');
}
